// One call of `lockstep verify`, `replay` or `invariance`: runs, report,
// machine-readable outputs, exit code.
#ifndef LOCKSTEP_VERIFY_CLI_SESSION_H_
#define LOCKSTEP_VERIFY_CLI_SESSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/cli/cli.h"
#include "verify/identify/evidence.h"
#include "verify/profile/claims.h"
#include "verify/report/junit.h"
#include "verify/report/receipt.h"
#include "verify/report/report.h"
#include "verify/run/environment.h"

namespace lockstep::verify::cli {

struct SessionOptions {
  std::vector<std::string> candidates;  // specs; empty: the default
  std::string profile;
  std::string config;  // the file that said what was not typed; empty: none
  bool config_profile = false;  // it said the profile
  bool allow_auto = false;      // --profile auto in a gate, too
  std::string budget;           // as typed; empty: none
  std::string shard;
  std::string max_memory;
  HostArguments hosts;
  bool trust_file = false;  // what names the candidates may name programs
  std::string seed;
  std::string fresh_seed;  // as typed or configured; empty: as fits the run
  int threads = 0;
  int jobs = 0;  // cases at a time; 0: one per core
  int64_t repeats = 0;
  double explain_seconds = kCauseSeconds;  // of CPU time; 0: no causes
  bool all_rows = false;
  bool no_invariance = false;
  bool no_probes = false;
  int64_t draws = 0;  // further draws of each case
  bool require_executed = false;
  bool fail_fast = false;
  std::string fail_on;  // "" or "suspicious"
  std::string json;     // paths; "-": stdout; empty: none
  std::string junit;
  std::string receipt;
  std::string html;
  bool bisect = false;               // exit codes of `git bisect run`
  std::string annotations = "auto";  // or "github", "none"
  std::optional<int64_t> max_skipped;
  std::vector<KnownFailure> known;
  uint64_t fresh = 0;  // the seed of fresh cases, resolved; 0: none
  std::vector<std::string> inputs;  // files read, which no output may replace
  // Claims alone are judged, and no profile is wanted; `claims` are claimed for
  // this run, the others of `try_claims` only tried.
  bool invariance = false;
  ClaimSet try_claims;
  ClaimSet claims;
  bool verbose = false;
  std::string color = "auto";  // or "always", "never"
};
void AddColor(Verb* verb, SessionOptions* options);
void AddJobs(Verb* verb, SessionOptions* options);

// Jobs for one candidate, with its profile; `replay` has several of these.
struct JobGroup {
  std::vector<Job> jobs;
  std::vector<std::string> candidates;
  std::string profile;
  std::vector<std::string> options;  // of a finding's command, word by word
  // The file that names the candidates, where the user has not said that it may
  // start programs; else empty.
  std::string untrusted{};
  // What --profile auto found out.
  std::optional<Identified> identified{};
  // The cases were not typed: those of ops that the candidate is not made for
  // are left out.
  bool own_cases = false;
};

// Everything after the cases are known. Returns the exit code. Requires:
// CheckOutputs() of verify/cli/outputs.
int RunSession(std::vector<JobGroup> groups, const SessionOptions& options);
// The same of one group, whose candidates and profile are those of the options.
int RunGroup(JobGroup group, const SessionOptions& options);

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_SESSION_H_
