#include "verify/allowed/mamba3_scan/envelope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/rounding.h"

namespace lockstep::verify {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

// Half the distance of neighbours below 8 > 2 pi.
double StoredAngle(NumberType type) {
  return 4 * std::max(ConversionTo(type), kU);
}

// Tokens over which a kernel that reduces its angles may add rates before it
// does: its chunk; 64, as public kernels have it, where any chunk is declared.
int64_t LongestAngleSum(const ScanNumeric& s) {
  return s.chunk > 0 ? s.chunk : 64;
}

void AddAngles(const NumericProfile& profile, int64_t chunk,
               oracle::ScanErrors* e) {
  const ScanNumeric& s = *profile.scan;
  e->trig = s.trig_abs + 4 * kU;
  // The rate's four roundings, pi's and, in turns, the sum's part of the rate.
  e->tanh = profile.tanh_rel + 6 * kU;
  e->carry_angle = StoredAngle(s.angle_carry) + 16 * kU;
  const bool chunked = s.form == ScanForm::kChunked;
  switch (s.angle_form) {
    case AngleForm::kTurns:
      // A sum below 2 turns; the reduction is exact.
      e->angle_step = kTwoPi * 2 * kU;
      break;
    case AngleForm::kRadians:
      // 2 pi and a rate: their sum, times an f32 2 pi, that product, and what
      // is left, each rounded.
      e->angle_step = 3.5 * kTwoPi * kU;
      e->angle_reduce = 2.5 * kU;
      e->angle_add = kU;
      e->angle_chunk = chunked ? std::min(chunk, LongestAngleSum(s)) : 1;
      e->angle_sum = chunked ? Roundoffs(e->angle_chunk + 4) : 0;
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

// Half of the smallest f16.
constexpr double kF16Tiny = SpacingOf(NumberType::kF16) / 2;

// Every type that a number is rounded to before it reaches y; gradients have
// more.
std::array<NumberType, 16> TypesOf(const ScanNumeric& s) {
  return {s.angle,   s.angle_carry, s.lambda, s.dt,        s.weight, s.param,
          s.query,   s.key,         s.scaled, s.carry_key, s.score,  s.state,
          s.decayed, s.diagonal,    s.gate,   s.rank_sum};
}

bool HasF16(const ScanNumeric& s) {
  return std::ranges::count(TypesOf(s), NumberType::kF16) > 0;
}

bool AllF32(const ScanNumeric& s) {
  return std::ranges::count(TypesOf(s), NumberType::kF32) ==
         std::ssize(TypesOf(s));
}

}  // namespace

void TakeF16(oracle::ScanErrors* errors) {
  errors->tiny = kF16Tiny;
  errors->floor = std::ldexp(1.0, LaneRowOf(Lane::kF16).min_exponent);
  errors->largest = kF16Largest;
}

double OperandError(const ScanNumeric& s, NumberType type) {
  return ConversionTo(type) *
         (s.operand_round == OperandRound::kTruncate ? 2 : 1);
}

oracle::ScanErrors ScanErrorsOf(const NumericProfile& profile,
                                const Mamba3ScanProblem& problem) {
  const ScanNumeric& s = *profile.scan;
  const int64_t ranks = problem.ranks;
  const int64_t chunk =
      s.form == ScanForm::kRecurrent
          ? 1
          : std::min(s.chunk > 0 ? s.chunk : problem.length, problem.length);
  const NumberType rotated = NumberTypeOf(problem.rotated_lane);
  const double turned = ConversionTo(rotated);
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
  e.query = 4 * kU + OperandError(s, s.query) + turned;
  e.key = 4 * kU + OperandError(s, s.key) + turned;
  // Token by token the carried k is the next token's.
  if (s.form == ScanForm::kRecurrent) e.key += ConversionTo(s.carry_key);
  e.scaled = kU + OperandError(s, s.scaled);
  e.carry_key = kU + ConversionTo(s.carry_key);
  e.input = Roundoffs(ranks * chunk + 8) + OperandError(s, s.decayed);
  e.output = Roundoffs(problem.state_dim + ranks * chunk + 8) +
             std::max(OperandError(s, s.score), OperandError(s, s.state));
  e.diagonal = s.diagonal_rel + Roundoffs(4) +
               static_cast<double>(ranks + 3) * ConversionTo(s.diagonal);
  e.gate = 2 * s.sigmoid_rel + 8 * kU + ConversionTo(s.gate);
  e.rank = static_cast<double>(ranks + 2) * (kU + ConversionTo(s.rank_sum));
  e.norm = Roundoffs(problem.head_dim + 8);
  // The smallest bf16, which TF32 cut to it does not exceed, or half of the
  // smallest f32, or what a flush loses.
  const bool narrow = problem.lane == Lane::kBf16 || turned > 0 || !AllF32(s);
  e.tiny = profile.ftz ? 0x1p-126 : narrow ? 0x1p-133 : 0x1p-148;
  if (HasF16(s) || rotated == NumberType::kF16) TakeF16(&e);
  e.nan_reach = profile.masked_nan_safe == MaskedNan::kNo ? chunk - 1 : 0;
  e.nan_propagates = profile.nan == NanPolicy::kPropagate;
  return e;
}

namespace {

// Whether the element is NaN whatever the order of sums, and has to be.
bool IsNaN(const oracle::ScanTruth& truth, ScanOutput output, size_t i) {
  const auto is = [i](const std::vector<bool>& flags) {
    return !flags.empty() && flags[i];
  };
  switch (output) {
    case ScanOutput::kY:
      return is(truth.y_nan);
    case ScanOutput::kTheta:
      return is(truth.theta_nan);
    case ScanOutput::kH:
      return is(truth.h_nan);
    case ScanOutput::kK:
      return is(truth.k_nan);
    case ScanOutput::kV:
      break;  // a copy
  }
  return false;
}

}  // namespace

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
  if (IsNaN(truth, output, i)) {
    bounds.allowed = bounds.likely = {1, -1, true};
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
  // What is cut off has one sign: that is no random walk.
  const bool random = profile.scan->operand_round == OperandRound::kNearest;
  if (companion > 0 && size > 0 && random) {
    const LaneRow& of = LaneRowOf(lane);
    const double least = std::max(0x1p-126, of.smallest);
    bounds.likely_error = std::min(
        bounds.error, (companion * of.roundoff + drift) * size + least);
  }
  const double t = bounds.truth;
  bounds.allowed = RoundedSet(t - bounds.error, t + bounds.error, rounded,
                              profile.out_round);
  bounds.likely = RoundedSet(t - bounds.likely_error, t + bounds.likely_error,
                             rounded, profile.out_round);
  return bounds;
}

}  // namespace lockstep::verify
