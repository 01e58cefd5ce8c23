// lockstep.toml: what a project's gate judges, with what, and what it lets be.
// Keys and meaning: docs/config.md. toml++ parses it, in config.cc alone.
#ifndef LOCKSTEP_VERIFY_CLI_GATE_CONFIG_H_
#define LOCKSTEP_VERIFY_CLI_GATE_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "verify/run/known_failure.h"

namespace lockstep::verify::cli {

// The file that `lockstep verify` looks for in the working directory.
inline constexpr const char* kConfigFile = "lockstep.toml";

// Values as they would be typed behind the option of the same name; absent keys
// are empty. No output file is named here: the author of a configuration shall
// not choose which of the reader's files are replaced.
struct Config {
  std::vector<std::string> cases;       // case files
  std::vector<std::string> candidates;  // specs
  std::string profile;
  std::string budget;
  std::string max_memory;
  std::string call_timeout;
  std::string candidate_memory;
  std::string fail_on;
  std::string fresh_seed;
  int64_t threads = 0;
  bool all_rows = false;
  bool require_executed = false;
  std::optional<int64_t> max_skipped;
  std::optional<int64_t> draws;
  std::vector<KnownFailure> known;
};

// `today`: in UTC; it decides which known failures have expired. Errors: the
// file cannot be read; "FILE:LINE: ..." for the first thing that is wrong.
Result<Config> ReadConfig(const std::string& path, std::chrono::sys_days today);
Result<Config> ParseConfig(const std::string& path, std::string_view text,
                           std::chrono::sys_days today);

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_GATE_CONFIG_H_
