// Workflow commands of GitHub Actions: lines on stdout that its runner turns
// into remarks on the lines of a pull request.
#ifndef LOCKSTEP_VERIFY_REPORT_GATE_ANNOTATIONS_H_
#define LOCKSTEP_VERIFY_REPORT_GATE_ANNOTATIONS_H_

#include <string>

#include "verify/report/gate/root_causes.h"

namespace lockstep::verify {

// "::error file=F,line=N,title=T::message" and a newline, on the line of the
// first case of each cause; a cause that leaves the run green is a warning.
// `root`: of the repository, below which files are named; may be empty.
std::string Annotations(const RootCauses& causes, const Totals& totals,
                        const ExitPolicy& policy, const std::string& root);

// An error of the run itself. Lines "FILE:LINE: text" of the message, as
// readers of files write them, become remarks on those lines.
std::string ErrorAnnotations(const std::string& message,
                             const std::string& root);

// A remark on a line of a file. `level`: "error", "warning" or "notice".
std::string Annotation(const std::string& level, const std::string& file,
                       int64_t line, const std::string& title,
                       const std::string& message);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_GATE_ANNOTATIONS_H_
