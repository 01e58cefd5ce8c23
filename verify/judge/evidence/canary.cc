#include "verify/judge/evidence/canary.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/judge/invariance.h"

namespace lockstep::verify {
namespace {

// What a candidate answers; none if it does not run.
std::optional<OutputSet> Answer(const std::string& spec,
                                const CaseRequest& request,
                                const Trial& trial) {
  Result<std::unique_ptr<Candidate>> candidate = ParseCandidate(spec);
  Result<OutputSet> outputs = trial.Allocate(0);
  if (!candidate.ok() || !outputs.ok()) return std::nullopt;
  Execution execution;
  const RunOutcome outcome = candidate.value()->Run(
      request, trial, Variation{}, outputs.value(), &execution);
  if (outcome.state != RunOutcome::State::kRan) return std::nullopt;
  return std::move(outputs.value());
}

// What a canary has to keep: what the candidate claims. Absent: exact bits, by
// a canary that claims nothing of its own.
std::optional<NumericProfile> Claimed(const CaseResult& result,
                                      const Trial& trial,
                                      const Candidate& canary) {
  if (result.claims || !canary.Claims()) return result.claims;
  for (const NumericProfile& profile : BuiltinProfiles()) {
    if (profile.exact && trial.WhyUndeclared(profile).empty()) {
      return profile;
    }
  }
  return std::nullopt;
}

// Whether two answers differ where the claimant has an output.
bool Differ(const Trial& trial, const std::optional<NumericProfile>& claims,
            const OutputSet& a, const OutputSet& b) {
  for (size_t t = 0; t < trial.outputs().size(); ++t) {
    const std::string& name = trial.outputs()[t].name;
    if (claims && !HasOutput(*claims, name)) continue;
    if (!CompareTensors(name, a.tensors[t].const_view(),
                        b.tensors[t].const_view())
             .Passed()) {
      return true;
    }
  }
  return false;
}

// Steps of an f32 tensor's largest element that two right kernels differ by.
constexpr double kRoundings = 4;

// Whether a fault shows in nothing but roundings of f32, such as a weight of
// exp(-30) where there should be none: any contract but the exact one allows
// that, and a canary that passes with it is within its rights.
bool WithinRoundings(const Trial& trial, const OutputSet& right,
                     const OutputSet& wrong) {
  for (size_t t = 0; t < trial.outputs().size(); ++t) {
    const LaneView expected = right.tensors[t].const_view();
    const Comparison comparison = CompareTensors(
        trial.outputs()[t].name, expected, wrong.tensors[t].const_view());
    if (comparison.Passed()) continue;
    const bool finite = comparison.mismatch.empty() &&
                        comparison.unwritten == 0 &&
                        comparison.count(PairClass::kEqual) +
                                comparison.count(PairClass::kSameNaN) +
                                comparison.count(PairClass::kZeroSign) +
                                comparison.count(PairClass::kFinite) ==
                            comparison.expected_elements;
    if (!finite || comparison.lane != Lane::kF32) return false;
    double largest = 0;
    ForElements(expected.shape, [&](const At& at) {
      const double value = ElementValue(Lane::kF32, ElementBits(expected, at));
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    });
    if (!(comparison.max_abs <= kRoundings * 0x1p-23 * largest)) return false;
  }
  return true;
}

}  // namespace

bool WantsCanary(const CaseRequest& request, const Trial& trial,
                 uint64_t salt) {
  if (trial.rows() > kCanaryWork / trial.RowCost()) return false;
  return request.number == 1 || salt % kCanaryEvery == 0;
}

void JudgeCanary(const CaseRequest& request, const Trial& trial,
                 const JudgeOptions& options, uint64_t salt,
                 CaseResult* result) {
  JudgeOptions nested = options;
  nested.causes = false;
  nested.canaries = false;
  nested.invariance = false;
  nested.evidence = false;
  nested.require_executed = false;
  const auto specs = trial.Canaries();
  const auto right = Answer(trial.CorrectKernel(), request, trial);
  // A fault may turn an inexact answer into the exact one.
  const auto truth = Answer("builtin:reference", request, trial);
  for (size_t n = 0; n < specs.size() && right && truth; ++n) {
    const std::string spec = specs[(salt / kCanaryEvery + n) % specs.size()];
    const auto wrong = Answer(spec, request, trial);
    if (!wrong || !Differ(trial, result->claims, *right, *wrong) ||
        !Differ(trial, result->claims, *truth, *wrong)) {
      continue;
    }
    Result<std::unique_ptr<Candidate>> candidate = ParseCandidate(spec);
    if (!candidate.ok()) return;
    nested.profile = Claimed(*result, trial, *candidate.value());
    Case call = *request.call;
    call.expect = Expect::kPass;
    CaseRequest asked = request;
    asked.call = &call;
    const CaseResult judged =
        JudgeCase(asked, *candidate.value(), nested, nullptr);
    const bool caught = judged.verdict == Verdict::kFail;
    const bool bits = !nested.profile || nested.profile->exact;
    if (!caught && !bits && WithinRoundings(trial, *right, *wrong)) continue;
    result->canaries.push_back({spec, caught});
    if (caught) return;
    result->findings.push_back(
        {Tier::kPower, "canary",
         spec + ", which is wrong on this case, got the verdict '" +
             VerdictName(judged.verdict) + "': this judge proves nothing here",
         "", std::nullopt});
    return;
  }
}

}  // namespace lockstep::verify
