#include "verify/report/junit.h"

#include "verify/base/format.h"
#include "verify/base/printable.h"

namespace lockstep::verify {
namespace {

std::string JUnitSeconds(double seconds) { return Format("%.6f", seconds); }

// " file=... line=..." of a case from a file.
std::string Place(const CaseOrigin& origin) {
  if (origin.file == nullptr) return "";
  return " file=\"" + XmlEscape(*origin.file) + "\" line=\"" +
         std::to_string(origin.number) + "\"";
}

constexpr const char* kHead =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<testsuites name=\"lockstep\" ";
constexpr const char* kSuite = "  <testsuite name=\"lockstep verify\" ";
constexpr const char* kTail =
    "  </testsuite>\n"
    "</testsuites>\n";

}  // namespace

std::string JUnitOfNothing(const std::string& type,
                           const std::string& message) {
  const std::string counts =
      "tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\" "
      "time=\"0.000000\">\n";
  return kHead + counts + kSuite + counts +
         "    <testcase classname=\"lockstep\" name=\"the run\" "
         "time=\"0.000000\">\n      <error type=\"" +
         XmlEscape(type) + "\" message=\"" + XmlEscape(message) +
         "\"/>\n    </testcase>\n" + kTail;
}

std::string XmlEscape(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = TextLength(text, at);
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
  const std::string head =
      "    <testcase classname=\"" + XmlEscape(result.candidate) +
      "\" name=\"" + XmlEscape(result.line) + "\"" + Place(result.origin) +
      " time=\"" + JUnitSeconds(result.seconds) + "\"";
  const CaseResult* told = &result;
  for (const CaseResult& drawn : result.draws) {
    if (!Fails(*told) && Fails(drawn)) told = &drawn;
  }
  if (told != &result) {
    AddFailed(head, *told);
    return;
  }
  if (Excused(result)) {
    AddSkipped(head, result.known->text);
    return;
  }
  if (Fails(result)) {
    AddFailed(head, result);
  } else if (result.verdict == Verdict::kSkipped) {
    AddSkipped(head, result.reason);
  } else {
    cases_.Append(head + "/>\n");
  }
}

// A draw that proves little is no failure of its case.
bool JUnit::Fails(const CaseResult& result) const {
  if (Excused(result)) return false;
  switch (result.verdict) {
    case Verdict::kPass:
    case Verdict::kSkipped:
      return false;
    case Verdict::kSuspicious:
      return fail_on_suspicious_;
    case Verdict::kUntrusted:
      return result.draw_of.empty();
    case Verdict::kFail:
    case Verdict::kError:
      return true;
  }
  return true;
}

void JUnit::AddFailed(const std::string& head, const CaseResult& result) {
  const bool error = result.verdict == Verdict::kError;
  ++(error ? errors_ : failures_);
  const std::string tag = error ? "error" : "failure";
  const std::string cause =
      result.causes.empty() ? "" : ExplanationText(result.causes.front());
  std::string text = head + ">\n      <" + tag + " type=\"" +
                     VerdictName(result.verdict) + "\" message=\"" +
                     XmlEscape(cause.empty() ? result.reason : cause) + "\">";
  for (const Explanation& one : result.causes) {
    text += XmlEscape("cause: " + ExplanationText(one) + "\n");
  }
  for (const Finding& finding : result.findings) {
    text += XmlEscape(std::string(TierName(finding.tier)) + " " +
                      finding.check + ": " + finding.message +
                      "\nreplay: " + ReplayLine(result, finding) + "\n");
  }
  cases_.Append(text + "</" + tag + ">\n    </testcase>\n");
}

void JUnit::AddSkipped(const std::string& head, const std::string& reason) {
  ++skipped_;
  cases_.Append(head + ">\n      <skipped message=\"" + XmlEscape(reason) +
                "\"/>\n    </testcase>\n");
}

Status JUnit::Write(const Totals& totals, const Sink& sink) const {
  const std::string counts = "tests=\"" + std::to_string(tests_) +
                             "\" failures=\"" + std::to_string(failures_) +
                             "\" errors=\"" + std::to_string(errors_) +
                             "\" skipped=\"" + std::to_string(skipped_) +
                             "\" time=\"" + JUnitSeconds(totals.seconds) + "\"";
  sink(kHead + counts + ">\n" + kSuite + counts + ">\n");
  const Status copied = cases_.CopyTo(sink);
  sink(kTail);
  return copied;
}

}  // namespace lockstep::verify
