#include "verify/allowed/attention_forward/probe_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/allowed/rounding.h"
#include "verify/base/binary64.h"

namespace lockstep::verify {
namespace {

// Normalised parts that a profile with splits = any and normalise = deferred
// may merge; more have to be declared.
constexpr double kUndeclaredParts = 32;

double LazyThreshold(const NumericProfile& profile) {
  return profile.max.value *
         (profile.exp_base == ExpBase::kTwo ? LogDouble(2.0) : 1);
}

// Whether the exponent may subtract something else than the top keys' score.
// The thousandth: scores of a lazy maximum are compared with errors.
bool MayMissScore(double score, const NumericProfile& profile) {
  switch (profile.max.kind) {
    case MaxPolicy::Kind::kRunning:
    case MaxPolicy::Kind::kTwoPass:
      return false;
    case MaxPolicy::Kind::kLazy:
      return score > 0 && score <= LazyThreshold(profile) * 1.001 + 0.01;
    case MaxPolicy::Kind::kFixed:
      return score != profile.max.value;
    case MaxPolicy::Kind::kNone:
      break;
  }
  return score != 0;
}

// The unrounded weights of the top keys, after all rescales: each is
// G (1 + delta), |G - 1| <= off and |delta| <= apart.
struct Weights {
  double off = 0;
  double apart = 0;
};

Weights WeightsOf(double score, const NumericProfile& profile) {
  Weights w;
  // Vector bodies and scalar tails may have two exponentials.
  if (profile.exp_zero != ExpZero::kExact) w.apart = profile.exp_rel;
  w.off = w.apart;
  if (MayMissScore(score, profile)) {
    w.off = kInf;
    // References differ from part to part: e^score times e^-score is not 1.
    if (profile.max.kind == MaxPolicy::Kind::kLazy && profile.splits != 1) {
      w.apart += 2 * profile.exp_rel + 8 * kU * score;
    }
  } else if (score != 0 && profile.shift == Shift::kInteger) {
    w.off = kInf;  // some g in [1/2, 2); its rescales are exact
  } else if (score != 0 && profile.shift == Shift::kFma) {
    // The rounding of m * factor stays: half a last place of the score.
    w.off += profile.exp_rel + 4 * kU * score;
  }
  return w;
}

// Whether narrow numerators of these weights are all exactly 1.
bool RoundToOne(const Weights& w, const Conversion& to) {
  // Below 1 the spacing is half as wide, and half of that is nearest.
  return w.off == 0 || (to.unit > 0 && to.nearest && w.off < to.unit / 2);
}

// Sums: numerators, then denominators.
void SumSlack(const Weights& w, const Conversion& to,
              const NumericProfile& profile, TopSlack* slack) {
  const bool before = profile.normalise == Normalise::kBefore;
  const bool ones = w.off == 0 && w.apart == 0;
  const bool narrow_ones = to.unit > 0 && RoundToOne(w, to) && !before;
  const bool from_rounded = profile.l_from == LFrom::kRounded && to.unit > 0;
  slack->bits = to.unit > 0 ? to.bits : 24;
  // Quotients are rounded even where all weights are 1.
  const bool is_short = profile.acc_pv.guard_bits < 0;
  if (before || is_short || !(ones || narrow_ones)) {
    slack->value_step = StepOf(profile.acc_pv);
  }
  if (!(ones || (narrow_ones && from_rounded))) {
    slack->weight_step = StepOf(profile.acc_l);
  }
  // An accumulator of fewer bits than f32's holds smaller sums exactly.
  if (is_short) {
    slack->bits = std::min(slack->bits - profile.acc_pv.guard_bits, 24);
  }
  if (to.unit == 0) {
    slack->apart += 2.01 * w.apart;
    return;
  }
  if (before) {
    slack->common += to.unit;
    slack->floor = to.lost;
  } else if (!from_rounded && !ones) {
    // Numerators of 1 stand over a mean weight of at most 1 + off.
    slack->common += narrow_ones ? 1.01 * w.off : to.unit + w.apart;
  }
}

// Whether tiles or parts are multiplied by an exp(0) that is not 1.
bool Drifts(const NumericProfile& profile) {
  const bool moves = profile.max.kind == MaxPolicy::Kind::kRunning ||
                     profile.max.kind == MaxPolicy::Kind::kLazy ||
                     profile.splits != 1;
  return profile.exp_zero == ExpZero::kRel && moves;
}

// Parts that are normalised, then merged by weights that come from their lse.
void MergeSlack(double score, const AttentionForwardProblem& p,
                const NumericProfile& profile, TopSlack* slack) {
  const bool eager = profile.normalise == Normalise::kEager;
  const double n = LogDouble(static_cast<double>(p.kv_len) + 1);
  if (profile.splits != 1) {
    // Five roundings on the way to natural units, one of the sum; the part's
    // own lse and the difference to the row's.
    const double lse = 6 * kU * (score + n) + (profile.log_rel + kU) * (1 + n);
    slack->merge =
        2 * lse + profile.exp_rel + 8 * kU + 2 * profile.division_rel;
    slack->merge_step = 3 * kU;
    slack->parts = static_cast<double>(profile.splits);
    if (profile.splits == 0 && !eager) slack->parts = kUndeclaredParts;
  }
  // Old o times l / l', plus new o over l': two quotients, a product, a sum.
  if (eager) slack->tile_step += 8 * kU + 2 * profile.division_rel;
}

// TopSlack::lone. Weights of 1 make the row's one value o itself: a part's lse
// is then that of the row, and a division by 1 is exact. Other weights meet a
// product, a quotient and its reciprocal.
double LoneError(double score, const Weights& w, const Conversion& to,
                 const NumericProfile& profile) {
  const bool ones = w.off == 0 && w.apart == 0;
  const bool merged = profile.splits != 1 && !(ones && score == 0);
  if (merged || profile.p == NumberType::kE4m3) return kInf;
  if (ones) return 2 * profile.division_rel;
  const bool again = profile.normalise == Normalise::kEager || Drifts(profile);
  if (again || to.unit > 0) return kInf;
  return 3 * kU + 2 * StepOf(profile.acc_pv) + 2 * profile.division_rel;
}

}  // namespace

Conversion ConversionOf(const AttentionForwardProblem& p,
                        const NumericProfile& profile) {
  NumberType type = profile.p;
  if (type == NumberType::kCase) type = WeightTypeOf(p.p_lane);
  Conversion c;
  if (type == NumberType::kF32) return c;
  c.nearest = profile.p_round == Rounding::kNearest;
  c.unit = UnitRoundoff(type) * (c.nearest ? 1 : 2);
  c.bits = -std::ilogb(UnitRoundoff(type));
  if (type == NumberType::kF16) {
    // Below 2^-14 f16 has the fixed spacing 2^-24.
    c.lost = profile.ftz ? 0x1p-14 : c.nearest ? 0x1p-25 : 0x1p-24;
    c.least = ExpDouble(-9);
    c.largest = ExpDouble(9);
  }
  if (type == NumberType::kE4m3) {
    c.lost = 0x1p-10 / profile.p_scale;
    c.least = 0x1p-6 / profile.p_scale;
    c.largest = kLargestWeightScale / profile.p_scale;
  }
  return c;
}

double StepOf(const Accumulator& how) {
  switch (how.kind) {
    case Accumulator::Kind::kTrunc32:
      return 2 * kU;
    case Accumulator::Kind::kMma:
      // Each of K products and the accumulator is cut once, then all to f32.
      return (how.width + 1) * std::ldexp(1.0, -23 - how.guard_bits) +
             how.last_place();
    default:
      return kU;
  }
}

ProbeError TopSlack::For(const ProbeRow& row) const {
  const double most_tiles = tiles > 0 ? std::min(tiles, row.keys) : row.keys;
  const double steps =
      17 + (chain > 0 ? std::min(chain + most_tiles + 1, row.keys) : row.keys);
  const double most_parts = parts > 0 ? std::min(parts, row.keys) : row.keys;
  const double weight_sum = Gamma(steps, weight_step);
  const bool exact = row.abs_sum < ExactBelow() && bits < 24;
  double value_sum = 0;
  if (!exact) value_sum = Gamma(steps, value_step);
  const double on_the_way = apart + merge + Gamma(most_parts, merge_step) +
                            Gamma(most_tiles, tile_step);
  ProbeError error;
  const double shared = common + floor * row.top;
  error.relative = shared + weight_sum * (1 + shared);
  error.absolute =
      (value_sum + on_the_way * (1 + value_sum)) * (1 + error.relative);
  return error;
}

TopSlack MakeTopSlack(double score, const AttentionForwardProblem& problem,
                      const NumericProfile& profile) {
  TopSlack slack;
  const Weights weights = WeightsOf(score, profile);
  const Conversion to = ConversionOf(problem, profile);
  // At most three roundings of the division, or one more of a quotient; two of
  // the products with p_scale and with what it is divided by.
  slack.common = 0x1p-21 + 2 * profile.division_rel;
  if (profile.p == NumberType::kE4m3) slack.common += 2 * kU;
  slack.chain = static_cast<double>(profile.chain_kv);
  if (profile.tile_kv > 0) {
    const int64_t whole_tiles = problem.kv_len / profile.tile_kv;
    slack.tiles = static_cast<double>(whole_tiles) + 2;
  }
  SumSlack(weights, to, profile, &slack);
  MergeSlack(score, problem, profile, &slack);
  slack.lone = LoneError(score, weights, to, profile);
  // Keys of early tiles carry the factors of all later ones, and of the merge.
  if (Drifts(profile)) {
    slack.tile_step += 2 * (profile.exp_rel + 2 * kU);
    slack.merge += 2 * profile.exp_rel;
    slack.value_step = StepOf(profile.acc_pv);
    slack.weight_step = StepOf(profile.acc_l);
    slack.bits = 24;
  }
  // Keys that weigh little, but something, take sums off their grid: what stays
  // of them is below half a last place wherever a sum grows (2u in all), and
  // the caller counts their weight itself.
  if (score > 0 && score < 104) slack.apart += 4 * kU;
  // A sum that is cut loses a last place to every later key that weighs
  // anything: e^-104 is below f32's smallest number.
  if (score > 0 && score < 104 && StepOf(profile.acc_pv) > kU) {
    slack.value_step = StepOf(profile.acc_pv);
    slack.bits = 24;
  }
  return slack;
}

std::string WhyNotTop(double score, bool several,
                      const AttentionForwardProblem& problem,
                      const NumericProfile& profile) {
  const Weights weights = WeightsOf(score, profile);
  const Conversion to = ConversionOf(problem, profile);
  if (MayMissScore(score, profile)) {
    const double reference =
        profile.max.kind == MaxPolicy::Kind::kFixed ? profile.max.value : 0;
    // e^80 times 2^19 keys of 2^10 stays in f32, e^-60 is normal.
    if (!(score - reference < 80 && score - reference > -60)) {
      return "without the row's maximum scores must be near what is subtracted";
    }
    const double weight = ExpDouble(score - reference);
    if (to.largest > 0 && !(weight >= to.least && weight <= to.largest)) {
      return profile.p == NumberType::kE4m3 ? "the weights leave e4m3"
                                            : "the weights leave f16";
    }
  }
  const bool rounded = to.unit > 0;
  const bool before = profile.normalise == Normalise::kBefore;
  const bool same = weights.apart == 0 || (RoundToOne(weights, to) && !before);
  if (several && rounded && !same) {
    return "weights of equal scores may round to different numbers";
  }
  if (Drifts(profile) && profile.tile_kv == 0 &&
      profile.exp_rel * static_cast<double>(problem.kv_len) > 0.125) {
    return "too many rescales by an inexact exp(0)";
  }
  return "";
}

}  // namespace lockstep::verify
