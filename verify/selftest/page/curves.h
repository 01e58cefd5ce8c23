// Severity curves as pictures.
#ifndef LOCKSTEP_VERIFY_SELFTEST_PAGE_CURVES_H_
#define LOCKSTEP_VERIFY_SELFTEST_PAGE_CURVES_H_

#include <string>
#include <vector>

#include "verify/selftest/dials/curves.h"

namespace lockstep::verify {

extern const char* const kCurvesStyle;
// Empty where none were measured.
std::string CurvesHtml(const std::vector<DialCurve>& curves);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_PAGE_CURVES_H_
