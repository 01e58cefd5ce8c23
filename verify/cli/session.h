// One call of `lockstep verify` or `replay`: runs, report, machine-readable
// outputs, exit code.
#ifndef LOCKSTEP_VERIFY_CLI_SESSION_H_
#define LOCKSTEP_VERIFY_CLI_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/cli/cli.h"
#include "verify/environment.h"
#include "verify/junit.h"
#include "verify/receipt.h"
#include "verify/report.h"

namespace lockstep::verify::cli {

struct SessionOptions {
  std::vector<std::string> candidates;  // specs; empty: the default
  std::string profile;
  std::string budget;  // as typed; empty: none
  std::string shard;
  std::string max_memory;
  std::string seed;
  int threads = 0;
  bool all_rows = false;
  bool no_invariance = false;
  bool no_probes = false;
  bool require_executed = false;
  bool fail_fast = false;
  std::string fail_on;  // "" or "suspicious"
  std::string json;     // paths; "-": stdout; empty: none
  std::string junit;
  std::string receipt;
  bool verbose = false;
};

// Jobs for one candidate, with its profile; `replay` has several of these.
struct JobGroup {
  std::vector<Job> jobs;
  std::vector<std::string> candidates;
  std::string profile;
};

// Everything after the cases are known. Returns the exit code.
int RunSession(std::vector<JobGroup> groups, const SessionOptions& options);

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_SESSION_H_
