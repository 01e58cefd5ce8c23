#include "verify/allowed/attention_forward/envelope_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "verify/allowed/rounding.h"

namespace lockstep::verify {

double Gamma(double k, double u) {
  const double x = k * u;
  return x < 0.5 ? x / (1 - x) : kInf;
}

bool Cuts(const Accumulator& how) {
  return how.kind == Accumulator::Kind::kTrunc32 ||
         how.kind == Accumulator::Kind::kMma;
}

double BlockTerm(const Accumulator& how) {
  return how.kind == Accumulator::Kind::kMma
             ? std::ldexp(1.0, -23 - how.guard_bits)
             : 0;
}

SumSteps StepsOf(const Accumulator& how, double n, double tile, double places) {
  switch (how.kind) {
    case Accumulator::Kind::kRn32:
      break;
    case Accumulator::Kind::kTrunc32:
      return {2 * kU, n};
    case Accumulator::Kind::kMma: {
      // Each product and each block's accumulator loses less than one unit of
      // the largest one's last place and guard bits; then the block's sum is
      // cut to what the accumulator keeps. Blocks are short where a tile ends.
      const double k = std::max(how.width, 1);
      const double most =
          tile > 0 ? std::ceil(places / k) + places / tile + 1 : n;
      const double blocks = std::max(std::min(most, n), 1.0);
      const double term = BlockTerm(how);
      return {n / blocks * term + term + how.last_place(), blocks};
    }
    case Accumulator::Kind::kBf16:
      return {0x1p-8, n};
    case Accumulator::Kind::kF16:
      return {0x1p-11, n, 30000.0};
  }
  return {kU, n};
}

double RoundoffOf(NumberType type, Lane p_lane) {
  if (type == NumberType::kCase) {
    type = WeightTypeOf(p_lane);
  }
  return type == NumberType::kF32 ? 0 : UnitRoundoff(type);
}

namespace {

// Steps times their errors; the lesser of two bounds where there are blocks:
// every step a full block, or every product and every block for itself.
double StepErrors(const EnvelopeModel::Sum& sum, double visible,
                  double rescales) {
  const double chain =
      sum.chain > 0 ? std::min(sum.chain + rescales + 1, visible) : visible;
  const double steps = (chain + rescales + sum.extra) * sum.unit;
  if (!(sum.block > 0)) return steps;
  const double blocks =
      sum.blocks > 0 ? std::min(sum.blocks, visible) : visible;
  return std::min(
      steps, visible * sum.term + (blocks + rescales + sum.extra) * sum.block);
}

double SumError(const EnvelopeModel::Sum& sum, double visible, double rescales,
                double rescale_steps) {
  return Gamma(StepErrors(sum, visible, rescales), 1) +
         Gamma(rescale_steps * rescales, kU);
}

}  // namespace

double EnvelopeModel::Numerator(double visible, double rescales) const {
  return numerator_weight + SumError(pv, visible, rescales, 2) +
         Gamma(rescales + 1, state) + Gamma(rescales, normalise);
}

double EnvelopeModel::Denominator(double visible, double rescales) const {
  return SumError(l, visible, rescales, 2) + Gamma(rescales, normalise);
}

namespace {

// (1 + u)^k <= exp(k u).
double LogGrowth(const EnvelopeModel::Sum& sum, double visible,
                 double rescales) {
  return StepErrors(sum, visible, rescales) + 2 * rescales * kU;
}

}  // namespace

double EnvelopeModel::NumeratorGrowth(double visible, double rescales) const {
  return numerator_weight + LogGrowth(pv, visible, rescales) +
         (rescales + 1) * state + rescales * normalise;
}

EnvelopeModel::Sum MakeSum(const Accumulator& how, const NumericProfile& p,
                           double keys, double extra) {
  EnvelopeModel::Sum sum;
  sum.unit = sum.walk = StepsOf(how, 1, 0, 1).unit;
  sum.chain = static_cast<double>(p.chain_kv);
  sum.extra = extra;
  // Uniform between 0 and 2u, and of each product the same of a guard bit.
  if (Cuts(how)) sum.walk = std::max(how.last_place() / 2, BlockTerm(how));
  if (Cuts(how)) sum.cuts = keys;
  sum.half_cut = how.last_place() / 2;
  if (how.kind != Accumulator::Kind::kMma) return sum;
  const double k = std::max(how.width, 1);
  const auto tile = static_cast<double>(p.tile_kv);
  sum.term = BlockTerm(how);
  sum.block = sum.term + how.last_place();
  sum.unit = k * sum.term + sum.block;
  if (tile > 0) sum.blocks = std::ceil(keys / k) + keys / tile + 2;
  sum.cuts = tile > 0 ? sum.blocks : 2 * keys / k + 1;
  return sum;
}

double EnvelopeModel::DenominatorGrowth(double visible, double rescales) const {
  return LogGrowth(l, visible, rescales) + rescales * normalise;
}

}  // namespace lockstep::verify
