#include "verify/junit.h"

#include <cstdio>

namespace lockstep::verify {
namespace {

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6f", seconds);
  return text;
}

// Length of the valid UTF-8 sequence at `at` that XML 1.0 allows; 0 if none.
size_t SequenceLength(const std::string& text, size_t at) {
  const auto byte = [&](size_t n) {
    return at + n < text.size() ? static_cast<uint8_t>(text[at + n]) : 0u;
  };
  const uint32_t b0 = byte(0);
  if (b0 < 0x80) {
    return b0 >= 0x20 || b0 == '\t' || b0 == '\n' || b0 == '\r' ? 1 : 0;
  }
  const size_t length = b0 >= 0xf0 && b0 < 0xf5   ? 4
                        : b0 >= 0xe0 && b0 < 0xf0 ? 3
                        : b0 >= 0xc2 && b0 < 0xe0 ? 2
                                                  : 0;
  if (length == 0) return 0;
  uint32_t code = b0 & (0x7fu >> length);
  for (size_t n = 1; n < length; ++n) {
    if ((byte(n) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(n) & 0x3f);
  }
  const bool overlong = (length == 3 && code < 0x800) ||
                        (length == 4 && (code < 0x10000 || code > 0x10ffff));
  const bool forbidden =
      (code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff;
  return overlong || forbidden ? 0 : length;
}

}  // namespace

std::string XmlEscape(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = SequenceLength(text, at);
    if (length == 0) {
      out += '?';
      ++at;
      continue;
    }
    switch (text[at]) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      case '\r':
        out += "&#13;";
        break;
      default:
        out += text.substr(at, length);
    }
    at += length;
  }
  return out;
}

void JUnit::Add(const CaseResult& result) {
  ++tests_;
  cases_ += "    <testcase classname=\"" + XmlEscape(result.candidate) +
            "\" name=\"" + XmlEscape(result.line) + "\" time=\"" +
            Seconds(result.seconds) + "\"";
  std::string tag;
  switch (result.verdict) {
    case Verdict::kPass:
      break;
    case Verdict::kSkipped:
      ++skipped_;
      cases_ += ">\n      <skipped message=\"" + XmlEscape(result.reason) +
                "\"/>\n    </testcase>\n";
      return;
    case Verdict::kError:
      ++errors_;
      tag = "error";
      break;
    case Verdict::kSuspicious:
      if (!fail_on_suspicious_) break;
      [[fallthrough]];
    case Verdict::kFail:
    case Verdict::kUntrusted:
      ++failures_;
      tag = "failure";
      break;
  }
  if (tag.empty()) {
    cases_ += "/>\n";
    return;
  }
  cases_ += ">\n      <" + tag + " type=\"" + VerdictName(result.verdict) +
            "\" message=\"" + XmlEscape(result.reason) + "\">";
  for (const Finding& finding : result.findings) {
    cases_ += XmlEscape(std::string(TierName(finding.tier)) + " " +
                        finding.check + ": " + finding.message +
                        "\nreplay: " + ReplayLine(result, finding) + "\n");
  }
  cases_ += "</" + tag + ">\n    </testcase>\n";
}

std::string JUnit::Document(const Totals& totals) const {
  const std::string counts = "tests=\"" + std::to_string(tests_) +
                             "\" failures=\"" + std::to_string(failures_) +
                             "\" errors=\"" + std::to_string(errors_) +
                             "\" skipped=\"" + std::to_string(skipped_) +
                             "\" time=\"" + Seconds(totals.seconds) + "\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<testsuites name=\"lockstep\" " +
         counts +
         ">\n"
         "  <testsuite name=\"lockstep verify\" " +
         counts + ">\n" + cases_ +
         "  </testsuite>\n"
         "</testsuites>\n";
}

}  // namespace lockstep::verify
