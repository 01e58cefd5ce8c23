// What verbs about one failing case begin with: its arguments, and its verdict.
#ifndef LOCKSTEP_FUZZ_CLI_FAILING_CASE_H_
#define LOCKSTEP_FUZZ_CLI_FAILING_CASE_H_

#include <optional>
#include <string>
#include <vector>

#include "fuzz/cli/cli.h"
#include "fuzz/trial.h"
#include "verify/domain/domain.h"

namespace lockstep::fuzz::cli {

inline constexpr const char* kExitCodesOfFailing =
    "Exit codes: those of the case's verdict; 5 if it does not fail.";

struct FailingCaseArguments {
  std::string line;
  std::string candidate = "builtin:optimized";
  std::string profile;
  bool allow_auto = false;  // --profile auto in a CI job, too
  double seconds = 60;
  bool answers = false;  // those of files to the case will do
  verify::cli::HostArguments hosts;
};

// CASE, --candidate, --profile, --seconds with this help, and those of hosts.
void AddFailingCase(Verb* verb, const char* seconds, FailingCaseArguments* a);

struct FailingCase {
  std::vector<verify::Case> sequence;
  const verify::Domain* domain = nullptr;
  Target target;
  Outcome outcome;

  // Of its verdict.
  int ExitCode() const;
};

// Judges it. Absent: it was said why not, and `code` is the exit code. `verb`:
// what was to be done with it.
std::optional<FailingCase> JudgeFailing(const FailingCaseArguments& a,
                                        const char* verb, int* code);

}  // namespace lockstep::fuzz::cli

#endif  // LOCKSTEP_FUZZ_CLI_FAILING_CASE_H_
