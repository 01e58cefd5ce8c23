// What the probes of scans allow. Their inputs:
// verify/inputs/mamba3_scan/probe.h.
#include "verify/allowed/mamba3_scan/probes.h"

#include <cmath>

#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/rounding.h"

namespace lockstep::verify {
namespace {

// Steps of y, h and k are 1.
constexpr double kEighth = 0.125;
// Above it a declared error may move what the premises take as exact by so
// much that bf16 does not round it away.
constexpr double kCoarsest = 0x1p-10;
// bf16 below 8 radians, in turns.
constexpr double kStoredTurn = 0x1p-8;
// What a gate of -64 leaves, or a decay of exp(-16), of at most 237.
constexpr double kLeft = 0x1p-12;

// A set and nothing likelier.
Bounds Proof(const ValueSet& set, double truth, double error) {
  Bounds bounds;
  bounds.allowed = bounds.likely = set;
  bounds.truth = truth;
  bounds.error = bounds.likely_error = error;
  return bounds;
}

Bounds Integers(const NumericProfile& profile, const Mamba3ScanProblem& p,
                const oracle::ScanTruth& truth, const ScanElement& at) {
  double value = 0;
  double error = kEighth;
  Lane lane = Lane::kF32;
  bool vacuous = false;
  switch (at.output) {
    case ScanOutput::kY:
      value = truth.y[at.i];
      // The oracle took an eighth through norm, gate and ranks.
      error = truth.y_error[at.i] + kLeft * (p.gate ? 64 : 1);
      vacuous = p.norm_epsilon && truth.y_error[at.i] > truth.y_range[at.i];
      lane = p.lane;
      if (!(error < kInf)) return Proof({-kInf, kInf, true}, value, kInf);
      break;
    case ScanOutput::kTheta:
      value = truth.theta[at.i];
      if (std::isfinite(at.produced)) {
        value += std::nearbyint(at.produced - value);
      }
      return Proof({value - kStoredTurn, value + kStoredTurn, false}, value,
                   kStoredTurn);
    case ScanOutput::kH:
      value = truth.h[at.i];
      break;
    case ScanOutput::kK:
      value = truth.k[at.i];
      break;
    case ScanOutput::kV:
      return Proof({truth.v[at.i], truth.v[at.i], false}, truth.v[at.i], 0);
  }
  Bounds bounds =
      Proof(RoundedSet(value - error, value + error, lane, profile.out_round),
            value, error);
  bounds.vacuous = vacuous;
  return bounds;
}

}  // namespace

std::string WhyNotScanProbe(ProbeKind kind, const Mamba3ScanProblem& problem,
                            const NumericProfile& profile) {
  std::string why = WhyNotScanProbe(kind, problem);
  if (!why.empty() || !profile.scan || !ScanProbeOfIntegers(kind)) return why;
  if (profile.exp_rel > kCoarsest) return "exp_rel is above 2^-10";
  if (profile.scan->sigmoid_rel > kCoarsest) {
    return "scan.sigmoid_rel is above 2^-10";
  }
  if (profile.scan->trig_abs > kCoarsest) return "scan.trig_abs is above 2^-10";
  return "";
}

oracle::ScanErrors ScanProbeErrors(ProbeKind kind,
                                   const NumericProfile& profile,
                                   const Mamba3ScanProblem& problem) {
  oracle::ScanErrors e = ScanErrorsOf(profile, problem);
  if (ScanProbeOfIntegers(kind)) {
    // Nothing rounds in front of the norm.
    oracle::ScanErrors exact;
    exact.fixed = kEighth;
    exact.other_pairing = e.other_pairing;
    exact.tiny = e.tiny;
    if (problem.norm_epsilon) {
      exact.norm = e.norm;
      exact.gate = e.gate;
      exact.rank = e.rank;
    }
    return exact;
  }
  // tanh of 20; the roundings of the rate stay.
  e.tanh -= profile.tanh_rel;
  if (kind == ProbeKind::kHalves) {
    // Angles are 0, whatever they are stored in.
    e.angle_step = e.angle_store = e.angle_start = e.angle_sum = 0;
    e.angle_add = e.angle_reduce = 0;
  }
  return e;
}

Bounds ScanProbeBounds(ProbeKind kind, const NumericProfile& profile,
                       const Mamba3ScanProblem& problem,
                       const oracle::ScanTruth& truth,
                       const ScanElement& element) {
  if (ScanProbeOfIntegers(kind))
    return Integers(profile, problem, truth, element);
  Bounds bounds = ScanBounds(profile, problem.lane, truth, element.output,
                             element.i, element.produced);
  bounds.likely = bounds.allowed;
  return bounds;
}

}  // namespace lockstep::verify
