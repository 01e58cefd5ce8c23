#include "verify/allowed/attention_backward/envelope.h"

#include <algorithm>
#include <cmath>

#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/rounding.h"

namespace lockstep::verify {
namespace {

// The oracle's own, of up to 2^26 terms.
constexpr double kOwnSums = 0x1p-26 * 0x1p-1;
constexpr double kF16Largest = 30000;
// What rounding to nearest may be off by among bf16's subnormal numbers.
constexpr double kBf16Tiny = SpacingOf(NumberType::kBf16) / 2;

bool Narrow(NumberType type) { return type == NumberType::kF16; }

// A roundoff of bf16, or of more: of a subnormal number it says too little.
double Bf16Floor(double roundoff) { return roundoff > 0 ? kBf16Tiny : 0; }

// What becomes of dS and the operands where the scale is multiplied into them.
// Near zero roundings are absolute: in the model's units, before the scale,
// those of what is scaled down count for more.
void PlaceScale(const NumericProfile& profile,
                const AttentionForwardProblem& problem, GradientOutput output,
                double ds_floor, oracle::GradientModel* m) {
  const bool keys = output == GradientOutput::kDq;
  const LaneRow& lane = LaneRowOf(problem.lane);
  const bool narrow = problem.lane != Lane::kF32;
  double* const operand = keys ? &m->operand_k : &m->operand_q;
  double* const flush = keys ? &m->flush_k : &m->flush_q;
  const ScalePlace place = PlaceOf(*profile.grad, output);
  const double scale = std::fabs(problem.scale);
  const double shrunk = scale > 0 && scale < 1 ? 1 / scale : 1;
  if (place == ScalePlace::kDs) {
    m->ds_floor = std::max(m->ds_floor, (ds_floor + 4 * m->tiny) * shrunk);
  } else if (place == ScalePlace::kOperand) {
    if (narrow) *operand += lane.roundoff * (1 + 4 * kU);
    *flush = std::max(m->flush, narrow ? lane.smallest / 2 : m->tiny) * shrunk;
  } else if (place == ScalePlace::kUnsaid && narrow &&
             profile.scale_at == ScaleAt::kQLane) {
    *operand += lane.roundoff * (1 + 4 * kU);
    if (problem.lane == Lane::kF16) {
      *flush = std::max(m->flush, lane.smallest / 2) * shrunk;
    }
  }
}

oracle::GradientModel ModelOf(const NumericProfile& profile,
                              const AttentionForwardProblem& problem,
                              const InputRange& range) {
  const GradNumeric& grad = *profile.grad;
  const EnvelopeModel forward = MakeEnvelopeModel(profile, problem, range);
  const auto channels = static_cast<double>(problem.value_dim);
  const double operand_v = RoundoffOf(profile.operand_v, problem.p_lane);
  const double operand_qk = RoundoffOf(profile.operand_qk, problem.p_lane);
  const SumSteps dp = StepsOf(grad.acc_dp, channels, channels, channels);
  const double widen = profile.operand_round == Rounding::kNearest ? 1 : 2;
  const double rounding = profile.p_round == Rounding::kNearest ? 1 : 2;

  oracle::GradientModel m;
  m.weights = forward.weights.bound;
  m.weights.distance = std::max(m.weights.distance, 4 * kU);
  // lse times log2(e), the constant, and a fused subtraction's own rounding.
  m.lse = 6 * kU;
  m.slope = 4 * kU;
  m.step = 2 * kU;
  m.delta = Gamma(channels + 2, kU);
  m.dp = Gamma(dp.count, dp.unit) + 2 * kU + 2.5 * widen * operand_v;
  m.p = rounding * RoundoffOf(grad.p, problem.p_lane);
  m.p_in_ds = grad.ds_from == DsFrom::kRoundedP ? m.p : 0;
  m.ds = rounding * RoundoffOf(grad.ds, problem.p_lane);
  m.operand_v = widen * operand_v + 2 * kU;
  m.operand_k = m.operand_q = widen * operand_qk + 2 * kU;
  m.tiny = profile.ftz ? 0x1p-125 : 0x1p-148;
  m.flush = profile.ftz ? 0x1p-125 : 0;
  if (Narrow(profile.operand_v) || Narrow(profile.operand_qk)) {
    m.flush = 0x1p-13;
  }
  m.ds_floor = rounding * Bf16Floor(m.ds);
  // N18: a gradient of a score that would be subnormal is +0.
  if (profile.exact) m.ds_floor = std::max(m.ds_floor, 0x1p-126);
  m.weights.floor += rounding * Bf16Floor(m.p);
  if (Narrow(grad.ds)) m.ds_floor = profile.ftz ? 0x1p-13 : 0x1p-24;
  if (Narrow(grad.p)) {
    m.weights.floor += profile.ftz ? 0x1p-13 : 0x1p-24;
  }
  m.largest_qk = forward.largest;
  const bool f16 = Narrow(grad.p) || Narrow(grad.ds) ||
                   Narrow(profile.operand_v) || Narrow(profile.operand_qk) ||
                   Narrow(grad.dq_state) || Narrow(grad.dkv_state);
  m.largest = f16 ? kF16Largest : 0x1p120;
  for (const Accumulator& sum : {grad.acc_dp, grad.acc_dq, grad.acc_dkv}) {
    m.largest = std::min(m.largest, StepsOf(sum, 1, 1, 1).overflow);
  }
  const bool early = IsEarly(PlaceOf(grad, GradientOutput::kDq)) ||
                     IsEarly(PlaceOf(grad, GradientOutput::kDk));
  if (early) m.largest /= std::max(std::fabs(problem.scale), 1.0);
  m.flush_k = m.flush_q = m.flush;
  const double ds_floor = m.ds_floor;
  for (const auto output : {GradientOutput::kDq, GradientOutput::kDk}) {
    PlaceScale(profile, problem, output, ds_floor, &m);
  }
  return m;
}

bool RoundsToBf16(NumberType type, const NumericProfile& profile,
                  const AttentionForwardProblem& problem) {
  if (profile.p_round != Rounding::kNearest) return false;
  return type == NumberType::kBf16 ||
         (type == NumberType::kCase && problem.p_lane == Lane::kBf16);
}

// Of few terms each is known to the bit where its rounding is.
void KnowRoundings(const NumericProfile& profile,
                   const AttentionForwardProblem& problem,
                   oracle::GradientModel* m) {
  m->round_p = RoundsToBf16(profile.grad->p, profile, problem);
  if (!RoundsToBf16(profile.grad->ds, profile, problem)) return;
  const auto factor = [&](GradientOutput output) {
    const bool scaled = PlaceOf(*profile.grad, output) == ScalePlace::kDs;
    return scaled ? problem.scale : 1.0;
  };
  m->round_k = factor(GradientOutput::kDq);
  m->round_q = factor(GradientOutput::kDk);
}

// The same, but what is rounded is what the contract rounds, with the scale
// last (N18).
void KnowContract(const NumericProfile& profile,
                  const AttentionForwardProblem& problem,
                  oracle::GradientModel* m) {
  const bool narrow = problem.p_lane == Lane::kBf16;
  m->p_in_ds = 0;
  if (RoundsToBf16(profile.grad->p, profile, problem)) {
    m->round_p = narrow;
    if (!narrow) m->p = 0;
  }
  if (RoundsToBf16(profile.grad->ds, profile, problem)) {
    m->round_k = m->round_q = narrow ? 1 : 0;
    if (!narrow) m->ds = 0;
  }
}

}  // namespace

double UnseenLseError(const AttentionEnvelope& forward,
                      const oracle::AttentionTruth& truth, size_t row) {
  const auto& fixed = forward.error_model().fixed_reference;
  const double moved = fixed ? std::fabs(truth.rows[row].max - *fixed) : 0;
  return forward.Lse(truth, row).error + forward.model().division +
         forward.model().weights.bound.distance * moved + 4 * kU;
}

std::string WhyNotGradProbe(const NumericProfile& profile) {
  if (!profile.grad) return "the profile describes no gradients";
  // Its weights are of an lse of its own.
  if (HandsBackForward(profile)) return "o and lse are the kernel's own";
  // A weight of a score equal to lse.
  if (profile.exp_zero != ExpZero::kExact) return "exp(0) need not be 1";
  return "";
}

GradientEnvelope::GradientEnvelope(const NumericProfile& profile,
                                   const AttentionBackwardProblem& problem,
                                   const InputRange& range,
                                   GradientInputs inputs)
    : profile_(profile),
      problem_(problem.forward),
      grad_lane_(problem.grad_lane),
      inputs_(inputs),
      model_(ModelOf(profile, problem.forward, range)) {
  model_.sparse = inputs != GradientInputs::kAny;
  if (inputs == GradientInputs::kSparse) {
    KnowRoundings(profile, problem.forward, &model_);
  } else if (inputs == GradientInputs::kSparseOfContract) {
    KnowContract(profile, problem.forward, &model_);
  }
}

bool GradientEnvelope::LeavesEmptyOpen() const {
  return profile_.empty_row == EmptyRow::kMeanVisited ||
         profile_.empty_row == EmptyRow::kUnspecified;
}

double GradientEnvelope::UnitOfSums(GradientOutput output,
                                    bool with_state) const {
  const GradNumeric& grad = *profile_.grad;
  if (output == GradientOutput::kDsink) return kU;
  const bool keys = output == GradientOutput::kDq;
  const Accumulator& sum = keys ? grad.acc_dq : grad.acc_dkv;
  double unit = kU;
  if (with_state) {
    const NumberType state = keys ? grad.dq_state : grad.dkv_state;
    unit = std::max(unit, RoundoffOf(state, problem_.p_lane));
  }
  if (sum.kind == Accumulator::Kind::kBf16) unit = std::max(unit, 0x1p-8);
  if (sum.kind == Accumulator::Kind::kF16) unit = std::max(unit, 0x1p-11);
  return std::max(unit, sum.last_place() / 2);
}

double GradientEnvelope::SizeOfScale(GradientOutput output) const {
  const bool scaled =
      output == GradientOutput::kDk || output == GradientOutput::kDq;
  return scaled ? std::fabs(problem_.scale) : 1;
}

double GradientEnvelope::ProbeError(GradientOutput output,
                                    const oracle::GradientLine& line,
                                    size_t c) const {
  const ScalePlace place = PlaceOf(*profile_.grad, output);
  const double size = SizeOfScale(output) * std::fabs(line.value[c]);
  if (IsEarly(place)) {
    return 6 * kU * size + EarlyProbeError(output, line, c);
  }
  if (!(line.span[c] < 1 / UnitOfSums(output, true))) return kInf;
  // What remains is the scale, and where it was multiplied into a narrow q the
  // one rounding that all of them share.
  const bool scaled =
      output == GradientOutput::kDk || output == GradientOutput::kDq;
  const bool narrow = place == ScalePlace::kUnsaid && scaled &&
                      profile_.scale_at == ScaleAt::kQLane &&
                      problem_.lane != Lane::kF32;
  const double rounding = narrow ? LaneRowOf(problem_.lane).roundoff : 0;
  return (6 * kU + rounding) * size;
}

double GradientEnvelope::EarlyProbeError(GradientOutput output,
                                         const oracle::GradientLine& line,
                                         size_t c) const {
  const GradNumeric& grad = *profile_.grad;
  const ScalePlace place = PlaceOf(grad, output);
  const double scale = SizeOfScale(output);
  RoundedScale factor;
  if (place != ScalePlace::kHead) {
    const auto rounded = RoundedScaleAt(place, profile_, problem_);
    if (!rounded) return kInf;
    // Other integers than powers of two round by shares of their own.
    const bool common = place == ScalePlace::kOperand ||
                        inputs_ == GradientInputs::kPowers || rounded->odd == 1;
    if (!common) return kInf;
    factor = *rounded;
  }
  double error = factor.wrong * scale * std::fabs(line.value[c]);
  // Where one tile holds all queries only whole heads are rounded.
  const bool whole_heads = output == GradientOutput::kDk && grad.tile_q > 0 &&
                           grad.tile_q >= problem_.q_len;
  const double unit = UnitOfSums(output, !whole_heads);
  if (!(line.span[c] * factor.odd < 1 / unit)) {
    // Every other sum rounds: those of f32 once for each term that is not 0.
    const Accumulator& sum =
        output == GradientOutput::kDq ? grad.acc_dq : grad.acc_dkv;
    if (sum.kind != Accumulator::Kind::kRn32 || unit > kU) return kInf;
    // No part of the sum, in whatever order, is larger than all its terms of
    // one sign: half of all sizes, and half of what these leave.
    const double part =
        (line.size[c] + std::fabs(line.value[c]) + line.wrong[c]) / 2;
    error += (Gamma(line.present[c] + 2, kU) * part + 2 * kU * line.size[c]) *
             scale * (1 + factor.wrong);
  }
  if (place == ScalePlace::kHead || whole_heads) {
    const auto heads = static_cast<double>(problem_.group());
    error += (Gamma(2 * heads + 2, 2 * UnitOfSums(output, false)) +
              Gamma(heads + 1, RoundoffOf(grad.dkv_state, problem_.p_lane))) *
             scale * line.heads[c] * (1 + factor.wrong);
  }
  return error;
}

double GradientEnvelope::Growth(GradientOutput output, double terms) const {
  const GradNumeric& grad = *profile_.grad;
  if (output == GradientOutput::kDsink) return Gamma(terms + 2, kU);
  const bool keys = output == GradientOutput::kDq;
  const auto tile = static_cast<double>(keys ? profile_.tile_kv : grad.tile_q);
  const auto length =
      static_cast<double>(keys ? problem_.kv_len : problem_.q_len);
  const auto sums = static_cast<double>(keys ? 1 : problem_.group());
  const Accumulator& sum = keys ? grad.acc_dq : grad.acc_dkv;
  // Masked pairs are products of zero, and every head's sum ends a block.
  const SumSteps steps =
      StepsOf(sum, terms, tile, sums * (length + tile + sum.width));
  double states = terms;
  if (tile > 0) states = std::min(terms, sums * (length / tile + 2));
  const double state =
      RoundoffOf(keys ? grad.dq_state : grad.dkv_state, problem_.p_lane);
  // The products' own roundings, the factor scale, a merge of parts.
  return Gamma(steps.count, steps.unit) + Gamma(4, kU) +
         Gamma(states + 1, state);
}

double GradientEnvelope::StateFloor(GradientOutput output) const {
  if (output == GradientOutput::kDsink) return 0;
  const bool keys = output == GradientOutput::kDq;
  const Accumulator& sum =
      keys ? profile_.grad->acc_dq : profile_.grad->acc_dkv;
  if (sum.kind == Accumulator::Kind::kBf16) return kBf16Tiny;
  return Bf16Floor(
      RoundoffOf(keys ? profile_.grad->dq_state : profile_.grad->dkv_state,
                 problem_.p_lane));
}

Bounds GradientEnvelope::Element(GradientOutput output,
                                 const oracle::GradientLine& line, size_t c,
                                 bool excluded) const {
  const bool sink = output == GradientOutput::kDsink;
  const bool scaled =
      output == GradientOutput::kDk || output == GradientOutput::kDq;
  const double scale = scaled ? problem_.scale : 1;
  const double truth = scale * line.value[c];
  if (excluded || line.open) return Anything(truth);
  if (line.terms == 0) return Only(0);
  if (std::isnan(truth)) {
    return profile_.nan == NanPolicy::kPropagate ? Only(truth)
                                                 : Anything(truth);
  }
  const auto terms =
      line.present.empty() ? static_cast<double>(line.terms) : line.present[c];
  const double size = std::fabs(scale);
  const double growth = Growth(output, terms);
  double error = size * (line.wrong[c] + growth * line.size[c] +
                         kOwnSums * line.span[c] + terms * 2 * model_.tiny) +
                 4 * kU * std::fabs(truth) + 2 * model_.tiny +
                 size * (terms + 1) * StateFloor(output);
  if (profile_.ftz) error += 0x1p-125;
  if (IsEarly(PlaceOf(*profile_.grad, output))) {
    // What is scaled before it is summed is small, or flushed, as such.
    error += std::max(1 - size, 0.0) *
             (terms * 2 * model_.tiny + (terms + 1) * StateFloor(output));
  }
  const bool exact = inputs_ == GradientInputs::kIntegers ||
                     inputs_ == GradientInputs::kPowers;
  if (exact) {
    error = std::min(error, ProbeError(output, line, c));
  }
  error *= kRoundUp;
  // A scale may move what was in range beyond it.
  if (!(error < kInf) || !(size * line.size[c] < 0x1p120)) {
    return Anything(truth);
  }
  const ValueSet set =
      RoundedSet(truth - error, truth + error, sink ? Lane::kF32 : grad_lane_,
                 profile_.out_round);
  const bool vacuous = !(error <= size * line.span[c] / 4);
  return {set, set, truth, error, error, vacuous};
}

}  // namespace lockstep::verify
