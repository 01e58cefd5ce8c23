// scan.lacks: outputs that a scan does without.
#include <algorithm>
#include <string>
#include <string_view>

#include "verify/profile/fields.h"

namespace lockstep::verify {
namespace {

// Carries that the kernel does not export, with spaces between them.
std::string PrintLacks(const ScanNumeric& scan) {
  std::string text;
  for (size_t i = 0; i < kScanCarries.size(); ++i) {
    if (!scan.lacks[i]) continue;
    text += (text.empty() ? "" : " ") + std::string(kScanCarries[i]);
  }
  return text.empty() ? "none" : text;
}

std::string ParseLacks(std::string_view text, ScanNumeric* scan) {
  scan->lacks = {};
  if (text == "none") return "";
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const auto found = std::find(kScanCarries.begin(), kScanCarries.end(),
                                 text.substr(0, end));
    if (found == kScanCarries.end()) {
      return "none, or some of carry_theta carry_h carry_k carry_v";
    }
    scan->lacks[static_cast<size_t>(found - kScanCarries.begin())] = true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return "";
}

}  // namespace

ProfileField LacksField() {
  return {"scan.lacks",
          [](const NumericProfile& p) {
            return p.scan ? PrintLacks(*p.scan) : std::string();
          },
          [](std::string_view text, NumericProfile* p) -> std::string {
            return p->scan ? ParseLacks(text, &*p->scan) : kNoScan;
          }};
}

}  // namespace lockstep::verify
