// Longer than 400 lines: one class, which takes a profile's fields in turn.
// From a profile's fields to the amounts of an envelope model.
#include <algorithm>
#include <cmath>

#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/allowed/rounding.h"
#include "verify/base/binary64.h"

namespace lockstep::verify {
namespace {

double Pick(bool condition, double amount) { return condition ? amount : 0; }

class Builder {
 public:
  Builder(const NumericProfile& profile, const AttentionForwardProblem& problem,
          const InputRange& range)
      : p_(profile), problem_(problem), range_(range) {}

  EnvelopeModel Build() {
    Rescales();
    Products();
    Operands();
    Scores();
    Exponent();
    Weights();
    Sums();
    Finish();
    Total();
    return m_;
  }

 private:
  enum Part { kConstant, kProduct, kArgument, kScorePart, kDistance };

  void Add(Part part, Cause cause, double amount) {
    m_.amounts[part][static_cast<size_t>(cause)] += amount;
  }
  void PerRescale(Cause cause, double amount) {
    m_.rescale_amounts[static_cast<size_t>(cause)] += amount;
  }

  // What multiplies the error of a rescale: a count that is not declared, or
  // else exp_rel, which is the error of one.
  Cause RescaleCause() const {
    const bool moves = p_.max.kind == MaxPolicy::Kind::kRunning ||
                       p_.max.kind == MaxPolicy::Kind::kLazy;
    if (moves && p_.tile_kv == 0) return Cause::kTileKv;
    return p_.splits == 0 ? Cause::kSplits : Cause::kExpRel;
  }

  bool exact_rescale() const { return p_.shift == Shift::kInteger; }

  void Rescales() {
    // A running maximum moves at most once per tile; a split is one more.
    int64_t most = problem_.kv_len;
    if (p_.tile_kv > 0) most = problem_.kv_len / p_.tile_kv + 2;
    const bool never = p_.max.kind == MaxPolicy::Kind::kTwoPass ||
                       p_.max.kind == MaxPolicy::Kind::kFixed ||
                       p_.max.kind == MaxPolicy::Kind::kNone;
    // A kernel that keeps o normalised, or in a narrow type, does so per tile.
    const bool by_tile = p_.normalise == Normalise::kEager ||
                         RoundoffOf(p_.state, problem_.p_lane) > 0;
    if (never && !by_tile) most = 0;
    if (p_.splits != 1) {
      // More parts than keys do not exist: the sum stays in range.
      most += p_.splits > 0 ? std::min(p_.splits, problem_.kv_len)
                            : problem_.kv_len;
      most = std::min(most, problem_.kv_len);
    }
    // With a part per key and a move per key, two factors per key.
    merges_ = p_.splits == 1 ? 1 : 2;
    m_.weights.most_rescales = most;
  }

  void Products() {
    const auto d = static_cast<double>(problem_.head_dim);
    double chain = p_.chain_qk > 0 ? static_cast<double>(p_.chain_qk) : d;
    chain = std::min(chain, d);
    const SumSteps steps = StepsOf(p_.acc_qk, chain, d, chain);
    if (Cuts(p_.acc_qk)) {
      // Steps, and products whose signs are those of the score.
      m_.cut_score = p_.acc_qk.last_place() / 2 * (steps.count + 1) +
                     BlockTerm(p_.acc_qk) * 1.5 * (std::sqrt(d) + 1);
    }
    // Products of f32 values are rounded where they are not fused.
    const bool wide_q =
        p_.scale_at == ScaleAt::kQF32 || p_.scale_at == ScaleAt::kRoots;
    const bool exact_products = problem_.lane != Lane::kF32 && !wide_q;
    Add(kProduct, Cause::kAccQk, Gamma(steps.count, steps.unit));
    Add(kProduct, Cause::kAccQk, Pick(!exact_products, 2 * kU));
    int exponent = 0;
    // N25: scales that all keys of a head share, and those of q, may be folded
    // into q's factor.
    const bool folded = problem_.q_scales.any() || problem_.k_scales.shared();
    const bool power = !folded && std::frexp(problem_.scale, &exponent) == 0.5;
    if (ScalesQuery(p_.scale_at)) {
      // One rounding of q moves all scores of its row together. Of two factors
      // that are its root, each is rounded, and so are q and k by them.
      m_.correlated = true;
      Add(kProduct, Cause::kScaleAt,
          (p_.scale_at == ScaleAt::kRoots ? 4.01 : 2) * kU);
      Add(kProduct, Cause::kScaleAt,
          Pick(p_.scale_at == ScaleAt::kQLane && problem_.lane != Lane::kF32 &&
                   !power,
               LaneRowOf(problem_.lane).roundoff * (1 + 4 * kU)));
    } else {
      Add(kArgument, Cause::kScaleAt, 2 * kU);
    }
    // N25: the kernel's product with a scale, and that in the truth's k or q.
    Add(kProduct, Cause::kScaleAt, Pick(problem_.k_scales.any(), 3 * kU));
    Add(kProduct, Cause::kScaleAt, Pick(problem_.q_scales.any(), 3 * kU));
    if (problem_.v_scales.any()) AddNumerator(Cause::kScaleAt, 3 * kU);
    // A scale that keys do not share is no factor of o.
    m_.unbounded |=
        p_.vscale_at == ValueScaleAt::kOut && problem_.v_scales.by_key();
    const double scale = std::fabs(problem_.scale);
    const double cap = problem_.softcap.value_or(1.0);
    m_.scale_growth = std::max({1.0, scale * 1.5, scale / cap});
    m_.largest = std::min(steps.overflow, 0x1p126) / m_.scale_growth;
    // Products and partial sums that underflow.
    Add(kConstant, Cause::kUnderflow,
        scale * (d + 4) * (p_.ftz ? 0x1p-125 : 0x1p-148) + cap * 0x1p-125);
    if (p_.acc_qk.kind == Accumulator::Kind::kF16) {
      Add(kConstant, Cause::kAccQk, std::max(scale, 1.0) * (d + 4) * 0x1p-25);
    }
    // A subnormal q or k that is flushed, or q rounded after the scale, meets
    // what stands opposite, which may be large.
    const bool scaled_q = ScalesQuery(p_.scale_at);
    const double lost = (range_.q + range_.k) * (p_.ftz ? 0x1p-126 : 0x1p-149);
    Add(kConstant, Cause::kUnderflow,
        Pick(p_.ftz || scaled_q, std::max(scale, 1.0) * d * lost));
    if (p_.scale_at == ScaleAt::kQLane && problem_.lane == Lane::kF16) {
      // A scaled q has f16's spacing, and its range.
      Add(kConstant, Cause::kScaleAt,
          d * SpacingOf(NumberType::kF16, p_.ftz) * range_.k *
              range_.largest_q_scale / range_.least_k_scale);
      const double largest = scale * range_.largest_k_scale * range_.q;
      m_.unbounded |= !(largest < 65000 * range_.least_q_scale);
    }
  }

  // Relative error of an operand of a product that a matrix unit rounds.
  double OperandError(NumberType type) const {
    if (type == NumberType::kF32) return 0;
    return UnitRoundoff(type) *
           (p_.operand_round == Rounding::kNearest ? 1 : 2);
  }

  void Operands() {
    const bool roots = p_.scale_at == ScaleAt::kRoots;
    const bool scaled = p_.scale_at == ScaleAt::kQF32 || roots;
    const double qk = OperandError(p_.operand_qk);
    const double v = OperandError(p_.operand_v);
    if (qk > 0) {
      const bool kept = KeepsBits(problem_.lane, p_.operand_qk);
      const bool kept_q = kept && !scaled && !problem_.q_scales.any();
      const double q_error = kept_q ? 0 : qk;
      const bool kept_k = kept && !roots && !problem_.k_scales.any();
      const double k_error = kept_k ? 0 : qk;
      // (1 + a)(1 + b) - 1, of products that have roundings of their own.
      Add(kProduct, Cause::kOperandQk,
          (q_error + k_error + q_error * k_error) * (1 + 4 * kU));
      m_.correlated |= q_error > 0;
      m_.biased |= p_.operand_round != Rounding::kNearest;
    }
    const bool kept_v =
        KeepsBits(problem_.lane, p_.operand_v) && !problem_.v_scales.any();
    if (v > 0 && !kept_v) {
      AddNumerator(Cause::kOperandV, v);
      m_.biased |= p_.operand_round != Rounding::kNearest;
    }
    const auto d = static_cast<double>(problem_.head_dim);
    const double scale = std::max(std::fabs(problem_.scale), 1.0);
    if (qk > 0 && (!KeepsNumbers(problem_.lane, p_.operand_qk) || scaled)) {
      const double spacing = SpacingOf(p_.operand_qk, p_.ftz);
      Add(kConstant, Cause::kOperandQk,
          scale * d * spacing * (range_.q + range_.k + spacing));
      m_.unbounded |= p_.operand_qk == NumberType::kF16 &&
                      !(std::max(scale * range_.q, range_.k) < 65000);
    }
    if (v > 0 && !KeepsNumbers(problem_.lane, p_.operand_v)) {
      m_.operand_flush = SpacingOf(p_.operand_v, p_.ftz);
      m_.unbounded |= p_.operand_v == NumberType::kF16 && !(range_.v < 65000);
    }
  }

  // One more relative error of the numerator's terms.
  void AddNumerator(Cause cause, double amount) {
    m_.numerator_amounts[static_cast<size_t>(cause)] += amount;
    m_.numerator_weight += amount * (1 + m_.numerator_weight);
  }

  // Every step of a score is rounded to f32, then to its type.
  void RoundedSteps(double rounded) {
    const double u = rounded + 2 * kU;
    const double cap = problem_.softcap.value_or(0.0);
    double argument = u;
    if (!ScalesQuery(p_.scale_at)) argument += u * (1 + argument);
    if (cap > 0) argument += u * (1 + argument);
    Add(kArgument, Cause::kScore, argument);
    Add(kProduct, Cause::kScore, argument * Sum(m_.amounts[kProduct]));
    // tanh, and its product with the cap.
    Add(kScorePart, Cause::kScore, Pick(cap > 0, 2 * u + u * u));
    Add(kDistance, Cause::kScore,
        Pick(p_.score_round == ScoreRound::kShift, u));
    // Each step has the type's spacing near zero.
    const double scale = std::fabs(problem_.scale);
    Add(kConstant, Cause::kScore,
        SpacingOf(p_.score, p_.ftz) * (scale + 3 + 2 * cap));
    m_.unbounded |=
        p_.score == NumberType::kF16 &&
        !(range_.q * range_.k * static_cast<double>(problem_.head_dim) < 65000);
  }

  void Scores() {
    const double rounded = RoundoffOf(p_.score, problem_.p_lane);
    m_.weights.bound.sink = RoundoffOf(p_.sink, problem_.p_lane);
    if (p_.score_round == ScoreRound::kOnce) {
      Add(kScorePart, Cause::kScore, rounded);
    } else {
      RoundedSteps(rounded);
      m_.weights.bound.sink += rounded;
    }
    if (p_.sink == NumberType::kF16) {
      Add(kConstant, Cause::kScore, Pick(problem_.sink, 0x1p-25));
    }
    if (p_.score == NumberType::kF16) {
      // f16's spacing near zero, and its largest number.
      Add(kConstant, Cause::kScore, 0x1p-25);
      const double largest = problem_.softcap.value_or(
          std::fabs(problem_.scale) * range_.q * range_.k *
          static_cast<double>(problem_.head_dim));
      m_.unbounded |= !(largest < 65000);
    }
    const bool base_two = p_.exp_base == ExpBase::kTwo;
    if (problem_.softcap) {
      const double roundings = p_.cap_div == CapDivision::kReciprocal ? 3
                               : p_.cap_div == CapDivision::kDivide   ? 2
                                                                      : 1;
      Add(kArgument, Cause::kCapDiv, roundings * kU);
      // tanh as declared and rounded, the cap rounded, their product.
      Add(kScorePart, Cause::kTanhRel, p_.tanh_rel + kU);
      Add(kScorePart, Cause::kCapDiv, 2.5 * kU);
    }
    Add(kScorePart, Cause::kShift, Pick(base_two, 2.5 * kU));
  }

  void Exponent() {
    const double exp = p_.exp_rel + kU * 1.5;
    Add(kConstant, Cause::kExpRel, exp);
    switch (p_.shift) {
      case Shift::kSubtract:
        Add(kDistance, Cause::kShift, 2 * kU);
        break;
      case Shift::kFma:
        Add(kDistance, Cause::kShift, 3.5 * kU);
        // The rounding of m * factor, once for each m that was used.
        m_.reference_amounts[static_cast<size_t>(Cause::kShift)] += 2.5 * kU;
        break;
      case Shift::kInteger:
        break;
    }
    // Factors of a rescale: their exp, and its argument's extra rounding; the
    // multiplications themselves are counted with the sums.
    if (!exact_rescale()) PerRescale(RescaleCause(), merges_ * exp);
    const double value = std::fabs(p_.max.value);
    switch (p_.max.kind) {
      case MaxPolicy::Kind::kRunning:
      case MaxPolicy::Kind::kTwoPass:
        break;
      case MaxPolicy::Kind::kLazy:
        // Differences to a reference up to T above the maximum.
        Add(kConstant, Cause::kMax, 4 * kU * value);
        break;
      case MaxPolicy::Kind::kFixed:
        Add(kConstant, Cause::kMax, 4 * kU * value);
        Add(kScorePart, Cause::kMax, 4 * kU);
        m_.weights.fixed_reference = p_.max.value;
        break;
      case MaxPolicy::Kind::kNone:
        Add(kScorePart, Cause::kMax, 4 * kU);
        m_.weights.fixed_reference = 0;
        break;
    }
  }

  void Weights() {
    double u = RoundoffOf(p_.p, problem_.p_lane);
    if (p_.p_round != Rounding::kNearest) {
      u *= 2;
      m_.biased |= u > 0;
    }
    rounded_p_ = u;
    // A 32nd of a rounding.
    m_.weights.equal_bits = 5 - std::ilogb(std::max(u, kU));
    const bool scaled = ScalesWeights();
    if (p_.l_from == LFrom::kRounded) {
      Add(kConstant, Cause::kP, u);
      // N25: the numerator rounds the weight times its value's scale, which is
      // another rounding than the denominator's.
      if (scaled) AddNumerator(Cause::kP, 2 * u);
    } else {
      AddNumerator(Cause::kP, u);
    }
    // With the maximum subtracted equal weights at the top are 1, exactly.
    const bool shared = p_.max.kind != MaxPolicy::Kind::kRunning &&
                        p_.max.kind != MaxPolicy::Kind::kTwoPass;
    if (shared && p_.l_from == LFrom::kUnrounded) m_.common_weight = u;
    const bool f16 = p_.p == NumberType::kF16;
    double floor = p_.ftz ? 0x1p-125 : 0x1p-126;
    if (f16) floor += p_.ftz ? 0x1p-13 : 0x1p-24;
    // N25: weights times a small scale underflow; times a large one, overflow.
    floor /= range_.least_scale;
    if (p_.p == NumberType::kE4m3) floor += E4m3Floor(scaled);
    if (scaled) {
      m_.unbounded |= range_.largest_scale > (f16 ? 0x1p14 : 0x1p62);
      m_.unbounded |= shared && range_.largest_scale > 0x1p30;
      m_.value_scale = range_.largest_scale;
    }
    // Quotients underflow, which are weights over their sum: n at most.
    if (p_.normalise == Normalise::kBefore) {
      floor *= static_cast<double>(problem_.kv_len) + 1;
    }
    // A reference up to T below the maximum makes p larger, but the factor of
    // the rescale that ends it may underflow, and p was up to e^T.
    if (p_.max.kind == MaxPolicy::Kind::kLazy) {
      floor *= ExpDouble(std::min(p_.max.value, 600.0));
    }
    m_.weights.bound.floor = floor;
    m_.weights.spread.floor = floor;
    m_.unbounded |=
        f16 && (m_.weights.fixed_reference.has_value() ||
                (p_.max.kind == MaxPolicy::Kind::kLazy && p_.max.value > 10));
  }

  // N25: whether a scale of v may multiply weights before they are rounded.
  bool ScalesWeights() const {
    if (p_.vscale_at == ValueScaleAt::kP) return problem_.v_scales.any();
    return p_.vscale_at == ValueScaleAt::kAny && problem_.v_scales.by_key();
  }

  // What weights in e4m3 add to the rest, and what of a weight may vanish: half
  // of the type's spacing. Near weights round alike, so that their errors are
  // no random draws.
  double E4m3Floor(bool scaled) {
    m_.biased = true;
    // The products with p_scale and with its reciprocal.
    AddNumerator(Cause::kP, 3 * kU);
    double largest = p_.p_scale;
    if (p_.max.kind == MaxPolicy::Kind::kLazy) {
      largest *= p_.exp_base == ExpBase::kTwo ? Exp2Double(p_.max.value)
                                              : ExpDouble(p_.max.value);
    }
    if (scaled) largest *= range_.largest_scale;
    // What exceeds 448 saturates, or becomes NaN.
    m_.unbounded |= m_.weights.fixed_reference.has_value() ||
                    !(largest * (1 + p_.exp_rel) < 464);
    return 0x1p-10 / (p_.p_scale * (scaled ? range_.least_scale : 1));
  }

  void Sums() {
    const auto keys = static_cast<double>(problem_.kv_len);
    const bool unfused = problem_.lane == Lane::kF32;
    m_.pv = MakeSum(p_.acc_pv, p_, keys, unfused || rounded_p_ == 0 ? 2 : 1);
    if (p_.chain_order == ChainOrder::kAscending &&
        p_.acc_pv.kind == Accumulator::Kind::kMma) {
      // Whole steps from multiples of K on, wherever tiles end.
      m_.pv.blocks = m_.pv.cuts =
          std::ceil(static_cast<double>(problem_.kv_len) / p_.acc_pv.width);
    }
    m_.l =
        MakeSum(p_.acc_l, p_, keys, 17);  // the fold of partial sums, the sink
    // Weights may be added one by one beside a matrix unit.
    if (m_.l.cuts > 0) m_.l.cuts = static_cast<double>(problem_.kv_len);
    m_.state = RoundoffOf(p_.state, problem_.p_lane);
    m_.normalise = Pick(p_.normalise == Normalise::kEager, 4 * kU);
    m_.largest_sum = exact_rescale() ? 0x1p61 : 0x1p125;
    const bool f16 = p_.acc_pv.kind == Accumulator::Kind::kF16 ||
                     p_.acc_l.kind == Accumulator::Kind::kF16 ||
                     p_.state == NumberType::kF16;
    if (f16) m_.largest_sum = 30000;
    // N25: the sums are formed before the scale multiplies them.
    m_.largest_sum *= range_.least_scale;
    narrow_sums_ = f16;
    if (p_.max.kind == MaxPolicy::Kind::kRunning ||
        p_.max.kind == MaxPolicy::Kind::kLazy) {
      m_.largest_early = (f16 ? 30000 : 0x1p125) * range_.least_scale;
      // e^T, which is more than 2^T.
      m_.early_weight = ExpDouble(std::min(p_.max.value, 80.0));
    }
  }

  void Finish() {
    m_.division = p_.division == Division::kReciprocal ? 2.5 * kU : 1.01 * kU;
    m_.division += p_.division_rel;
    if (p_.normalise == Normalise::kBefore) {
      // Each quotient is rounded for itself, before it meets V.
      AddNumerator(Cause::kDivision, m_.division);
      m_.common_weight = rounded_p_ + m_.division;
      m_.division = 0;
      m_.least_growth = 1;
    }
    // A common factor per tile drifts.
    m_.biased |= p_.exp_zero == ExpZero::kRel;
    m_.log = p_.log_rel + kU;
    m_.tiny = p_.ftz ? 0x1p-125 : 0x1p-148;
    // Sums in f16 have its spacing near zero.
    if (narrow_sums_) m_.tiny = 0x1p-25;
    m_.tiny *= range_.largest_scale;  // N25: after the sum
    m_.flush = p_.ftz ? 0x1p-125 : 0;
    m_.biased |= p_.out_round == Rounding::kTruncate;
  }

  static double Sum(const CauseAmounts& amounts) {
    double sum = 0;
    for (const double amount : amounts) sum += amount;
    return sum;
  }

  void Total() {
    oracle::WeightModel& bound = m_.weights.bound;
    bound.constant = Sum(m_.amounts[kConstant]);
    bound.product = Sum(m_.amounts[kProduct]);
    bound.argument = Sum(m_.amounts[kArgument]);
    bound.score = Sum(m_.amounts[kScorePart]);
    bound.distance = Sum(m_.amounts[kDistance]);
    bound.rescale = Sum(m_.rescale_amounts);
    bound.reference = Sum(m_.reference_amounts);
    bound.reference_rescale =
        exact_rescale() ? 0 : 2 * Sum(m_.reference_amounts);
    oracle::WeightModel& spread = m_.weights.spread;
    const double floor = spread.floor;
    spread = bound;
    spread.floor = floor;
    // Rounding errors of a sum add up like a random walk.
    const double chain =
        std::min(static_cast<double>(problem_.head_dim),
                 p_.chain_qk > 0 ? static_cast<double>(p_.chain_qk) : kInf);
    spread.product = bound.product / std::sqrt(std::max(chain, 1.0));
    // Rounded weights: uniform within half a unit, hence the third.
    if (p_.l_from == LFrom::kRounded) {
      spread.constant += rounded_p_ * (0.578 - 1);
    }
    // What a rescale adds is common to all keys before it, and cancels but for
    // the few that come after; moves of the maximum are rare.
    spread.rescale = spread.reference_rescale = 0;
  }

  const NumericProfile& p_;
  const AttentionForwardProblem& problem_;
  const InputRange range_;
  EnvelopeModel m_;
  double merges_ = 1;
  double rounded_p_ = 0;
  bool narrow_sums_ = false;
};

}  // namespace

EnvelopeModel MakeEnvelopeModel(const NumericProfile& profile,
                                const AttentionForwardProblem& problem,
                                const InputRange& range) {
  return Builder(profile, problem, range).Build();
}

}  // namespace lockstep::verify
