// JUnit XML, for continuous integration: one testcase per case.
#ifndef LOCKSTEP_VERIFY_JUNIT_H_
#define LOCKSTEP_VERIFY_JUNIT_H_

#include <string>

#include "verify/verdict.h"

namespace lockstep::verify {

// Collects cases, then gives the document. fail, untrusted and (with
// fail_on_suspicious) suspicious are failures, error is an error.
class JUnit {
 public:
  explicit JUnit(bool fail_on_suspicious)
      : fail_on_suspicious_(fail_on_suspicious) {}

  void Add(const CaseResult& result);
  std::string Document(const Totals& totals) const;

 private:
  bool fail_on_suspicious_;
  int64_t tests_ = 0;
  int64_t failures_ = 0;
  int64_t errors_ = 0;
  int64_t skipped_ = 0;
  std::string cases_;
};

// Text for XML content and attributes: markup escaped; bytes that XML 1.0 does
// not allow, and invalid UTF-8, become '?'.
std::string XmlEscape(const std::string& text);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUNIT_H_
