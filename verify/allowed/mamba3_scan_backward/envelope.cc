#include "verify/allowed/mamba3_scan_backward/envelope.h"

#include <algorithm>

#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/mamba3_scan/envelope.h"
#include "verify/allowed/mamba3_scan/probes.h"
#include "verify/allowed/rounding.h"

namespace lockstep::verify {
oracle::GradientErrors GradientErrorsOf(
    const NumericProfile& profile, const Mamba3ScanBackwardProblem& problem,
    std::optional<ProbeKind> probe) {
  const Mamba3ScanProblem& p = problem.forward;
  const ScanNumeric& s = *profile.scan;
  oracle::GradientErrors e;
  e.scan =
      probe ? ScanProbeErrors(*probe, profile, p) : ScanErrorsOf(profile, p);
  for (const NumberType type : {s.grad_do, s.grad_state, s.grad_partial}) {
    const bool f16 = type == NumberType::kF16;
    // Sums of integers stay in range.
    const bool integers = probe && ScanProbeOfIntegers(*probe);
    if (f16 && !integers) TakeF16(&e.scan);
    const double tiny = f16                        ? SpacingOf(type) / 2
                        : type == NumberType::kF32 ? 0
                                                   : 0x1p-133;
    e.scan.tiny = std::max(e.scan.tiny, tiny);
  }
  const int64_t chunk = std::max<int64_t>(e.scan.chunk, 1);
  e.cotangent = kU + OperandError(s, s.grad_do);
  const double operand =
      std::max({OperandError(s, s.grad_state), OperandError(s, s.state),
                OperandError(s, s.score)}) +
      OperandError(s, s.decayed);
  e.read = Roundoffs(std::max(p.state_dim, p.head_dim) + p.ranks * chunk + 8) +
           operand;
  e.enter = e.scan.input + e.scan.output;
  e.sum = Roundoffs(2 * p.ranks + 4);
  return e;
}

Bounds GradientBounds(const NumericProfile& profile, const GradientSum& sum) {
  const double t = sum.value;
  const NumberType type =
      sum.of_heads ? profile.scan->grad_partial : NumberType::kF32;
  const double partial = ConversionTo(type);
  const double growth =
      Roundoffs(sum.parts + 8) + static_cast<double>(sum.parts + 1) * partial;
  double error = sum.error + (sum.size + sum.error) * growth;
  if (type == NumberType::kF16) {
    error += static_cast<double>(sum.parts + 1) * SpacingOf(type) / 2;
    if (!(sum.size + error < kF16Largest)) error = kInf;
  }
  if (profile.ftz) error += 0x1p-125;
  if (sum.unclaimed) return Unclaimed(t);
  if (!(error < kInf) || t != t) return Anything(t);
  Bounds bounds;
  bounds.truth = t;
  bounds.error = bounds.likely_error = error;
  bounds.vacuous = error > sum.size / 2 + kNegligible;
  bounds.allowed = bounds.likely =
      RoundedSet(t - error, t + error, sum.lane, profile.out_round);
  return bounds;
}

}  // namespace lockstep::verify
