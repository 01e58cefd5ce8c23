// Words for people and for machines: text report, JUnit.
#include "verify/report/report.h"

#include <gtest/gtest.h>

#include "optimized/plan.h"
#include "verify/base/printable.h"
#include "verify/report/junit.h"

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

// In two parts, as a cause is found after the verdict, and at once.
TEST(Report, ACauseFollowsTheVerdict) {
  CaseResult result = Failing();
  result.no_cause = "unlike any known bug";
  const std::string begin = ReportBegin(result, {});
  const std::string rest = ReportCase(result, {}, true);
  EXPECT_EQ(begin + rest, ReportCase(result, {}));
  EXPECT_NE(begin.find("bits (o): o differs"), std::string::npos) << begin;
  EXPECT_TRUE(rest.starts_with("      cause: unlike any known bug\n")) << rest;
}

TEST(Report, SummaryCounts) {
  Totals totals;
  totals.Add(Failing());
  totals.not_run = 2;
  EXPECT_EQ(ReportSummary(totals, {}, 1, {}),
            "1 case: 1 fail; 2 cases not run; 0.00 s; exit 1\n");
}

// What this CPU cannot execute is not passed over: the summary names it.
TEST(Report, TargetsOfOtherCpusAreNotRun) {
  std::string missing;
  bool native = false;
  for (const optimized::Target& target : optimized::Targets()) {
    if (!target.supported)
      missing += (missing.empty() ? "" : ", ") + target.name;
    native = native || (target.supported && target.native_dot);
  }
  CaseResult result = Failing();
  result.execution.backend = "optimized";
  result.targets = {"AVX2"};
  const auto text = [&] {
    RunStatistics statistics;
    statistics.Add(result);
    return ReportSummary({}, statistics, 0, {});
  };
  const auto line = [](const std::string& names) {
    return names.empty() ? "executed"
                         : "not run   " + names + " (not on this CPU)\n";
  };
  EXPECT_NE(text().find(line(missing)), std::string::npos) << text();
  result.candidate = "builtin:optimized,threads=2";
  EXPECT_NE(text().find(line(missing)), std::string::npos) << text();
  // A bf16 lane asks for the instruction, too.
  result.canonical = "attention_forward lane=bf16";
  if (!native)
    missing +=
        (missing.empty() ? "" : ", ") + std::string("bf16 dot instruction");
  EXPECT_NE(text().find(line(missing)), std::string::npos) << text();
  // order=amx has an instruction of its own.
  bool unit = false;
  for (const optimized::Target& target : optimized::Targets()) {
    unit = unit || target.matrix_unit;
  }
  result.canonical = "attention_forward lane=bf16 p=bf16 order=amx";
  EXPECT_EQ(text().find("matrix unit (not") == std::string::npos, unit)
      << text();
  EXPECT_EQ(text().find("bf16 dot instruction"), std::string::npos) << text();
  result.execution.products = "emulation: why";
  EXPECT_NE(text().find("order=amx by emulation: why"), std::string::npos);
  result.execution.products.clear();
  // Whoever names a target asks for no other one; other candidates have none.
  for (const char* other : {"builtin:optimized@AVX2", "mutant:attn.zeros"}) {
    result.candidate = other;
    EXPECT_EQ(text().find("not run   "), std::string::npos) << other;
  }
}

TEST(Report, ProgressSaysRateAndTimeLeft) {
  EXPECT_EQ(ProgressLine(0, 9, 0, 0), "0 of 9 cases, 0 findings");
  EXPECT_EQ(ProgressLine(4, 8, 1, 2.0),
            "4 of 8 cases, 2.0/s, 2.00 s left, 1 finding");
}

TEST(Report, NothingOfStrangersMovesTheCursor) {
  EXPECT_EQ(Printable("plain \xc3\xa9 text"), "plain \xc3\xa9 text");
  EXPECT_EQ(Printable("\x1b[31m\r\n\t\x7f"), "\\x1b[31m\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b");  // C1: a CSI of one character
  EXPECT_EQ(Printable("\xff\xc3"), "\\xff\\xc3");  // no UTF-8
  EXPECT_EQ(Printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right to left
  EXPECT_EQ(Printable(std::string_view("\0", 1)), "\\x00");
  CaseResult result = Failing();
  result.line = result.replay_case = "case \x1b[2J";
  result.profile = "\x1b[31m";
  result.reason = "\x1b]0;";
  result.findings[0].message = "a\x9b; b\x1b";
  result.findings[0].check = "\x1b";
  RunStatistics statistics;
  result.verdict = Verdict::kSkipped;
  statistics.Add(result);
  result.verdict = Verdict::kFail;
  for (const std::string& text :
       {ReportCase(result, {.color = false, .verbose = true}),
        ReportSummary({}, statistics, 1, {})}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find('\x9b'), std::string::npos) << text;
  }
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
  std::string document;
  const Sink sink = [&](std::string_view text) {
    document += text;
    return true;
  };
  ASSERT_TRUE(junit.Write({}, sink).ok());
  EXPECT_NE(document.find("tests=\"5\" failures=\"2\" errors=\"1\" "
                          "skipped=\"1\""),
            std::string::npos)
      << document;
  EXPECT_NE(document.find("causal&amp;window"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::verify
