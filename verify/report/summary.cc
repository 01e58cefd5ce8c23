// The lines behind the cases of a run: what was executed, held against what,
// and left out.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "verify/base/format.h"
#include "verify/base/printable.h"
#include "verify/report/report.h"
#include "verify/report/words.h"

namespace lockstep::verify {
namespace {

std::string Joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + Printable(word);
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
         " had other bits than the first; these and the laws are compared with "
         "the envelope, not bit for bit\n";
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

}  // namespace

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

std::string SkippedLine(const RunStatistics& statistics) {
  if (statistics.skips.empty()) return "";
  return "skipped   " + Joined(statistics.skips) + "\n";
}

std::string NotRunLine(const std::vector<std::string>& targets) {
  std::string names;
  for (const std::string& target : targets) {
    names += (names.empty() ? "" : ", ") + target;
  }
  return names.empty() ? "" : "not run   " + names + " (not on this CPU)\n";
}

std::string ReportSummary(const Totals& totals, const RunStatistics& statistics,
                          int exit_code, const ReportStyle& style) {
  std::string text =
      ExecutedLine(statistics) + NotRunLine(statistics.not_run) +
      ComparedLine(statistics) + CounterLine("tiles", statistics.counters) +
      CounterLine("rows", statistics.counters) + StatisticsLine(statistics) +
      CanaryLine(statistics) + LawLine(statistics.laws) +
      DrawsLine(totals.draws) + RepeatLine(statistics) +
      CountsLine("unheld    ", statistics.too_large) +
      CountsLine("unprobed  ", statistics.unprobed) +
      CountsLine("unanswered ", statistics.unanswered) +
      CountsLine("refused   ", statistics.refused);
  if (!statistics.untried.empty()) {
    text += "untried   " + Joined(statistics.untried) +
            ": not visible in answers from files\n";
  }
  if (!statistics.lacking.empty()) {
    text += "unjudged  " + Joined(statistics.lacking) +
            "; the kernel has no such output\n";
  }
  if (!statistics.answers.empty()) {
    text += "note      answers are " + Joined(statistics.answers) +
            ": a pass says nothing of a kernel\n";
  }
  if (!statistics.kept.empty()) {
    text += "note      the kernel holds " + Joined(statistics.kept) +
            " after its call: inputs are invalid then, and are overwritten\n";
  }
  if (statistics.peeking) {
    text +=
        "note      the kernel ran as root and could have read the judge's "
        "memory; --candidate-user NAME rules that out\n";
  }
  text += SkippedLine(statistics);
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
  const std::string wrong = WrongDraws(totals.draws);
  if (!wrong.empty()) text += ", " + wrong;
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
