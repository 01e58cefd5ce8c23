#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/allowed/rounding.h"

#include <algorithm>
#include <array>

namespace lockstep::verify {
const char* CauseName(Cause cause) {
  static constexpr std::array<const char*, kCauses> kNames = {
      "acc_qk",     "scale_at",  "score",     "cap_div",  "tanh_rel",
      "exp_rel",    "shift",     "max",       "p",        "acc_pv",
      "acc_l",      "state",     "normalise", "division", "out_round",
      "operand_qk", "operand_v", "tile_kv",   "splits",   "underflow",
      "oracle"};
  return kNames[static_cast<size_t>(cause)];
}

double Gamma(double k, double u) {
  const double x = k * u;
  return x < 0.5 ? x / (1 - x) : kInf;
}

namespace {

double SumError(const EnvelopeModel::Sum& sum, double visible, double rescales,
                double rescale_steps) {
  const double chain =
      sum.chain > 0 ? std::min(sum.chain + rescales + 1, visible) : visible;
  return Gamma(chain + rescales + sum.extra, sum.unit) +
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
  const double chain =
      sum.chain > 0 ? std::min(sum.chain + rescales + 1, visible) : visible;
  return (chain + rescales + sum.extra) * sum.unit + 2 * rescales * kU;
}

}  // namespace

double EnvelopeModel::NumeratorGrowth(double visible, double rescales) const {
  return numerator_weight + LogGrowth(pv, visible, rescales) +
         (rescales + 1) * state + rescales * normalise;
}

double EnvelopeModel::DenominatorGrowth(double visible, double rescales) const {
  return LogGrowth(l, visible, rescales) + rescales * normalise;
}

}  // namespace lockstep::verify
