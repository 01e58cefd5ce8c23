#include "verify/judge/rules/baselines.h"

#include "verify/judge/rules/foreign_rules.h"

namespace lockstep::verify {
namespace {

std::vector<double> Numbers(const Trial& trial, const Truth& truth,
                            const OutputSet& from) {
  const OutputSpec& spec = trial.outputs()[0];
  const LaneView view = from.tensors[0].const_view();
  std::vector<double> numbers;
  for (const int64_t row : truth.rows) {
    for (const int64_t line : trial.Lines(0, row)) {
      for (int64_t c = 0; c < spec.shape[3]; ++c) {
        numbers.push_back(ElementValue(
            spec.lane, ElementBits(view, LineIndex(spec, line, c))));
      }
    }
  }
  return numbers;
}

}  // namespace

std::vector<Baseline> JudgeByBaselines(const Trial& trial, const Truth& truth,
                                       const AllowedResults* allowed,
                                       const OutputSet& produced) {
  RuleInput input;
  input.lane = trial.outputs()[0].lane;
  input.produced = Numbers(trial, truth, produced);
  if (allowed != nullptr && !allowed->truth().empty()) {
    input.truth = {allowed->truth().begin(), allowed->truth().end()};
  } else {
    for (const uint32_t bits : truth.bits[0]) {
      input.truth.push_back(ElementValue(input.lane, bits));
    }
  }
  Result<OutputSet> baseline = trial.Allocate(0);
  if (trial.rows() <= kBaselineWork / trial.RowCost() && baseline.ok()) {
    trial.RunBaseline(baseline.value());
    input.baseline = Numbers(trial, truth, baseline.value());
  }
  const auto passes = PassesForeignRules(input);
  std::vector<Baseline> rules;
  for (size_t r = 0; r < kForeignRules; ++r) {
    const auto rule = static_cast<ForeignRule>(r);
    if (rule == ForeignRule::kBaseline3x && input.baseline.empty()) continue;
    rules.push_back({ForeignRuleName(rule), passes[r]});
  }
  return rules;
}

}  // namespace lockstep::verify
