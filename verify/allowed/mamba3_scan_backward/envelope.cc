#include "verify/allowed/mamba3_scan_backward/envelope.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/mamba3_scan/envelope.h"
#include "verify/allowed/mamba3_scan/probes.h"

namespace lockstep::verify {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kU = 0x1p-24;  // unit roundoff of f32
// Below it values are what underflow leaves.
constexpr double kNegligible = 0x1p-100;

// Of a conversion to the type; an f32 value is converted without one.
double Cast(NumberType type) {
  return type == NumberType::kF32 ? 0 : UnitRoundoff(type);
}
double Count(int64_t n) { return static_cast<double>(n) * kU; }

}  // namespace

oracle::GradientErrors GradientErrorsOf(
    const NumericProfile& profile, const Mamba3ScanBackwardProblem& problem,
    std::optional<ProbeKind> probe) {
  const Mamba3ScanProblem& p = problem.forward;
  const ScanNumeric& s = *profile.scan;
  oracle::GradientErrors e;
  e.scan =
      probe ? ScanProbeErrors(*probe, profile, p) : ScanErrorsOf(profile, p);
  const int64_t chunk = std::max<int64_t>(e.scan.chunk, 1);
  e.cotangent = kU + Cast(s.grad_do);
  const double operand =
      std::max({Cast(s.grad_state), Cast(s.state), Cast(s.score)}) +
      Cast(s.decayed);
  e.read =
      Count(std::max(p.state_dim, p.head_dim) + p.ranks * chunk + 8) + operand;
  e.enter = e.scan.input + e.scan.output;
  e.sum = Count(2 * p.ranks + 4);
  return e;
}

Bounds GradientBounds(const NumericProfile& profile, const GradientSum& sum) {
  const double t = sum.value;
  const double partial = sum.of_heads ? Cast(profile.scan->grad_partial) : 0;
  const double growth =
      Count(sum.parts + 8) + static_cast<double>(sum.parts + 1) * partial;
  double error = sum.error + (sum.size + sum.error) * growth;
  if (profile.ftz) error += 0x1p-125;
  if (!(error < kInf) || t != t) {
    const ValueSet all = {-kInf, kInf, true};
    return {all, all, t, kInf, kInf};
  }
  Bounds bounds;
  bounds.truth = t;
  bounds.error = bounds.likely_error = error;
  bounds.vacuous = error > sum.size / 2 + kNegligible;
  bounds.allowed = bounds.likely =
      RoundedSet(t - error, t + error, sum.lane, profile.out_round);
  return bounds;
}

}  // namespace lockstep::verify
