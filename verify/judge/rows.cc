#include "verify/judge/rows.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "optimized/plan.h"
#include "verify/allowed/counts.h"
#include "verify/base/compare.h"
#include "verify/judge/bounded.h"
#include "verify/judge/invariance.h"
#include "verify/ops/backends.h"
#include "verify/ops/envelopes.h"

namespace lockstep::verify {
namespace {

// The lines of output t that no sampled row holds, ascending.
std::vector<int64_t> OtherLines(const OtherRows& rows, size_t t) {
  const int64_t lines = rows.trial->outputs()[t].lines();
  std::vector<bool> sampled(static_cast<size_t>(lines), false);
  for (const int64_t row : rows.truth->rows) {
    for (const int64_t line : rows.trial->Lines(t, row)) {
      sampled[static_cast<size_t>(line)] = true;
    }
  }
  std::vector<int64_t> others;
  for (int64_t line = 0; line < lines; ++line) {
    if (!sampled[static_cast<size_t>(line)]) others.push_back(line);
  }
  return others;
}

// Calls visit(index) for the elements of those lines.
template <typename Visit>
void ForLines(const OutputSpec& spec, const std::vector<int64_t>& lines,
              Visit&& visit) {
  for (const int64_t line : lines) {
    for (int64_t c = 0; c < spec.shape[3]; ++c) {
      visit(LineIndex(spec, line, c));
    }
  }
}

// Whether all elements of those lines are in the set.
bool AllInside(const LaneView& x, const OutputSpec& spec,
               const std::vector<int64_t>& lines, const ValueSet& set) {
  return WithAnyLane(x.lane, [&](auto element) {
    const auto view = x.As<decltype(element)>();
    bool inside = true;
    for (const int64_t line : lines) {
      const std::array<int64_t, 4> at = LineIndex(spec, line, 0);
      const auto* const from = &view(at[0], at[1], at[2], 0);
      for (int64_t c = 0; c < spec.shape[3]; ++c) {
        const auto value = static_cast<double>(ToFloat(from[c * x.strides[3]]));
        inside &= set.Contains(value);
      }
    }
    return inside;
  });
}

bool RunsHere() {
  const std::vector<optimized::Target> targets = optimized::Targets();
  return std::any_of(targets.begin(), targets.end(),
                     [](const auto& target) { return target.supported; });
}

void Broken(const std::string& message, CaseResult* result) {
  result->findings.push_back(
      {Tier::kSelf, "optimized_rows", message, "", std::nullopt});
}

// The optimized path's answer in `scratch`. False: there is none.
bool RunOptimized(const OtherRows& rows, CaseResult* result) {
  const Trial& trial = *rows.trial;
  if (rows.scratch->tensors.empty()) {
    Result<OutputSet> allocated = trial.Allocate(rows.shift);
    if (!allocated.ok()) {
      Broken(allocated.message(), result);
      return false;
    }
    *rows.scratch = std::move(allocated.value());
  }
  PoisonOutputs(*rows.scratch, kFirstPoison);
  Execution execution;
  const RunOutcome outcome =
      RunOwnKernel(trial, Variation{}, *rows.scratch, &execution);
  if (outcome.state != RunOutcome::State::kRan) return false;
  const std::vector<Comparison> sample =
      CompareWithTruth(trial, *rows.truth, *rows.scratch, nullptr);
  for (size_t t = 0; t < sample.size(); ++t) {
    if (sample[t].Passed()) continue;
    Broken("the optimized path does not have the reference's bits: " +
               DescribeComparison(trial.outputs()[t], sample[t]),
           result);
    return false;
  }
  return true;
}

// Rows that are not in the sample; 0: all are.
int64_t Others(const OtherRows& rows) {
  return rows.trial->rows() - static_cast<int64_t>(rows.truth->rows.size());
}

using Rows = std::vector<int64_t>;

Rows Without(const Rows& all, const Rows& taken) {
  Rows rest;
  std::set_difference(all.begin(), all.end(), taken.begin(), taken.end(),
                      std::back_inserter(rest));
  return rest;
}

bool AllPassed(const std::vector<EnvelopeResult>& found) {
  return std::all_of(found.begin(), found.end(),
                     [](const EnvelopeResult& of) { return of.Passed(); });
}

// Whether the witness is where it has to be on the rows of its trial.
bool Sound(const std::vector<EnvelopeResult>& found, const Trial& trial,
           CaseResult* result) {
  for (size_t t = 0; t < found.size(); ++t) {
    if (found[t].Passed()) continue;
    result->findings.push_back(
        {Tier::kSelf, "first_witness",
         "the first witness is outside its own bound: " +
             DescribeEnvelope(trial.outputs()[t], found[t]),
         "", std::nullopt});
  }
  return AllPassed(found);
}

// Of the rows that the witness does not vouch for as many as the oracle may
// take, the most doubtful ones first; adds to rows_witnessed.
Rows Doubtful(const FirstWitness& witness, const Rows& rows,
              const OutputSet& produced, CaseResult* result) {
  std::vector<std::pair<double, int64_t>> doubts;
  for (const int64_t row : rows) {
    const std::optional<double> doubt = witness.Doubt(row, produced);
    if (doubt) {
      doubts.emplace_back(*doubt, row);
    } else {
      ++result->rows_witnessed;
    }
  }
  std::sort(doubts.begin(), doubts.end(), std::greater<>());
  Rows chosen;
  int64_t cost = 0;
  for (const auto& [doubt, row] : doubts) {
    cost += witness.TruthCost(row);
    if (cost > kDoubtfulCost) break;
    chosen.push_back(row);
  }
  return chosen;
}

// The rows that the oracle takes: those of the witness's trial, and doubtful
// ones.
struct Asked {
  Rows tried;
  bool tried_inside = false;  // as the trial found already
  Rows doubtful;
};

std::vector<EnvelopeResult> JudgeRows(const OtherRows& rows,
                                      const NumericProfile& profile,
                                      int threads, Rows asked) {
  std::sort(asked.begin(), asked.end());
  return rows.trial->envelopes()
      .Envelope(profile, std::move(asked), threads)
      ->Judge(*rows.produced);
}

bool AskOracle(const OtherRows& rows, const NumericProfile& profile,
               int threads, const Asked& asked, CaseResult* result) {
  Rows all = asked.doubtful;
  all.insert(all.end(), asked.tried.begin(), asked.tried.end());
  if (all.empty()) return true;
  result->rows_oracle = static_cast<int64_t>(all.size());
  if (asked.tried_inside &&
      (asked.doubtful.empty() ||
       AllPassed(JudgeRows(rows, profile, threads, asked.doubtful)))) {
    return true;
  }
  // What is said of them is said of all together.
  const std::vector<EnvelopeResult> found =
      JudgeRows(rows, profile, threads, std::move(all));
  for (size_t t = 0; t < found.size(); ++t) {
    if (found[t].Passed()) continue;
    const OutputSpec& spec = rows.trial->outputs()[t];
    result->findings.push_back(
        {Tier::kEnvelope, spec.name,
         "outside the sample: " + DescribeEnvelope(spec, found[t]), "",
         std::nullopt, "", found[t]});
  }
  return AllPassed(found);
}

}  // namespace

void CompareOtherRows(const OtherRows& rows, CaseResult* result) {
  const bool itself = result->execution.backend == "optimized";
  if (Others(rows) == 0 || itself || !RunsHere()) return;
  if (!RunOptimized(rows, result)) return;
  bool equal = true;
  for (size_t t = 0; t < rows.trial->outputs().size(); ++t) {
    const OutputSpec& spec = rows.trial->outputs()[t];
    const std::vector<int64_t> lines = OtherLines(rows, t);
    const LaneView expected = rows.scratch->tensors[t].const_view();
    const LaneView produced = rows.produced->tensors[t].const_view();
    Comparer comparer(spec.name, spec.lane, spec.shape,
                      static_cast<int64_t>(lines.size()) * spec.shape[3]);
    ForLines(spec, lines, [&](const std::array<int64_t, 4>& at) {
      comparer.Add(at, ElementBits(expected, at), ElementBits(produced, at));
    });
    const Comparison& comparison = comparer.comparison();
    result->elements_optimized += comparison.Compared();
    if (lines.empty() || comparison.Passed()) continue;
    equal = false;
    result->findings.push_back(
        {Tier::kBits, comparison.tensor,
         "outside the sample, compared with the optimized path: " +
             DescribeComparison(spec, comparison),
         "", comparison});
  }
  result->rows_optimized = Others(rows);
  result->checks.push_back({"bits_of_other_rows", equal, 1});
}

void RangeOtherRows(const OtherRows& rows, const NumericProfile& profile,
                    CaseResult* result) {
  if (Others(rows) == 0) return;
  const std::vector<ValueSet> ranges = rows.trial->envelopes().Ranges(profile);
  if (ranges.empty()) return;
  bool inside = true;
  for (size_t t = 0; t < rows.trial->outputs().size(); ++t) {
    const OutputSpec& spec = rows.trial->outputs()[t];
    const std::vector<int64_t> lines = OtherLines(rows, t);
    const LaneView produced = rows.produced->tensors[t].const_view();
    if (AllInside(produced, spec, lines, ranges[t])) continue;
    EnvelopeJudge judge(spec.name,
                        static_cast<int64_t>(lines.size()) * spec.shape[3],
                        spec.lane);
    const Bounds bounds = {ranges[t], ranges[t], 0, HUGE_VAL, HUGE_VAL};
    ForLines(spec, lines, [&](const std::array<int64_t, 4>& at) {
      judge.Add(at, ElementValue(spec.lane, ElementBits(produced, at)), bounds);
    });
    const EnvelopeResult found = judge.Finish({});
    if (lines.empty() || found.Passed()) continue;
    inside = false;
    result->findings.push_back(
        {Tier::kEnvelope, spec.name,
         "outside the sample, beyond what a right row can be: " +
             DescribeEnvelope(spec, found),
         "", std::nullopt, "", found});
  }
  result->rows_ranged = Others(rows);
  result->checks.push_back({"range_of_other_rows", inside, 1});
}

void WitnessOtherRows(const OtherRows& rows, const NumericProfile& profile,
                      int threads, uint64_t salt, CaseResult* result) {
  const auto computed = static_cast<int64_t>(rows.truth->rows.size());
  if (computed == rows.trial->rows()) return;
  const auto witness = rows.trial->envelopes().Witness(profile, threads);
  if (witness == nullptr) return;
  const Rows trials = witness->Trials(salt);
  const FirstWitness::Tried tried = witness->OnTrial(trials, *rows.produced);
  if (!Sound(tried.witness, *rows.trial, result)) return;
  Rows all(static_cast<size_t>(rows.trial->rows()));
  for (size_t row = 0; row < all.size(); ++row) {
    all[row] = static_cast<int64_t>(row);
  }
  const Rows others = Without(all, rows.truth->rows);
  const Asked asked = {
      Without(trials, rows.truth->rows), AllPassed(tried.produced),
      Doubtful(*witness, Without(others, trials), *rows.produced, result)};
  const bool inside = AskOracle(rows, profile, threads, asked, result);
  result->checks.push_back({"envelope_of_other_rows", inside, 1});
  if (result->rows_ranged > 0) {
    result->rows_ranged -= result->rows_witnessed + result->rows_oracle;
  }
}

}  // namespace lockstep::verify
