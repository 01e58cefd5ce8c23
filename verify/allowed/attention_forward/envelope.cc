#include "verify/allowed/attention_forward/envelope.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "reference/contract/numerics.h"
#include "verify/allowed/rounding.h"
#include "verify/base/binary64.h"
#include "verify/base/magnitude.h"

namespace lockstep::verify {
namespace {

// Errors of ln(weight) above it are no random walk of the result.
constexpr double kLinear = 0.25;

enum class Direction { kNearest, kDown, kUp };

// 2^exponent. Requires: a normal number.
double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// The whole number next to `steps`. Requires: |steps| < 2^51. Adding and taking
// away 3 * 2^51 rounds to nearest even without a call into libm.
double Whole(double steps, Direction direction) {
  const double nearest = (steps + 0x1.8p52) - 0x1.8p52;
  if (direction == Direction::kDown && nearest > steps) return nearest - 1;
  if (direction == Direction::kUp && nearest < steps) return nearest + 1;
  return nearest;
}

// One number of the lane next to x, without an intermediate rounding.
double RoundOnce(double x, Lane lane, Direction direction) {
  if (!std::isfinite(x) || x == 0) return x;
  const auto biased =
      static_cast<int>(std::bit_cast<uint64_t>(x) >> 52 & 0x7ff);
  const LaneRow& row = LaneRowOf(lane);
  const int exponent = std::max(biased - 1023, row.min_exponent);
  const int unit = exponent - row.digits + 1;
  const double steps = x * PowerOfTwo(-unit);  // exact, below 2^24
  const double rounded = Whole(steps, direction) * PowerOfTwo(unit);
  if (std::fabs(rounded) <= row.largest) return rounded;
  if (rounded > 0 && direction == Direction::kDown) return row.largest;
  if (rounded < 0 && direction == Direction::kUp) return -row.largest;
  return std::copysign(kInf, rounded);
}

// What may stand in a row that the profile says nothing about.
Bounds OfExcluded(const oracle::RowTruth& row, double truth) {
  return row.kind == oracle::RowKind::kEmpty ? Unclaimed(truth)
                                             : Anything(truth);
}

// Weights below it stay finite, whatever rounds them.
constexpr double kLargestWeight = 0x1p125;

// The smallest and the largest of the scales, if there are any.
void AddEnds(const KeyScaleView& scales, double* least, double* largest) {
  if (scales.data == nullptr) return;
  for (int64_t b = 0; b < scales.shape[0]; ++b) {
    for (int64_t h = 0; h < scales.shape[1]; ++h) {
      for (int64_t n = 0; n < scales.shape[2]; ++n) {
        const auto x = static_cast<double>(scales(b, h, n));
        *least = std::min(*least, x);
        *largest = std::max(*largest, x);
      }
    }
  }
}

}  // namespace

InputRange RangeOf(const AttentionForwardInputs& inputs,
                   const NumericProfile& profile) {
  const bool scaled_q =
      profile.scale_at == ScaleAt::kQLane || profile.scale_at == ScaleAt::kQF32;
  const bool matters = profile.ftz || scaled_q ||
                       profile.score == NumberType::kF16 ||
                       profile.operand_qk != NumberType::kF32 ||
                       profile.operand_v != NumberType::kF32;
  InputRange range;
  if (matters) {
    range = {MagnitudeOf(inputs.q).largest, MagnitudeOf(inputs.k).largest,
             MagnitudeOf(inputs.v).largest};
  }
  AddEnds(inputs.k_scale, &range.least_k_scale, &range.largest_k_scale);
  AddEnds(inputs.v_scale, &range.least_scale, &range.largest_scale);
  AddEnds(inputs.q_scale, &range.least_q_scale, &range.largest_q_scale);
  return range;
}

ValueSet RoundedSet(double lo, double hi, Lane lane, Rounding rounding) {
  if (!(lo <= hi)) return kAnything;
  Direction down = Direction::kNearest;
  Direction up = Direction::kNearest;
  if (rounding == Rounding::kFaithful) {
    down = Direction::kDown;
    up = Direction::kUp;
  } else if (rounding == Rounding::kTruncate) {
    down = lo < 0 ? Direction::kUp : Direction::kDown;
    up = hi < 0 ? Direction::kUp : Direction::kDown;
  }
  return {RoundOnce(lo, lane, down), RoundOnce(hi, lane, up), false};
}

double LseUnit(const NumericProfile& profile) {
  return profile.lse_base == ExpBase::kTwo ? kLog2E : 1;
}

ValueSet StoredLse(const NumericProfile& profile, double lse, double error) {
  const double unit = LseUnit(profile);
  lse *= unit;
  // Another base costs a rounded constant and a product.
  if (unit != 1) error = error * unit * kRoundUp + 4 * 0x1p-24 * std::fabs(lse);
  const Lane lane = profile.lse == LseLane::kBf16 ? Lane::kBf16 : Lane::kF32;
  return RoundedSet(lse - error, lse + error, lane, Rounding::kNearest);
}

AttentionEnvelope::AttentionEnvelope(const NumericProfile& profile,
                                     const AttentionForwardProblem& problem,
                                     double elements, double false_alarms,
                                     const InputRange& range)
    : profile_(profile),
      problem_(problem),
      model_(MakeEnvelopeModel(profile, problem, range)),
      lambda_(std::sqrt(2 * LogDouble(2 * std::max(elements, 1.0) /
                                      std::clamp(false_alarms, 1e-12, 1.0)))) {}

// Rows that the profile says nothing about.
bool AttentionEnvelope::Excluded(const oracle::RowTruth& row) const {
  const bool bounded =
      !model_.unbounded && row.largest_product < model_.largest;
  if (row.kind == oracle::RowKind::kOrdinary) return !bounded;
  if (row.kind == oracle::RowKind::kNaN) {
    return profile_.nan == NanPolicy::kUnspecified;
  }
  return profile_.empty_row == EmptyRow::kMeanVisited ||
         profile_.empty_row == EmptyRow::kUnspecified;
}

// Splits a part of the slack that came through the weights.
void AttentionEnvelope::ShareWeights(const oracle::RowTruth& row, double amount,
                                     CauseAmounts* shares) const {
  std::array<CauseAmounts, 5> amounts = model_.amounts;
  for (size_t i = 0; i < kCauses; ++i) {
    amounts[0][i] += row.rescales * model_.rescale_amounts[i] +
                     row.largest_score * (1 + 2 * row.rescales) *
                         model_.reference_amounts[i];
  }
  double total = row.floor;
  for (const double part : row.parts) total += part;
  if (!(total > 0)) return;
  const auto underflow = static_cast<size_t>(Cause::kUnderflow);
  (*shares)[underflow] += amount * row.floor / total;
  for (size_t k = 0; k < 5; ++k) {
    double sum = 0;
    for (const double a : amounts[k]) sum += a;
    if (!(sum > 0)) continue;
    for (size_t i = 0; i < kCauses; ++i) {
      (*shares)[i] += amount * row.parts[k] / total * amounts[k][i] / sum;
    }
  }
}

RowSlack AttentionEnvelope::ForRow(const oracle::RowTruth& row) const {
  RowSlack slack;
  slack.excluded = Excluded(row);
  if (slack.excluded || row.kind != oracle::RowKind::kOrdinary) return slack;
  const double n = static_cast<double>(row.visible) + 1;  // the sink
  slack.numerator = model_.Numerator(n, row.rescales) + row.own_error;
  slack.denominator = model_.Denominator(n, row.rescales) + row.own_error;
  slack.least = ExpDouble(-row.eta) * (1 - slack.denominator) - row.floor;
  const bool early = model_.largest_early > 0 &&
                     !(row.largest_value * static_cast<double>(row.visible) *
                           model_.early_weight <
                       model_.largest_early);
  if (model_.weights.fixed_reference) {
    slack.raise = ExpDouble(row.max - *model_.weights.fixed_reference);
  }
  slack.bounded = slack.least > 0 && row.eta < 700 && !early &&
                  row.weight_sum * slack.raise < model_.largest_sum;
  const double growth =
      model_.weights.fixed_reference
          ? ExpDouble(
                std::min(*model_.weights.fixed_reference - row.max, 700.0))
          : 1.0;
  slack.tiny = (n + 2 * row.rescales + 4) * model_.tiny *
                   std::max(growth / row.weight_sum, model_.least_growth) +
               model_.operand_flush;
  const double steps = row.equal_values * model_.pv.walk * model_.pv.walk +
                       row.equal_weights * model_.l.walk * model_.l.walk;
  slack.walk = (n + 2 * row.rescales + 20) * steps +
               (row.rescales + 1) * model_.state * model_.state;
  return slack;
}

double AttentionEnvelope::Variance(const oracle::AttentionTruth& truth,
                                   size_t r, size_t c,
                                   const RowSlack& slack) const {
  const size_t at = r * static_cast<size_t>(truth.value_dim) + c;
  const double size = std::fabs(truth.o[at]);
  const double both = truth.abs_sum[at] + size;
  const double p = model_.numerator_weight;
  return truth.spread_sum[at] + p * p / 3 * truth.square_sum[at] +
         slack.walk * both * both +
         model_.division * model_.division * size * size;
}

// What sums that are cut towards zero may lack: all of it in one direction.
// Partial sums are seldom beyond four deviations of a sum of terms of random
// signs, and one term.
double AttentionEnvelope::CutOff(const oracle::RowTruth& row, double size,
                                 double square_sum) const {
  if (!model_.Cut()) return 0;
  const auto steps = [&](const EnvelopeModel::Sum& sum) {
    return sum.cuts > 0
               ? static_cast<double>(row.visible) * (2 * kU + 2 * sum.term)
               : 0;
  };
  const double scores =
      model_.cut_score * std::fabs(problem_.scale) * row.largest_product;
  return (steps(model_.pv) + steps(model_.l) + scores) *
         (size + 4 * std::sqrt(square_sum) +
          row.visible_value / row.weight_sum);
}

// Errors of an element as a random walk makes them, or `error` where that
// does not hold: squares add up only where errors are independent and small
// enough to be linear.
double AttentionEnvelope::Likely(const oracle::AttentionTruth& truth, size_t r,
                                 size_t c, const RowSlack& slack,
                                 double error) const {
  const oracle::RowTruth& row = truth.rows[r];
  if (model_.biased || model_.correlated || !(row.eta + row.unsure < kLinear)) {
    return error;
  }
  const size_t at = r * static_cast<size_t>(truth.value_dim) + c;
  const double size = std::fabs(truth.o[at]);
  const double both = truth.abs_sum[at] + size;
  const double rest = row.own_error * both + model_.common_weight * size +
                      slack.tiny + 2 * model_.tiny + model_.flush +
                      CutOff(row, size, truth.square_sum[at]);
  const double walk = lambda_ * std::sqrt(Variance(truth, r, c, slack));
  return std::min(error, (walk + rest) * kRoundUp);
}

Bounds AttentionEnvelope::Output(const oracle::AttentionTruth& truth, size_t r,
                                 size_t c, const RowSlack& slack,
                                 CauseAmounts* shares) const {
  const oracle::RowTruth& row = truth.rows[r];
  const size_t at = r * static_cast<size_t>(truth.value_dim) + c;
  const double o = truth.o[at];
  if (slack.excluded) return OfExcluded(row, o);
  if (row.kind != oracle::RowKind::kOrdinary) return Only(o);
  if (!std::isfinite(o)) {
    if (profile_.nan == NanPolicy::kUnspecified) return Anything(o);
    Bounds bounds = Only(o);
    // Its weight, or a rescale's factor, may have underflowed: 0 * inf.
    bounds.allowed.nan = bounds.likely.nan = true;
    return bounds;
  }
  const double size = std::fabs(o);
  const double abs_sum = truth.abs_sum[at];
  const double phi_sum = truth.phi_sum[at];
  if (!(abs_sum * row.weight_sum * slack.raise < model_.largest_sum) ||
      !(std::max(slack.raise, model_.early_weight) * model_.value_scale <
        kLargestWeight)) {
    return Anything(o);
  }
  if (!slack.bounded) return WideOutput(truth, r, c, slack, shares);
  OutputParts parts;
  parts.numerator = slack.numerator * (abs_sum + phi_sum + size * row.phi);
  parts.denominator = size * slack.denominator * (1 + row.phi);
  parts.weights = phi_sum + size * row.floor;
  const double before =
      (parts.weights + parts.numerator + parts.denominator + slack.tiny) /
      slack.least;
  parts.division = (size + before) * model_.division;
  const double error =
      (before + parts.division + 2 * model_.tiny + model_.flush) * kRoundUp;
  if (!(error < kInf)) return WideOutput(truth, r, c, slack, shares);
  const double likely =
      truth.likely ? Likely(truth, r, c, slack, error) : error;
  if (shares != nullptr && error > 0) {
    ShareOutput(row, slack, parts, size, error, shares);
  }
  const auto rounded = [&](double within) {
    return RoundedSet(o - within, o + within, problem_.lane,
                      profile_.out_round);
  };
  const ValueSet allowed = rounded(error);
  return {allowed, likely == error ? allowed : rounded(likely),
          o,       error,
          likely,  error > VacuousError(row)};
}

void AttentionEnvelope::ShareOutput(const oracle::RowTruth& row,
                                    const RowSlack& slack,
                                    const OutputParts& parts, double size,
                                    double error, CauseAmounts* shares) const {
  const double rounding = size * LaneRowOf(problem_.lane).roundoff;
  const double total = error + rounding;
  const auto add = [&](Cause cause, double amount) {
    (*shares)[static_cast<size_t>(cause)] += amount / total;
  };
  const double own = std::min(row.own_error / slack.numerator, 1.0);
  ShareWeights(row, parts.weights / slack.least / total, shares);
  double weight = 0;
  for (size_t i = 0; i < kCauses; ++i) {
    const double part =
        std::min(model_.numerator_amounts[i] / slack.numerator, 1.0);
    add(static_cast<Cause>(i), parts.numerator * part / slack.least);
    weight += part;
  }
  add(Cause::kOracle, parts.numerator * own / slack.least);
  add(Cause::kAccPv,
      parts.numerator * std::max(1 - weight - own, 0.0) / slack.least);
  add(Cause::kAccL, parts.denominator / slack.least);
  add(Cause::kUnderflow,
      slack.tiny / slack.least + 2 * model_.tiny + model_.flush);
  add(Cause::kDivision, parts.division);
  add(Cause::kOutRound, rounding);
}

Bounds AttentionEnvelope::Lse(const oracle::AttentionTruth& truth, size_t r,
                              CauseAmounts* shares) const {
  const oracle::RowTruth& row = truth.rows[r];
  if (Excluded(row)) return OfExcluded(row, row.lse);
  // Sums without a maximum may leave f32.
  if (model_.weights.fixed_reference &&
      !(row.weight_sum * ForRow(row).raise < model_.largest_sum)) {
    return Anything(row.lse);
  }
  if (!std::isfinite(row.lse)) {
    if (row.kind != oracle::RowKind::kEmpty) return Only(row.lse);
    if (profile_.empty_row == EmptyRow::kZeroZero) return Only(0);
    return Only(profile_.empty_row == EmptyRow::kZeroPosInf ? kInf : row.lse);
  }
  const double n = static_cast<double>(row.visible) + 1;
  const double denominator =
      model_.Denominator(n, row.rescales) + row.own_error;
  double least = ExpDouble(-row.eta) * (1 - denominator) - row.floor;
  double most = row.phi + denominator;
  const bool wide = !(least > 0);
  if (wide) {
    const std::optional<CrudeSum> crude = CrudeSumOf(row);
    if (!crude) return Anything(row.lse);
    least = crude->least;
    most = crude->most;
  }
  // log of the factor between the two sums, whichever way is further.
  const double sum = std::max(most, -LogDouble(least));
  const double log = std::fabs(LogDouble(row.weight_sum));
  const double rounding =
      6 * kU * (std::fabs(row.max) + log + std::fabs(row.lse));
  const double fixed = model_.weights.fixed_reference
                           ? 6 * kU * std::fabs(*model_.weights.fixed_reference)
                           : 0;
  const double function =
      model_.log * (1 + log + (fixed > 0 ? std::fabs(row.max) : 0));
  const double error =
      (sum + rounding + fixed + function + model_.flush) * kRoundUp + 0x1p-140;
  if (shares != nullptr) {
    const auto add = [&](Cause cause, double amount) {
      (*shares)[static_cast<size_t>(cause)] += amount / error;
    };
    const double weights = std::min(row.phi, sum);
    ShareWeights(row, weights / error, shares);
    add(Cause::kAccL, sum - weights);
    add(Cause::kDivision, function);
    add(Cause::kOutRound, rounding + fixed);
  }
  const ValueSet set = StoredLse(profile_, row.lse, error);
  const double unit = LseUnit(profile_);
  return {set, set, row.lse * unit, error * unit, error * unit, wide};
}

}  // namespace lockstep::verify
