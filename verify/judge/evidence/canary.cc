#include "verify/judge/evidence/canary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/judge/invariance.h"
#include "verify/ops/envelopes.h"

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
  if (result.claims || !canary.traits().claims) return result.claims;
  for (const NumericProfile& profile : BuiltinProfiles()) {
    if (profile.exact && trial.envelopes().WhyUndeclared(profile).empty()) {
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

// A part of a tensor's largest element: what is inside a profile's envelope,
// moves nothing by more and shows on no probe is no bug under the profile, such
// as a carry that has decayed to nothing, or a weight of exp(-7) between bf16
// tensors.
constexpr double kNotable = 1.0 / 16;

// Largest finite magnitude of each output.
std::map<std::string, double> LargestOf(const Trial& trial,
                                        const OutputSet& right) {
  std::map<std::string, double> largest;
  for (size_t t = 0; t < trial.outputs().size(); ++t) {
    double& most = largest[trial.outputs()[t].name];
    const LaneView view = right.tensors[t].const_view();
    ForElements(view.shape, [&](const At& at) {
      const double value = ElementValue(view.lane, ElementBits(view, at));
      if (std::isfinite(value)) most = std::max(most, std::fabs(value));
    });
  }
  return largest;
}

// Whether the profile leaves what a known bug gives here to every kernel: each
// element that it changes is open, or inside the envelope and nearly right.
bool WithinRights(const Trial& trial, const NumericProfile& profile,
                  const OutputSet& right, const OutputSet& wrong) {
  std::vector<int64_t> rows(static_cast<size_t>(trial.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  const auto allowed = trial.envelopes().Envelope(profile, std::move(rows), 1);
  if (allowed == nullptr) return false;
  std::map<std::string, LaneView> views;
  for (size_t t = 0; t < trial.outputs().size(); ++t) {
    views.emplace(trial.outputs()[t].name, right.tensors[t].const_view());
  }
  std::map<std::string, double> largest = LargestOf(trial, right);
  bool within = true;
  allowed->JudgeEach(wrong, [&](const std::string& tensor,
                                const JudgedElement& element) {
    if (element.bounds.allowed.Unbounded()) return;
    const LaneView& view = views.at(tensor);
    const double expected =
        ElementValue(view.lane, ElementBits(view, element.index));
    const double apart = std::fabs(element.produced - expected);
    const bool same = element.produced == expected ||
                      (std::isnan(element.produced) && std::isnan(expected));
    within = within && element.bounds.allowed.Contains(element.produced) &&
             (same || apart <= kNotable * largest[tensor]);
  });
  return within;
}

// Whether probes that were not met, or not wanted, would have shown the bug.
bool CaughtByProbes(const CaseRequest& request, Candidate& canary,
                    JudgeOptions options) {
  if (options.probes && !options.only_probes) return false;
  options.probes = true;
  options.only_probes.reset();
  return JudgeCase(request, canary, options, nullptr).verdict == Verdict::kFail;
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
  nested.only_verdict = true;
  nested.causes = false;
  nested.canaries = false;
  nested.invariance = false;
  nested.evidence = false;
  nested.require_executed = false;
  const auto specs = trial.kernels().Canaries();
  const auto right = Answer(trial.kernels().CorrectKernel(), request, trial);
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
    if (!caught && !bits &&
        WithinRights(trial, *nested.profile, *right, *wrong) &&
        !CaughtByProbes(asked, *candidate.value(), nested)) {
      continue;
    }
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
