// Words for people and for machines: text report, JUnit.
#include "verify/report.h"

#include <gtest/gtest.h>

#include "verify/junit.h"

namespace lockstep::verify {
namespace {

CaseResult Failing() {
  CaseResult result;
  result.line = "attention_forward mask=causal&window:4,0";
  result.replay_case = result.line;
  result.candidate = "builtin:optimized";
  result.verdict = Verdict::kFail;
  result.reason = "o differs <here> & \"there\"";
  result.findings.push_back({Tier::kBits, "o",
                             "o differs; first [c=1]; worst [c=2]", "",
                             std::nullopt});
  return result;
}

TEST(Report, PassingCasesAreQuietUnlessAsked) {
  CaseResult result = Failing();
  result.verdict = Verdict::kPass;
  result.findings.clear();
  result.reason.clear();
  EXPECT_EQ(ReportCase(result, {}), "");
  EXPECT_EQ(ReportCase(result, {.color = false, .verbose = true}),
            "pass  attention_forward mask=causal&window:4,0  0.00 s\n");
}

TEST(Report, FailingCasesSayHowToSeeThemAgain) {
  const std::string text = ReportCase(Failing(), {});
  EXPECT_EQ(text,
            "FAIL  attention_forward mask=causal&window:4,0\n"
            "      bits (o): o differs\n"
            "        first [c=1]\n"
            "        worst [c=2]\n"
            "      replay: lockstep verify "
            "'attention_forward mask=causal&window:4,0'\n");
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(ReportCase(Failing(), {.color = true}).find('\x1b'),
            std::string::npos);
}

TEST(Report, SummaryCounts) {
  Totals totals;
  totals.Add(Failing());
  totals.not_run = 2;
  EXPECT_EQ(ReportSummary(totals, {}, 1, {}),
            "1 case: 1 fail; 2 cases not run; 0.00 s; exit 1\n");
}

TEST(Report, ProgressSaysRateAndTimeLeft) {
  EXPECT_EQ(ProgressLine(0, 9, 0, 0), "0 of 9 cases, 0 findings");
  EXPECT_EQ(ProgressLine(4, 8, 1, 2.0),
            "4 of 8 cases, 2.0/s, 2.00 s left, 1 finding");
}

TEST(JUnit, EscapesWhatXmlCannotHold) {
  EXPECT_EQ(XmlEscape("a<b>&\"c\"\n"), "a&lt;b&gt;&amp;&quot;c&quot;&#10;");
  EXPECT_EQ(XmlEscape(std::string("\x01\x00z", 3)), "??z");
  EXPECT_EQ(XmlEscape("\xc3\xa9"), "\xc3\xa9");  // é
  EXPECT_EQ(XmlEscape("\xff\xc3"), "??");        // no UTF-8
  EXPECT_EQ(XmlEscape("\xed\xa0\x80"), "???");   // a surrogate
  EXPECT_EQ(XmlEscape("\xc0\xaf"), "??");        // overlong
  EXPECT_EQ(XmlEscape("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
}

TEST(JUnit, CountsByKind) {
  JUnit junit(/*fail_on_suspicious=*/false);
  CaseResult result = Failing();
  junit.Add(result);
  result.verdict = Verdict::kUntrusted;
  junit.Add(result);
  result.verdict = Verdict::kError;
  junit.Add(result);
  result.verdict = Verdict::kSkipped;
  junit.Add(result);
  result.verdict = Verdict::kSuspicious;
  junit.Add(result);
  const std::string document = junit.Document({});
  EXPECT_NE(document.find("tests=\"5\" failures=\"2\" errors=\"1\" "
                          "skipped=\"1\""),
            std::string::npos)
      << document;
  EXPECT_NE(document.find("causal&amp;window"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::verify
