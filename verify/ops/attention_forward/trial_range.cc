// The range that no row of attention can leave, whichever keys it sees. It
// serves rows whose envelope is not computed.
//
// o. With computed weights p_j, whatever they are,
//   o = sum p_j v_j (1 + a_j) / (sum p_j (1 + b_j) + sink),
// |a_j| <= N, |b_j| <= D < 1 of the envelope's model, p_j and the sink's
// weight at least 0: so |o| <= max |v| (1 + N) / (1 - D), and every rounding
// after it by at most 1/16 of that, which is more than any lane's. A row
// without a key is 0, or a mean of values, which is no larger.
//
// lse. It lies between the largest score and that plus ln(keys + 1), scores
// and sink being at most `largest` before roundings. A dot product of d terms
// grows by at most exp(2^-8 d) in the coarsest sums there are; four times that
// holds whatever the other roundings and the base of the logarithm are. Rows
// without a key hold -inf or +inf.
#include <algorithm>
#include <cmath>
#include <vector>

#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/base/binary64.h"
#include "verify/base/magnitude.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {
namespace {

// The largest magnitude; NaN where an element is not finite.
double Largest(const LaneView& x) {
  const Magnitude size = MagnitudeOf(x);
  return size.finite ? size.largest : NAN;
}

// The largest finite magnitude of the sinks; NaN where one is NaN or +inf.
double LargestSink(const AttentionForwardProblem& p,
                   const AttentionForwardInputs& in) {
  double largest = 0;
  for (int64_t h = 0; p.sink && h < p.q_heads; ++h) {
    const auto sink = static_cast<double>(in.sink(h));
    if (!(sink < HUGE_VAL)) return NAN;
    if (sink > -HUGE_VAL) largest = std::max(largest, std::fabs(sink));
  }
  return largest;
}

}  // namespace

std::vector<ValueSet> AttentionForwardTrial::Ranges(
    const NumericProfile& profile) const {
  const AttentionForwardProblem& p = data_.problem;
  const EnvelopeModel model =
      MakeEnvelopeModel(profile, p, RangeOf(numbers().inputs, profile));
  const double q = Largest(numbers().inputs.q);
  const double k = Largest(numbers().inputs.k);
  const double v = Largest(numbers().inputs.v);
  const double sink = LargestSink(p, data_.inputs);
  const auto keys = static_cast<double>(p.kv_len);
  const double products = q * k * static_cast<double>(p.head_dim);
  const double largest =
      std::max(1.0, std::fabs(p.scale)) * products + sink + keys;
  const double rescales =
      std::min(keys, static_cast<double>(model.weights.most_rescales));
  const double growth = std::max(model.NumeratorGrowth(keys + 1, rescales),
                                 model.DenominatorGrowth(keys + 1, rescales));
  const double dot = std::min(0x1p-8 * static_cast<double>(p.head_dim), 80.0);
  // Nothing can overflow, and the weights are relative to the maximum.
  const bool sound =
      !model.unbounded && !model.weights.fixed_reference &&
      products * ExpDouble(dot) < model.largest && growth < 80 &&
      std::max(v, 1.0) * (keys + 1) * model.early_weight * ExpDouble(growth) <
          model.largest_sum &&
      largest < 0x1p60 && profile.empty_row != EmptyRow::kUnspecified;
  if (!sound) return {};
  const double numerator = model.Numerator(keys + 1, rescales);
  const double denominator = model.Denominator(keys + 1, rescales);
  std::vector<ValueSet> ranges(2, {-HUGE_VAL, HUGE_VAL, false});
  if (numerator < 1 && denominator < 0.5) {
    const double most = v * (1 + numerator) / (1 - denominator) * (1 + 0x1p-4) +
                        model.operand_flush + 0x1p-100;
    ranges[0] = {-most, most, false};
  }
  // What a kernel without lse leaves there is not judged.
  ranges[1].nan = !HasLse(profile);
  const bool cap = p.softcap.has_value();
  const double score =
      cap ? std::min(*p.softcap, largest) : std::fabs(p.scale) * products;
  if (HasLse(profile) && profile.empty_row != EmptyRow::kZeroPosInf) {
    ranges[1].hi =
        4 * ExpDouble(dot) * (score + sink + LogDouble(keys + 1) + 1);
  }
  return ranges;
}

}  // namespace lockstep::verify
