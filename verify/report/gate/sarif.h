// SARIF 2.1.0, the format of results that code hosts show: a result for each
// root cause, on the line of its first case.
#ifndef LOCKSTEP_VERIFY_REPORT_GATE_SARIF_H_
#define LOCKSTEP_VERIFY_REPORT_GATE_SARIF_H_

#include <string>
#include <vector>

#include "verify/report/gate/root_causes.h"

namespace lockstep::verify {

// What surrounds the results.
struct SarifRun {
  std::string version;                 // of lockstep
  std::vector<std::string> arguments;  // of the command line
  std::string root;   // of the repository, below which files are named
  std::string start;  // ISO 8601, UTC
  std::string end;
};

// The document. What a known failure excuses is there, suppressed.
std::string SarifText(const SarifRun& run, const RootCauses& causes,
                      const Totals& totals, const ExitPolicy& policy,
                      int exit_code);

// The document of a run that judged nothing: `message` says why.
std::string SarifOfNothing(const SarifRun& run, const std::string& message,
                           int exit_code);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_GATE_SARIF_H_
