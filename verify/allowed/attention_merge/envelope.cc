#include "verify/allowed/attention_merge/envelope.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "reference/contract/numerics.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/rounding.h"
#include "verify/base/binary64.h"

namespace lockstep::verify {
namespace {

using oracle::MergeKind;
using oracle::MergePart;

// Where a weight may have been left out: it underflows, or is skipped.
constexpr double kHardlyThere = 0x1p-100;
// Sums of weights times values stay below it, so that no partial sum overflows.
constexpr double kLargestSum = 0x1p126;
// A share that may be off by more tells nothing of o.
constexpr double kWide = 0.5;

// Relative error of one addition.
double StepOf(const Accumulator& sum) {
  switch (sum.kind) {
    case Accumulator::Kind::kRn32:
      return kU;
    case Accumulator::Kind::kTrunc32:
      return 2 * kU;
    case Accumulator::Kind::kMma:
      return (sum.width + 1) * sum.last_place();
    case Accumulator::Kind::kBf16:
      return UnitRoundoff(NumberType::kBf16);
    case Accumulator::Kind::kF16:
      break;
  }
  return UnitRoundoff(NumberType::kF16);
}

// Error of a rounding of weights or sums to the type; 0 for `case`, which a
// merge does not have.
double TypeError(NumberType type, Rounding rounding) {
  const double unit = type == NumberType::kCase ? 0 : ConversionTo(type);
  return rounding == Rounding::kNearest ? unit : 2 * unit;
}

double SpacingOf(const Accumulator& sum) {
  if (sum.kind == Accumulator::Kind::kBf16) return SpacingOf(NumberType::kBf16);
  return SpacingOf(sum.kind == Accumulator::Kind::kF16 ? NumberType::kF16
                                                       : NumberType::kF32);
}

// What a subnormal weight may lose beyond its relative error. Its exp is off by
// no more than at the smallest normal number.
double LostWeight(const NumericProfile& profile) {
  const double flushed = SpacingOf(NumberType::kF32, profile.ftz);
  return flushed + profile.exp_rel * 0x1p-126 + SpacingOf(profile.p);
}

bool HasF16(const NumericProfile& profile) {
  return profile.acc_pv.kind == Accumulator::Kind::kF16 ||
         profile.state == NumberType::kF16 || profile.p == NumberType::kF16;
}

// What each of a row's weights passes through.
double DivisionError(const NumericProfile& profile) {
  return (profile.division == Division::kDivide ? kU : 2 * kU) +
         profile.division_rel;
}

bool InOtherBase(const NumericProfile& profile,
                 const AttentionMergeProblem& problem) {
  return (profile.exp_base == ExpBase::kTwo) != (problem.base == LseBase::kTwo);
}

bool HasMaximum(const NumericProfile& profile) {
  return profile.max.kind != MaxPolicy::Kind::kFixed &&
         profile.max.kind != MaxPolicy::Kind::kNone;
}

}  // namespace

bool PosInfIsEmpty(const NumericProfile& profile) {
  return !profile.exact && profile.empty_row == EmptyRow::kZeroPosInf;
}

MergedRowBounds::MergedRowBounds(const NumericProfile& profile,
                                 const AttentionMergeProblem& problem,
                                 const AttentionMergeInputs& inputs,
                                 int64_t head, int64_t row)
    : profile_(profile),
      problem_(problem),
      inputs_(inputs),
      head_(head),
      row_(row),
      truth_(oracle::ComputeMerge(problem, inputs, head, row,
                                  PosInfIsEmpty(profile))) {
  if (truth_.kind != MergeKind::kOrdinary) return;
  merges_ = static_cast<double>(truth_.parts.size()) - 1;
  for (const MergePart& part : truth_.parts) {
    largest_lse_ = std::max(largest_lse_, std::fabs(part.lse));
  }
  largest_lse_ += LogDouble(merges_ + 1);
  SumWeights();
}

// An exponent is a difference of two lse, with one rounding. Another base adds
// two, and products that are rounded before the difference add theirs. A
// maximum that rises along the parts adds no distance: the factors' exponents
// sum to the whole.
double MergedRowBounds::WeightError(const MergePart& part) const {
  const bool other = InOtherBase(profile_, problem_);
  const bool pairs = profile_.normalise == Normalise::kEager;
  const double reference =
      HasMaximum(profile_)
          ? part.distance
          : std::fabs(part.lse) + (profile_.max.kind == MaxPolicy::Kind::kFixed
                                       ? std::fabs(profile_.max.value)
                                       : 0);
  double walked = reference;
  if (profile_.normalise == Normalise::kBefore) walked += truth_.log_sum;
  if (pairs) walked += merges_ * LogDouble(merges_ + 1);
  double error = walked * (other ? 3 : 1) * kU;
  if (profile_.shift == Shift::kFma && other) error += 4 * kU * largest_lse_;
  const bool exact_one = profile_.exp_zero == ExpZero::kExact && error == 0;
  const bool moves = profile_.max.kind == MaxPolicy::Kind::kRunning ||
                     profile_.max.kind == MaxPolicy::Kind::kLazy;
  if (!exact_one) error += profile_.exp_rel;
  if (moves || pairs) {
    error += merges_ * (profile_.exp_rel + 2 * kU);
    if (profile_.shift == Shift::kFma && other) {
      error += merges_ * 4 * kU * largest_lse_;
    }
  }
  // Weights of an lse that was rounded: the whole's, or each partial merge's.
  if (profile_.normalise == Normalise::kBefore) error += LseError() + 3 * kU;
  if (pairs) {
    error += merges_ * (LseError() + 2 * profile_.exp_rel + 6 * kU);
  }
  return error;
}

void MergedRowBounds::SumWeights() {
  const double terms = merges_ + 2;
  growth_ = (terms + merges_) * StepOf(profile_.acc_l) + kRoundUp * 0x1p-44;
  const double lost = LostWeight(profile_);
  for (const MergePart& part : truth_.parts) {
    const double error = WeightError(part);
    // exp(error - distance) - exp(-distance), in shares; no product of an
    // infinite factor and a share of 0.
    const double whole = truth_.log_sum;
    double moved = error < 0x1p-10
                       ? part.share * error * (1 + error)
                       : ExpDouble(error - part.distance - whole) - part.share;
    if (part.distance > 0) moved += (merges_ + 2) * lost;
    factor_.push_back(moved * kRoundUp);
    moved_ += moved * kRoundUp;
  }
}

// The lse's error: that of the logarithm, that of the weights' sum, and the
// roundings of their parts in f32.
double MergedRowBounds::LseError() const {
  const bool other = InOtherBase(profile_, problem_);
  const double log =
      LogDouble(merges_ + 1) + (HasMaximum(profile_) ? 0 : largest_lse_);
  return profile_.log_rel * (1 + log) +
         (other ? 10 : 6) * kU * (largest_lse_ + log);
}

double MergedRowBounds::Value(int64_t part, int64_t channel) const {
  return oracle::PartElement(inputs_, part, head_, row_, channel);
}

Bounds MergedRowBounds::OfEmptyRow(double value) const {
  const bool unclaimed = profile_.empty_row == EmptyRow::kMeanVisited ||
                         profile_.empty_row == EmptyRow::kUnspecified;
  return unclaimed ? Unclaimed(value) : Only(value);
}

MergedRowBounds::ChannelSums MergedRowBounds::SumsOf(int64_t channel) const {
  const double o = truth_.o[static_cast<size_t>(channel)];
  ChannelSums sums;
  for (size_t n = 0; n < truth_.parts.size(); ++n) {
    const MergePart& part = truth_.parts[n];
    const double x = Value(part.s, channel);
    if (!std::isfinite(x)) {
      sums.finite = false;
      sums.surely |= part.share > kHardlyThere;
      continue;
    }
    sums.largest = std::max(sums.largest, std::fabs(x));
    sums.apart += factor_[n] * std::fabs(x - o);
    sums.moved += factor_[n] * std::fabs(x);
    sums.size += part.share * std::fabs(x);
  }
  return sums;
}

// The factor of the sums where no maximum is subtracted, against those with
// one.
double MergedRowBounds::Raise() const {
  if (HasMaximum(profile_)) return 1;
  const bool fixed = profile_.max.kind == MaxPolicy::Kind::kFixed;
  return ExpDouble(truth_.lse - (fixed ? profile_.max.value : 0));
}

double MergedRowBounds::OutputError(const ChannelSums& of, double o) const {
  const bool eager = profile_.normalise == Normalise::kEager;
  const double terms = 2 * merges_ + 4;
  double sums =
      terms * StepOf(profile_.acc_pv) + TypeError(profile_.p, profile_.p_round);
  if (eager || HasMaximum(profile_)) {
    sums += merges_ * TypeError(profile_.state, Rounding::kNearest);
  }
  if (eager) sums += merges_ * (3 * kU + DivisionError(profile_));
  // Errors of shares that are divided by their own sum act on o_s - o alone.
  const bool alone = profile_.normalise == Normalise::kBefore;
  double error = alone ? of.moved : of.apart;
  // A difference rounds as the larger of the two, whatever their weights.
  if (profile_.merge_update == MergeUpdate::kDifference) {
    error += merges_ * 8 * kU * of.largest;
  }
  error += sums * (of.size + of.moved) + growth_ * (std::fabs(o) + of.moved);
  error /= 1 - (moved_ + growth_);
  error += (std::fabs(o) + error) * DivisionError(profile_);
  // Subnormal products, sums and results.
  const double spacing = 2 * SpacingOf(profile_.acc_pv) +
                         SpacingOf(profile_.state) +
                         (profile_.ftz ? 0x1p-125 : 0);
  error += (terms + 2) * spacing / std::min(Raise(), 1.0);
  error *= kRoundUp;
  return error;
}

Bounds MergedRowBounds::Output(int64_t channel) const {
  const double o = truth_.o[static_cast<size_t>(channel)];
  if (truth_.kind == MergeKind::kEmpty) return OfEmptyRow(0);
  const bool propagates = profile_.nan == NanPolicy::kPropagate;
  if (truth_.kind == MergeKind::kNaN) {
    return propagates ? Only(o) : Anything(o);
  }
  const ChannelSums sums = SumsOf(channel);
  if (!sums.finite) {
    // Where its weight is certain, NaN or infinity shows. 0 times an infinity,
    // or the difference of two, makes NaN.
    if (!propagates || !sums.surely) return Anything(o);
    Bounds bounds = Only(o);
    bounds.allowed.nan = bounds.likely.nan = true;
    return bounds;
  }
  const double raise = Raise();
  const double room = HasF16(profile_) ? 0x1p14 : kLargestSum;
  const bool fits =
      sums.largest * (merges_ + 1) * std::max(raise, 1.0) < room &&
      raise > 0x1p-60 && raise < room;
  if (!(moved_ + growth_ < kWide) || !fits) return Anything(o);
  const double error = OutputError(sums, o);
  Bounds bounds;
  bounds.truth = o;
  bounds.error = bounds.likely_error = error;
  bounds.vacuous = error > sums.largest / 4 + kNegligible;
  bounds.allowed = bounds.likely =
      RoundedSet(o - error, o + error, problem_.out_lane, profile_.out_round);
  return bounds;
}

Bounds MergedRowBounds::Lse() const {
  if (truth_.kind == MergeKind::kEmpty) {
    if (profile_.empty_row == EmptyRow::kZeroZero) return Only(0);
    return OfEmptyRow(PosInfIsEmpty(profile_) ? kInf : -kInf);
  }
  if (truth_.kind == MergeKind::kNaN) {
    // Without a maximum +inf stays what it is.
    const bool sure =
        profile_.nan == NanPolicy::kPropagate && HasMaximum(profile_);
    return sure ? Only(truth_.lse) : Anything(truth_.lse);
  }
  const double off = moved_ + growth_;
  if (!(off < kWide)) return Anything(truth_.lse);
  double error = -LogDouble(1 - off) + LseError();
  if (profile_.normalise == Normalise::kEager) error += merges_ * LseError();
  const double unit = problem_.base == LseBase::kTwo ? kLog2E : 1;
  const double lse = truth_.lse * unit;
  error = error * unit * kRoundUp + 0x1p-140;
  if (profile_.ftz) error += 0x1p-126;
  const Lane lane = profile_.lse == LseLane::kBf16 ? Lane::kBf16 : Lane::kF32;
  const ValueSet set =
      RoundedSet(lse - error, lse + error, lane, Rounding::kNearest);
  return {set, set, lse, error, error, error > 1};
}

namespace {

bool RowIsFinite(const AttentionMergeProblem& problem,
                 const AttentionMergeInputs& inputs, int64_t s, int64_t h,
                 int64_t n) {
  for (int64_t c = 0; c < problem.value_dim; ++c) {
    if (!std::isfinite(oracle::PartElement(inputs, s, h, n, c))) {
      return false;
    }
  }
  return true;
}

// Whether a part that saw no key of a row holds NaN or infinity there.
bool UnreadIsNotFinite(const AttentionMergeProblem& p,
                       const AttentionMergeInputs& inputs, bool posinf) {
  for (int64_t s = 0; s < p.parts; ++s) {
    for (int64_t h = 0; h < p.heads; ++h) {
      for (int64_t n = 0; n < p.rows; ++n) {
        const double lse = double{inputs.lse(s, h, n)};
        const bool unread = lse == -kInf || (posinf && lse == kInf);
        if (unread && !RowIsFinite(p, inputs, s, h, n)) return true;
      }
    }
  }
  return false;
}

}  // namespace

std::string WhyUndeclaredMerge(const AttentionMergeProblem& problem,
                               const AttentionMergeInputs& inputs,
                               const NumericProfile& profile) {
  if (profile.scan) return "attention_merge";
  if (profile.lane && *profile.lane != problem.lane) {
    return std::string("lane=") + LaneName(problem.lane);
  }
  if (profile.masked_nan_safe != MaskedNan::kYes &&
      UnreadIsNotFinite(problem, inputs, PosInfIsEmpty(profile))) {
    return std::string(
               "NaN or infinity in o of a part that saw no key "
               "(masked_nan_safe = ") +
           (profile.masked_nan_safe == MaskedNan::kNo ? "no)" : "padding)");
  }
  return "";
}

}  // namespace lockstep::verify
