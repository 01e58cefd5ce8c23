#include "verify/report/report.h"

#include <algorithm>
#include <cmath>

#include "verify/base/format.h"
#include "verify/base/printable.h"
#include "verify/judge/one_field.h"
#include "verify/report/words.h"

namespace lockstep::verify {
namespace {

// What is wrong in a sentence.
std::string CauseLines(const CaseResult& result) {
  std::string text;
  for (const Explanation& cause : result.causes) {
    text += "      cause: " + Printable(ExplanationText(cause)) + "\n";
  }
  if (text.empty() && !result.no_cause.empty()) {
    text = "      cause: " + result.no_cause + "\n";
  }
  return text;
}

// A finding's message, its parts between "; " on lines of their own.
std::string Broken(const std::string& message) {
  std::string text;
  size_t from = 0;
  for (size_t at = message.find("; "); at != std::string::npos;
       at = message.find("; ", from)) {
    text.append(message, from, at - from);
    text += "\n        ";
    from = at + 2;
  }
  return text.append(message, from, std::string::npos);
}

std::string JudgedLines(const CaseResult& result) {
  std::string text;
  for (const Judged& judged : result.judged) {
    const EnvelopeResult& found = judged.result;
    text += std::string("      ") + TierName(judged.tier) + " " + found.tensor +
            ": " + Grouped(found.inside) + " of " + Grouped(found.expected) +
            " inside";
    if (found.Open() > 0) {
      text += ", " + Grouped(found.Open()) + " unbounded";
    }
    if (judged.tier == Tier::kProbes) {
      text += " on " + Printable(judged.line.substr(judged.line.find("fill=")));
    } else if (std::isfinite(found.worst)) {
      text +=
          Format(", error before the last rounding at most %.2f x the bound",
                 found.worst);
    }
    const std::string dominant = found.Dominant();
    if (!dominant.empty()) text += ", " + dominant;
    text += "\n";
  }
  return text;
}

// "rules: allclose passes, nmse fails": never part of the verdict.
std::string BaselineLine(const CaseResult& result) {
  std::string text;
  for (const Baseline& baseline : result.baselines) {
    text += (text.empty() ? "" : ", ") + baseline.rule +
            (baseline.passes ? " passes" : " fails");
  }
  return text.empty() ? "" : "      other rules: " + text + "\n";
}

// Which inputs show which faults, and what was not looked for.
std::string EvidenceLines(const CaseResult& result) {
  std::string text;
  for (const Evidence& entry : result.evidence) {
    const std::string by = !entry.shown_by.empty()
                               ? "shown by " + Printable(entry.shown_by)
                           : entry.looked_at ? "not shown"
                                             : "not looked at";
    text += "      fault " + entry.kind + ", " + entry.what + ": " + by + "\n";
  }
  for (const std::string& probe : result.probes_missed) {
    text += "      probe " + probe + ": no answer\n";
  }
  return text;
}

// Which shard was which.
std::string ShardLines(const CaseResult& result) {
  if (!result.shards) return "";
  const ShardsTried& tried = *result.shards;
  std::string text;
  for (const std::string& call : tried.calls) {
    text += "      " + tried.shard + " " + call + "\n";
  }
  for (const std::string& shard : tried.empty) {
    text += "      " + tried.shard + " " + shard + ": not asked\n";
  }
  if (!tried.parts.empty()) {
    text += "      " + tried.shard + " as parts: " + tried.parts + "\n";
  }
  return text;
}

bool IsQuiet(const CaseResult& result) {
  return result.verdict == Verdict::kPass ||
         result.verdict == Verdict::kSkipped;
}

std::string Details(const CaseResult& result) {
  std::string text = JudgedLines(result) + ShardLines(result);
  for (const Comparison& comparison : result.comparisons) {
    text += "      " + comparison.tensor + ": " +
            Grouped(comparison.Compared()) + " compared, " +
            Grouped(comparison.Over()) + " over, max " +
            std::to_string(comparison.max_ulp) + " ulp\n";
  }
  for (const std::string& output : result.lacking) {
    text += "      " + output + ": not judged, the kernel has none\n";
  }
  text += EvidenceLines(result);
  if (result.statistics && result.statistics->why_not.empty()) {
    const StatisticsResult& found = *result.statistics;
    text += "      statistics " + found.tensor + ": " + Grouped(found.tests) +
            " tests on " + Grouped(found.rows) + " of " +
            Grouped(found.judged) + " rows, strongest " +
            DescribeStatistic(found.strongest) +
            (found.pools ? "" : "; none by key") + "\n";
  }
  std::string checks;
  for (const Check& check : result.checks) {
    checks += " " + check.name + (check.passed ? "" : "=FAILED");
    if (check.runs > 1) checks += "x" + std::to_string(check.runs);
  }
  if (!checks.empty()) text += "      checks:" + checks + "\n";
  std::string nulls;
  for (const Power& null : result.power) {
    nulls += " " + null.null +
             (null.rejected ? ""
              : null.same   ? " (same here)"
                            : " (passes)");
  }
  if (!nulls.empty()) text += "      rejected:" + nulls + "\n";
  if (!result.execution.plan.empty()) {
    text += "      plan: " + result.execution.plan + "\n";
  }
  return text;
}

}  // namespace

std::string ReportBegin(const CaseResult& result, const ReportStyle& style) {
  const bool quiet = IsQuiet(result);
  std::string name = Excused(result) ? "known" : VerdictName(result.verdict);
  if (!quiet) {
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
  }
  std::string text =
      Colored(Padded(name + " ", 6), ColorOf(result.verdict), style) +
      Printable(result.line);
  if (quiet) {
    if (!result.reason.empty()) text += "  (" + Printable(result.reason) + ")";
    text += "  " + Seconds(result.seconds);
  }
  text += "\n";
  if (!quiet && !result.draw_of.empty()) {
    text += "      draw of " + Printable(result.draw_of) + "\n";
  }
  for (const Finding& finding : result.findings) {
    text += "      " + std::string(TierName(finding.tier)) + " (" +
            Printable(finding.check) +
            "): " + Broken(Printable(finding.message)) + "\n";
  }
  return text;
}

std::string ReportOne(const CaseResult& result, const ReportStyle& style,
                      bool begun) {
  const bool quiet = IsQuiet(result);
  if (quiet && !style.verbose) return "";
  std::string text = begun ? "" : ReportBegin(result, style);
  text += CauseLines(result);
  if (!result.one_field.empty()) {
    text += "      profile: " + OneFieldText(result) + "\n";
  }
  if (result.known) text += "      " + Printable(result.known->text) + "\n";
  if (!quiet || style.verbose) text += BaselineLine(result);
  if (style.verbose) text += Details(result);
  if (!quiet) {
    const Finding none;
    text +=
        "      replay: " +
        Printable(ReplayLine(
            result, result.findings.empty() ? none : result.findings.front())) +
        "\n";
  }
  return text;
}

}  // namespace lockstep::verify
