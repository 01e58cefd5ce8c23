#include "verify/judge/rules/baselines.h"

#include <array>
#include <numbers>
#include <string>

#include "verify/judge/rules/foreign_rules.h"

namespace lockstep::verify {
namespace {

std::vector<double> ValuesOf(const Trial& trial, const Truth& truth,
                             size_t output, const OutputSet& from) {
  const OutputSpec& spec = trial.outputs()[output];
  const LaneView view = from.tensors[output].const_view();
  std::vector<double> numbers;
  for (const int64_t row : truth.rows) {
    for (const int64_t line : trial.Lines(output, row)) {
      for (int64_t c = 0; c < spec.shape[3]; ++c) {
        numbers.push_back(ElementValue(
            spec.lane, ElementBits(view, LineIndex(spec, line, c))));
      }
    }
  }
  return numbers;
}

bool Lacks(const NumericProfile* profile, const OutputSpec& spec) {
  return profile != nullptr && !HasOutput(*profile, spec.name);
}

// What a kernel's numbers are in the contract's unit.
double UnitOf(const NumericProfile* profile, const OutputSpec& spec) {
  const bool bits = profile != nullptr && spec.name == std::string("lse") &&
                    profile->lse_base == ExpBase::kTwo;
  return bits ? std::numbers::ln2 : 1;
}

}  // namespace

std::vector<Baseline> JudgeByBaselines(const Trial& trial, const Truth& truth,
                                       const AllowedResults* allowed,
                                       const NumericProfile* profile,
                                       const OutputSet& produced) {
  Result<OutputSet> baseline = trial.Allocate(0);
  const bool compared =
      trial.rows() <= kBaselineWork / trial.RowCost() && baseline.ok();
  if (compared) trial.kernels().RunBaseline(baseline.value());
  std::array<bool, kForeignRules> passes;
  passes.fill(true);
  for (size_t t = 0; t < trial.outputs().size(); ++t) {
    const OutputSpec& spec = trial.outputs()[t];
    if (Lacks(profile, spec)) continue;
    RuleInput input;
    input.lane = spec.lane;
    input.produced = ValuesOf(trial, truth, t, produced);
    for (double& number : input.produced) number *= UnitOf(profile, spec);
    if (t == 0 && allowed != nullptr && !allowed->truth().empty()) {
      input.truth = {allowed->truth().begin(), allowed->truth().end()};
    } else {
      for (const uint32_t bits : truth.bits[t]) {
        input.truth.push_back(ElementValue(spec.lane, bits));
      }
    }
    if (compared) input.baseline = ValuesOf(trial, truth, t, baseline.value());
    const auto here = PassesForeignRules(input);
    for (size_t r = 0; r < kForeignRules; ++r) passes[r] = passes[r] && here[r];
  }
  std::vector<Baseline> rules;
  for (size_t r = 0; r < kForeignRules; ++r) {
    const auto rule = static_cast<ForeignRule>(r);
    if (rule == ForeignRule::kBaseline3x && !compared) continue;
    rules.push_back({ForeignRuleName(rule), passes[r]});
  }
  return rules;
}

}  // namespace lockstep::verify
