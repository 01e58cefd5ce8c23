// Words of reports in a terminal: colours, columns, numbers.
#ifndef LOCKSTEP_VERIFY_REPORT_WORDS_H_
#define LOCKSTEP_VERIFY_REPORT_WORDS_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "verify/base/format.h"
#include "verify/judge/verdict.h"
#include "verify/report/report.h"

namespace lockstep::verify {

inline constexpr const char* kRed = "\x1b[31m";
inline constexpr const char* kGreen = "\x1b[32m";
inline constexpr const char* kYellow = "\x1b[33m";
inline constexpr const char* kPlain = "\x1b[0m";

inline const char* ColorOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return kGreen;
    case Verdict::kFail:
    case Verdict::kError:
      return kRed;
    default:
      return kYellow;
  }
}

inline std::string Colored(const std::string& text, const char* color,
                           const ReportStyle& style) {
  return style.color ? color + text + kPlain : text;
}

inline std::string Padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

inline std::string Seconds(double seconds) {
  return Format(seconds < 10 ? "%.2f s" : "%.0f s", seconds);
}

// 1234567 -> "1 234 567".
inline std::string Grouped(int64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) text += ' ';
    text += digits[at];
  }
  return text;
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_WORDS_H_
