// What a run did, gathered case by case.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/plan.h"
#include "verify/judge/answers.h"
#include "verify/judge/evidence/evidence.h"
#include "verify/report/report.h"

namespace lockstep::verify {
namespace {

void AddCounter(const Counter& counter, std::vector<Counter>* sums) {
  for (Counter& sum : *sums) {
    if (sum.name == counter.name) {
      sum.value += counter.value;
      return;
    }
  }
  sums->push_back(counter);
}

// What ran: a backend, of a door with the kernel behind it.
std::string Executed(const CaseResult& result) {
  std::string name, version;
  for (const Fact& fact : result.kernel) {
    if (fact.name == "name") name = fact.value;
    if (fact.name == "version" && !fact.value.empty()) {
      version = " " + fact.value;
    }
  }
  const std::string& backend = result.execution.backend;
  return name.empty() ? backend : backend + " (" + name + version + ")";
}

}  // namespace

std::vector<std::string> TargetsNotRun(std::string_view candidate, bool pairs,
                                       bool matrix) {
  constexpr std::string_view kOurs = "builtin:optimized";
  if (!candidate.starts_with(kOurs)) return {};
  if (candidate.substr(kOurs.size()).starts_with('@')) return {};
  std::vector<std::string> names;
  bool native = false, unit = false;
  for (const optimized::Target& target : optimized::Targets()) {
    if (!target.supported) names.push_back(target.name);
    native = native || (target.supported && target.native_dot);
    unit = unit || target.matrix_unit;
  }
  if (pairs && !native) names.push_back("bf16 dot instruction");
  if (matrix && !unit) names.push_back("matrix unit");
  return names;
}

std::vector<std::string> TargetsNotRun(const CaseResult& result) {
  if (result.targets.empty()) return {};
  const auto has = [&](std::string_view word) {
    return result.canonical.starts_with("attention_forward ") &&
           result.canonical.find(word) != std::string::npos;
  };
  // The chain, whose key is not written, and order=amx have instructions.
  return TargetsNotRun(result.candidate, has(" lane=bf16") && !has(" order="),
                       has(" order=amx"));
}

void RunStatistics::Add(const CaseResult& result) {
  if (!result.reason.empty() && result.verdict == Verdict::kSkipped) {
    skips.insert(result.reason);
  }
  for (const Fact& fact : result.facts) {
    if (fact.name == kAnswersFact) answers.insert(fact.value);
  }
  for (const Fact& fact : result.kernel) {
    peeking |= fact.name == "peeking" && fact.value == "not excluded";
    if (fact.name == "kept" && result.verdict == Verdict::kFail) {
      kept.insert(fact.value);
    }
  }
  const Execution& ran = result.execution;
  if (ran.backend.empty()) return;
  const std::string backend = Executed(result);
  for (const std::string& target : result.targets) {
    executed.insert(backend + " on " + target);
  }
  if (result.targets.empty()) executed.insert(backend);
  for (const std::string& target : TargetsNotRun(result)) {
    if (std::find(not_run.begin(), not_run.end(), target) == not_run.end()) {
      not_run.push_back(target);
    }
  }
  if (!ran.products.empty()) executed.insert("order=amx by " + ran.products);
  if (!ran.fallback_reason.empty()) fallbacks.insert(ran.fallback_reason);
  if (ran.threads > 0) {
    min_threads =
        min_threads == 0 ? ran.threads : std::min(min_threads, ran.threads);
    max_threads = std::max(max_threads, ran.threads);
  }
  untried.insert(result.untried.begin(), result.untried.end());
  lacking.insert(result.lacking.begin(), result.lacking.end());
  for (const Unanswered& one : result.unanswered) ++unanswered[one.check];
  for (const std::string& check : result.refused) ++refused[check];
  for (const std::string& law : result.too_large) ++too_large[law];
  runs += result.runs;
  runs_again += result.runs_again;
  runs_apart += result.runs_apart;
  if (!result.claims) {
    for (const Comparison& comparison : result.comparisons) {
      elements += comparison.Compared();
    }
  }
  std::set<std::string> lines;
  for (const Judged& judged : result.judged) {
    const bool probe = judged.tier == Tier::kProbes;
    (probe ? by_probes : by_envelope) +=
        judged.result.expected - judged.result.Open();
    unbounded += judged.result.Open();
    // One set of inputs has one entry per output that it judges.
    const bool first = probe && lines.insert(judged.line).second;
    probe_inputs += first && judged.evidence ? 1 : 0;
    idle_probes += first && !judged.evidence ? 1 : 0;
    if (result.claims) profiles.insert(result.claims->name);
  }
  if (result.statistics) {
    const StatisticsResult& found = *result.statistics;
    const bool looked = found.why_not.empty();
    if (!looked) ++no_statistics[found.why_not];
    statistics_cases += looked ? 1 : 0;
    statistics_rows += looked ? found.rows : 0;
    statistics_tests += found.tests;
  }
  for (const Canary& canary : result.canaries) {
    ++canaries;
    canaries_caught += canary.caught ? 1 : 0;
  }
  for (const Check& check : result.checks) {
    const std::string law = LawOf(check.name);
    if (!law.empty()) ++laws[law];
  }
  if (result.rows_compared > 0 && result.rows_compared < result.rows) {
    ++sampled_cases;
  }
  by_optimized += result.elements_optimized;
  rows_ranged += result.rows_ranged;
  rows_unheld += UnheldRows(result);
  for (const std::string& kind : UnshownKinds(result, true)) ++unprobed[kind];
  for (const std::string& kind : UnshownKinds(result, false)) {
    ++unprobed[kind + " (not looked at)"];
  }
  for (const Counter& counter : ran.counters) AddCounter(counter, &counters);
}

}  // namespace lockstep::verify
