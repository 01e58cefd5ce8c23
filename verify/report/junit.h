// JUnit XML, for continuous integration: one testcase per case.
#ifndef LOCKSTEP_VERIFY_REPORT_JUNIT_H_
#define LOCKSTEP_VERIFY_REPORT_JUNIT_H_

#include <string>

#include "verify/base/io/files.h"
#include "verify/base/io/spool.h"
#include "verify/judge/verdict.h"

namespace lockstep::verify {

// Collects cases, then gives the document. fail, untrusted and (with
// fail_on_suspicious) suspicious are failures, error is an error; what a known
// failure excuses is skipped. A testcase of a case file has `file` and `line`.
// A further draw that fails, fails the testcase of its case.
class JUnit {
 public:
  // `folder`: of the spool that cases wait in.
  explicit JUnit(bool fail_on_suspicious, const std::string& folder = "")
      : fail_on_suspicious_(fail_on_suspicious), cases_(folder) {}

  void Add(const CaseResult& result);
  // The whole document. Errors: the spool's.
  Status Write(const Totals& totals, const Sink& sink) const;

 private:
  void AddSkipped(const std::string& head, const std::string& reason);
  void AddFailed(const std::string& head, const CaseResult& result);
  bool Fails(const CaseResult& result) const;

  bool fail_on_suspicious_;
  int64_t tests_ = 0;
  int64_t failures_ = 0;
  int64_t errors_ = 0;
  int64_t skipped_ = 0;
  Spool cases_;
};

// The document of a run that judged nothing: one testcase, an error of this
// type with this message.
std::string JUnitOfNothing(const std::string& type, const std::string& message);

// Text for XML content and attributes: markup escaped; bytes that XML 1.0 does
// not allow, and invalid UTF-8, become '?'.
std::string XmlEscape(const std::string& text);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_JUNIT_H_
