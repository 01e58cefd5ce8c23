#include "verify/allowed/mamba3_scan/envelope.h"

#include <algorithm>
#include <cmath>

#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/rounding.h"

namespace lockstep::verify {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

// Half the distance of neighbours below 8 > 2 pi.
double StoredAngle(NumberType type) {
  return 4 * std::max(ConversionTo(type), kU);
}

void AddAngles(const NumericProfile& profile, int64_t chunk,
               oracle::ScanErrors* e) {
  const ScanNumeric& s = *profile.scan;
  e->trig = s.trig_abs + 4 * kU;
  // The rate's three roundings and pi's; a reduction's products with 2 pi.
  e->tanh = profile.tanh_rel + 10 * kU;
  e->carry_angle = StoredAngle(s.angle_carry) + 16 * kU;
  switch (s.angle_form) {
    case AngleForm::kTurns:
      // A sum below 2 turns; the reduction is exact.
      e->angle_step = kTwoPi * 2 * kU;
      break;
    case AngleForm::kRadians:
      e->angle_step = 40 * kU;
      e->angle_sum = s.form == ScanForm::kChunked ? Roundoffs(chunk + 4) : 0;
      e->angle_start = 16 * kU;
      break;
    case AngleForm::kUnreduced:
      e->unreduced = true;
      e->angle_step = 2 * kU;
      e->angle_start = 16 * kU;
      // Of a stored one that may be any number of turns: f32 only.
      break;
  }
  e->angle_store = StoredAngle(s.angle);
}

void AddDecays(const NumericProfile& profile, int64_t chunk,
               oracle::ScanErrors* e) {
  const ScanNumeric& s = *profile.scan;
  e->exp = profile.exp_rel + 2 * kU;
  e->prefix = s.decay == DecayForm::kPrefix;
  // exp2 of a rounded product, or sums over a chunk in any order.
  e->decay = s.decay == DecayForm::kProduct ? 4 * kU : Roundoffs(chunk + 6);
}

}  // namespace

oracle::ScanErrors ScanErrorsOf(const NumericProfile& profile,
                                const Mamba3ScanProblem& problem) {
  const ScanNumeric& s = *profile.scan;
  const int64_t ranks = problem.ranks;
  const int64_t chunk =
      s.form == ScanForm::kRecurrent
          ? 1
          : std::min(s.chunk > 0 ? s.chunk : problem.length, problem.length);
  const double turned =
      problem.rotated_lane == Lane::kBf16 ? ConversionTo(NumberType::kBf16) : 0;
  oracle::ScanErrors e;
  e.other_pairing = s.OtherPairing(problem.mimo());
  e.chunk = chunk;
  e.sigmoid = s.sigmoid_rel + 2 * kU + ConversionTo(s.lambda);
  e.dt = ConversionTo(s.dt);
  e.weight = 4 * kU + 2 * ConversionTo(s.weight);
  AddDecays(profile, chunk, &e);
  AddAngles(profile, chunk, &e);
  e.step = Roundoffs(2 * ranks + 4);
  e.param = ConversionTo(s.param);
  e.bias = problem.bias ? kU + ConversionTo(s.param) : 0;
  e.product = problem.mimo() ? kU + ConversionTo(s.param) : 0;
  e.query = 4 * kU + ConversionTo(s.query) + turned;
  e.key = 4 * kU + ConversionTo(s.key) + turned;
  // Token by token the carried k is the next token's.
  if (s.form == ScanForm::kRecurrent) e.key += ConversionTo(s.carry_key);
  e.scaled = kU + ConversionTo(s.scaled);
  e.carry_key = kU + ConversionTo(s.carry_key);
  e.input = Roundoffs(ranks * chunk + 8) + ConversionTo(s.decayed);
  e.output = Roundoffs(problem.state_dim + ranks * chunk + 8) +
             std::max(ConversionTo(s.score), ConversionTo(s.state));
  e.diagonal = s.diagonal_rel + Roundoffs(4) +
               static_cast<double>(ranks + 3) * ConversionTo(s.diagonal);
  e.gate = 2 * s.sigmoid_rel + 8 * kU + ConversionTo(s.gate);
  e.rank = static_cast<double>(ranks + 2) * (kU + ConversionTo(s.rank_sum));
  e.norm = Roundoffs(problem.head_dim + 8);
  // Half of the smallest bf16 or f32, or what a flush loses.
  const bool narrow =
      problem.lane == Lane::kBf16 || turned > 0 || s.score != NumberType::kF32;
  e.tiny = profile.ftz ? 0x1p-126 : narrow ? 0x1p-133 : 0x1p-148;
  return e;
}

Bounds ScanBounds(const NumericProfile& profile, Lane lane,
                  const oracle::ScanTruth& truth, ScanOutput output, size_t i,
                  double produced) {
  Bounds bounds;
  double size = 0, range = 0, drift = 0;
  switch (output) {
    case ScanOutput::kY:
      bounds.truth = truth.y[i];
      bounds.error = truth.y_error[i];
      size = truth.y_companion[i];
      range = truth.y_range[i];
      break;
    case ScanOutput::kTheta:
      bounds.truth = truth.theta[i];
      bounds.error = truth.theta_error[i];
      if (std::isfinite(produced) && std::isfinite(bounds.truth)) {
        bounds.truth += std::nearbyint(produced - bounds.truth);
      }
      range = 0.25;  // half the circle is inside
      break;
    case ScanOutput::kH:
      bounds.truth = truth.h[i];
      bounds.error = truth.h_error[i];
      size = range = truth.h_companion[i];
      // One rate has one error: what it adds up to is no random walk.
      drift = truth.angle_drift;
      break;
    case ScanOutput::kK:
      bounds.truth = truth.k[i];
      bounds.error = truth.k_error[i];
      range = truth.k_range[i];
      break;
    case ScanOutput::kV:
      // A copy: no rounding at all.
      bounds.truth = truth.v[i];
      bounds.error = 0;
      if (std::isfinite(bounds.truth)) break;
      bounds.allowed = {bounds.truth, bounds.truth,
                        bounds.truth != bounds.truth};
      bounds.likely = bounds.allowed;
      return bounds;
  }
  if (!(bounds.error < kInf) || bounds.truth != bounds.truth) {
    bounds.error = bounds.likely_error = kInf;
    bounds.allowed = bounds.likely = {-kInf, kInf, true};
    return bounds;
  }
  bounds.vacuous = bounds.error > range + kNegligible;
  const Lane rounded = output == ScanOutput::kY ? lane : Lane::kF32;
  const double companion = profile.scan->companion;
  bounds.likely_error = bounds.error;
  if (companion > 0 && size > 0) {
    const double u = lane == Lane::kF32 ? kU : 0x1p-8;
    bounds.likely_error =
        std::min(bounds.error, (companion * u + drift) * size + 0x1p-126);
  }
  const double t = bounds.truth;
  bounds.allowed = RoundedSet(t - bounds.error, t + bounds.error, rounded,
                              profile.out_round);
  bounds.likely = RoundedSet(t - bounds.likely_error, t + bounds.likely_error,
                             rounded, profile.out_round);
  return bounds;
}

}  // namespace lockstep::verify
