#include "verify/report/report.h"

#include <algorithm>
#include <cmath>

#include "verify/base/format.h"
#include "verify/base/printable.h"
#include "verify/judge/one_field.h"

namespace lockstep::verify {
namespace {

constexpr const char* kRed = "\x1b[31m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kPlain = "\x1b[0m";

const char* ColorOf(Verdict verdict) {
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

std::string Colored(const std::string& text, const char* color,
                    const ReportStyle& style) {
  return style.color ? color + text + kPlain : text;
}

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string Seconds(double seconds) {
  return Format(seconds < 10 ? "%.2f s" : "%.0f s", seconds);
}

// 1234567 -> "1 234 567".
std::string Grouped(int64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) text += ' ';
    text += digits[at];
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

std::string Joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + Printable(word);
  }
  return text;
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

std::string Details(const CaseResult& result) {
  std::string text = JudgedLines(result);
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

// "tiles  12 full, 3 partial": counters of one prefix.
std::string CounterLine(const std::string& prefix,
                        const std::vector<Counter>& counters) {
  std::string text;
  for (const Counter& counter : counters) {
    if (!counter.name.starts_with(prefix + "_")) continue;
    std::string word = counter.name.substr(prefix.size() + 1);
    std::replace(word.begin(), word.end(), '_', ' ');
    if (word == "empty" && prefix == "tiles") word = "skipped";
    text += (text.empty() ? "" : ", ") + Grouped(counter.value) + " " + word;
  }
  return text.empty() ? "" : Padded(prefix, 10) + text + "\n";
}

std::string ComparedLine(const RunStatistics& statistics) {
  std::string text;
  const auto add = [&](int64_t elements, const std::string& how) {
    if (elements == 0) return;
    text += (text.empty() ? "" : ", ") + Grouped(elements) + how;
  };
  add(statistics.elements, " elements bit for bit with the scalar reference");
  add(statistics.by_optimized, " with the optimized path");
  add(statistics.by_envelope,
      " elements with the envelope of " + Joined(statistics.profiles));
  add(statistics.by_probes,
      " on " + Count(statistics.probe_inputs, "exact probe"));
  add(statistics.unbounded, " unbounded");
  if (statistics.idle_probes > 0) {
    text += ", " + Count(statistics.idle_probes, "probe") +
            " that would show nothing";
  }
  if (text.empty()) return "";
  text = "compared  " + text;
  if (statistics.sampled_cases > 0) {
    text += ", " + Count(statistics.sampled_cases, "case") + " on sampled rows";
    const int64_t unsampled = statistics.rows_ranged + statistics.rows_unheld;
    if (unsampled > 0) text += ", " + Grouped(unsampled) + " rows unsampled";
  }
  const int64_t rarest = RarestFault(statistics.runs);
  return text + "; " + Count(statistics.runs, "run") + " of the candidate: " +
         (rarest < 2 ? "a fault that only some calls show would pass\n"
                     : "a fault in fewer than 1 of " + Grouped(rarest) +
                           " calls would pass\n");
}

// "laws      causality 12, split 9": a label of ten characters, and counts.
std::string CountsLine(const std::string& label,
                       const std::map<std::string, int64_t>& counts) {
  std::string text;
  for (const auto& [name, times] : counts) {
    text += (text.empty() ? label : ", ") + name + " " + Grouped(times);
  }
  return text.empty() ? "" : text + "\n";
}

// Of kernels whose profile says repeat = no.
std::string RepeatLine(const RunStatistics& statistics) {
  if (statistics.runs_again == 0) return "";
  return "repeat    " + Grouped(statistics.runs_apart) + " of " +
         Count(statistics.runs_again, "further run") +
         " had other bits than the first; these and the laws are held against "
         "the envelope, not against bits\n";
}

std::string CanaryLine(const RunStatistics& statistics) {
  if (statistics.canaries == 0) return "";
  return "canaries  " + std::to_string(statistics.canaries_caught) + " of " +
         Count(statistics.canaries, "known-bad kernel") + " caught\n";
}

// What statistics looked at, and what they did not: that is no pass of theirs.
std::string StatisticsLine(const RunStatistics& statistics) {
  std::string text;
  if (statistics.statistics_cases > 0) {
    text = "statistics " + Count(statistics.statistics_cases, "case") + ", " +
           Grouped(statistics.statistics_rows) + " rows, " +
           Grouped(statistics.statistics_tests) +
           Format(" tests; false alarms at most %g a case\n", kStatisticsRate);
  }
  for (const auto& [why, cases] : statistics.no_statistics) {
    text += "statistics none of " + Count(cases, "case") + ": " + why + "\n";
  }
  return text;
}

std::string ExecutedLine(const RunStatistics& statistics) {
  if (statistics.executed.empty()) return "";
  // A planner has no instruction set: it is not named beside its kernels.
  std::set<std::string> named = statistics.executed;
  std::erase_if(named, [&](const std::string& backend) {
    const auto next = statistics.executed.upper_bound(backend);
    return next != statistics.executed.end() &&
           next->starts_with(backend + " on ");
  });
  std::string text = "executed  " + Joined(named);
  if (statistics.max_threads > 0) {
    text += "; " + std::to_string(statistics.min_threads);
    if (statistics.max_threads != statistics.min_threads) {
      text += ".." + std::to_string(statistics.max_threads);
    }
    text += statistics.max_threads == 1 ? " thread" : " threads";
  }
  if (!statistics.fallbacks.empty()) {
    text += "; fell back: " + Joined(statistics.fallbacks);
  }
  return text + "\n";
}

}  // namespace

std::string NotRunLine(const std::vector<std::string>& targets) {
  std::string names;
  for (const std::string& target : targets) {
    names += (names.empty() ? "" : ", ") + target;
  }
  return names.empty() ? "" : "not run   " + names + " (not on this CPU)\n";
}

std::string ReportOne(const CaseResult& result, const ReportStyle& style) {
  const bool quiet =
      result.verdict == Verdict::kPass || result.verdict == Verdict::kSkipped;
  if (quiet && !style.verbose) return "";
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
  if (!result.one_field.empty()) {
    text += "      profile: " + OneFieldText(result) + "\n";
  }
  for (const Explanation& cause : result.causes) {
    text += "      cause: " + Printable(ExplanationText(cause)) + "\n";
  }
  if (result.too_large_to_explain) {
    text +=
        "      cause: not looked for on a case this large; lockstep explain "
        "makes it small first\n";
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

std::string ReportSummary(const Totals& totals, const RunStatistics& statistics,
                          int exit_code, const ReportStyle& style) {
  std::string text =
      ExecutedLine(statistics) + NotRunLine(statistics.not_run) +
      ComparedLine(statistics) + CounterLine("tiles", statistics.counters) +
      CounterLine("rows", statistics.counters) + StatisticsLine(statistics) +
      CanaryLine(statistics) + LawLine(statistics.laws) +
      DrawsLine(totals.draws) + RepeatLine(statistics) +
      CountsLine("too large ", statistics.too_large) +
      CountsLine("unprobed  ", statistics.unprobed) +
      CountsLine("unanswered ", statistics.unanswered) +
      CountsLine("refused   ", statistics.refused);
  if (!statistics.untried.empty()) {
    text += "untried   " + Joined(statistics.untried) +
            ": not to be seen in answers from files\n";
  }
  if (!statistics.lacking.empty()) {
    text += "unjudged  " + Joined(statistics.lacking) +
            ": the kernel does not have them, its profile says\n";
  }
  if (!statistics.answers.empty()) {
    text += "note      answers are " + Joined(statistics.answers) +
            ": a pass says nothing of a kernel\n";
  }
  if (statistics.peeking) {
    text +=
        "note      the kernel ran as root and could have read the judge's "
        "memory; --candidate-user NAME rules that out\n";
  }
  if (!statistics.skips.empty()) {
    text += "skipped   " + Joined(statistics.skips) + "\n";
  }
  std::string counts;
  const auto add = [&](int64_t n, Verdict verdict) {
    if (n == 0) return;
    counts += (counts.empty() ? "" : ", ") +
              Colored(std::to_string(n) + " " + VerdictName(verdict),
                      ColorOf(verdict), style);
  };
  add(totals.pass, Verdict::kPass);
  add(totals.fail, Verdict::kFail);
  add(totals.error, Verdict::kError);
  add(totals.suspicious, Verdict::kSuspicious);
  add(totals.untrusted, Verdict::kUntrusted);
  add(totals.skipped, Verdict::kSkipped);
  if (totals.known > 0) {
    counts +=
        (counts.empty() ? "" : ", ") + std::to_string(totals.known) + " known";
  }
  text += Count(totals.cases, "case");
  if (!counts.empty()) text += ": " + counts;
  if (totals.not_run > 0)
    text += "; " + Count(totals.not_run, "case") + " not run";
  if (totals.interrupted) text += "; interrupted";
  text += "; " + Seconds(totals.seconds);
  if (exit_code != 0) text += "; exit " + std::to_string(exit_code);
  return text + "\n";
}

std::string LawLine(const std::map<std::string, int64_t>& laws) {
  return CountsLine("laws      ", laws);
}

std::string ProgressLine(int64_t done, int64_t total, int64_t findings,
                         double seconds) {
  std::string text = std::to_string(done) + " of " + Count(total, "case");
  if (done > 0 && seconds > 0) {
    const double rate = static_cast<double>(done) / seconds;
    text += Format(", %.1f/s, ", rate) +
            Seconds(static_cast<double>(total - done) / rate) + " left";
  }
  return text + ", " + Count(findings, "finding");
}

}  // namespace lockstep::verify
