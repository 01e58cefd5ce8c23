// What the report says of further draws of cases.
#include "verify/base/format.h"
#include "verify/report/report.h"

namespace lockstep::verify {

std::string ReportCase(const CaseResult& result, const ReportStyle& style,
                       bool begun) {
  std::string text = ReportOne(result, style, begun);
  for (const CaseResult& drawn : result.draws) {
    // Drawn blindly: that it proves little is counted, no more.
    if (drawn.verdict == Verdict::kUntrusted && !style.verbose) continue;
    text += ReportOne(drawn, style);
  }
  return text;
}

std::string WrongDraws(const VerdictCounts& draws) {
  const int64_t wrong = draws.fail + draws.error;
  if (wrong == 0) return "";
  return std::to_string(wrong) + " of " + Count(draws.cases, "draw") + " wrong";
}

std::string DrawsLine(const VerdictCounts& draws) {
  std::string text;
  const auto add = [&](int64_t n, const char* word) {
    if (n == 0) return;
    text += (text.empty() ? ": " : ", ") + std::to_string(n) + " " + word;
  };
  add(draws.pass, "pass");
  add(draws.fail, "fail");
  add(draws.error, "error");
  add(draws.suspicious, "suspicious");
  add(draws.untrusted, "proving little");
  add(draws.skipped, "skipped");
  add(draws.known, "known");
  if (text.empty()) return "";
  return "draws     " + std::to_string(draws.cases) + text + "\n";
}

}  // namespace lockstep::verify
