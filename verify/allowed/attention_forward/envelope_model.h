// From a numeric profile to the coefficients of an error bound, each amount
// under the name of the profile field that causes it. Derivation:
// docs/envelopes.md.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ENVELOPE_MODEL_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ENVELOPE_MODEL_H_

#include <array>

#include "reference/contract/attention_forward.h"
#include "verify/allowed/cause.h"
#include "verify/oracle/attention_forward/truth.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// k roundings of relative error u each, in any order: k u / (1 - k u), +inf
// where that is no bound.
double Gamma(double k, double u);

// Relative error of one step of a sum, and its steps.
struct SumSteps {
  double unit = 0x1p-24;
  double count = 0;
  double overflow = 0x1p126;  // of its terms' sizes
};
// `n`: terms in one chain, out of `places` (masked ones are products of zero);
// `tile`: places between two restarts of the blocks.
SumSteps StepsOf(const Accumulator& how, double n, double tile, double places);

// Whether sums are cut towards zero rather than rounded.
bool Cuts(const Accumulator& how);
// Relative error that each product adds to its block's own, of the largest
// magnitude there; 0 where there are no blocks.
double BlockTerm(const Accumulator& how);

// Whether elements of the lane have no more bits than the type: a bf16 tensor
// is exact in bf16 and tf32, an f16 tensor in f16 and tf32. Of a bf16 tensor
// f16 keeps the bits, not the range.
inline bool KeepsBits(Lane lane, NumberType type) {
  if (lane == Lane::kF16) return type != NumberType::kBf16;
  return lane == Lane::kBf16 || type == NumberType::kF32;
}

// Whether every number of the lane is one of the type.
inline bool KeepsNumbers(Lane lane, NumberType type) {
  return type == NumberType::kF16 ? lane == Lane::kF16 : KeepsBits(lane, type);
}

// Relative error of one rounding to the type; `p_lane`: what `case` stands for.
double RoundoffOf(NumberType type, Lane p_lane);

// The largest finite magnitudes of the inputs: what a flushed or narrowed
// element may have stood opposite to.
struct InputRange {
  double q = 1;
  double k = 1;
  double v = 1;
  // N25: the ends of the scales of q, of k and of v, 1 among them.
  double least_q_scale = 1;
  double largest_q_scale = 1;
  double least_k_scale = 1;
  double largest_k_scale = 1;
  double least_scale = 1;
  double largest_scale = 1;
};

// What the oracle must know, and what is left for the elements.
struct EnvelopeModel {
  oracle::ErrorModel weights;
  // Amounts of the causes in each coefficient of weights.bound, in the order
  // of RowTruth::parts; parts[0] also holds the terms of R and top.
  std::array<CauseAmounts, 5> amounts{};
  CauseAmounts rescale_amounts{};    // per rescale
  CauseAmounts reference_amounts{};  // times (1 + R) top

  // The numerator's and the denominator's own relative errors for a row of
  // `visible` keys and R rescales.
  double numerator_weight = 0;  // of a rounded p, if l sums the unrounded one,
                                // of rounded v, and of quotients before V
  CauseAmounts numerator_amounts{};  // its parts
  // Of it what equal weights have in common: a factor of o, no random walk.
  double common_weight = 0;
  double operand_flush = 0;  // absolute, of v in a type of small range
  double Numerator(double visible, double rescales) const;
  double Denominator(double visible, double rescales) const;
  // Logarithms of how much larger than its terms' sum |rounded sums| can be,
  // which is finite where the relative errors above are none.
  double NumeratorGrowth(double visible, double rescales) const;
  double DenominatorGrowth(double visible, double rescales) const;
  double state = 0;      // per rescale, of o between tiles
  double division = 0;   // of the normalisation
  double normalise = 0;  // per rescale, of an eager one
  double log = 0;        // of lse's logarithm, relative to 1 + |log l|

  struct Sum {
    double unit = 0;   // relative error of one step
    double chain = 0;  // steps; 0: one per key
    double extra = 0;
    double walk = 0;  // deviation of one key's share, relative
    // Of sums in blocks, beside the above: errors of one product and of one
    // block, and how many of them there are at most; 0: one per key.
    double term = 0;
    double block = 0;
    double blocks = 0;
    // Of sums that are cut: steps where no tile is shorter than a block.
    double cuts = 0;
    double half_cut = 0x1p-24;  // half of the last place that is kept
  };
  Sum pv, l;
  // The mean that cutting takes off a score is between 0 and this part of it.
  double cut_score = 0;
  bool Cut() const { return cut_score > 0 || pv.cuts > 0 || l.cuts > 0; }
  double tiny = 0;          // absolute error of one operation near zero
  double least_growth = 0;  // of `tiny`: 1 if sums are of normalised weights
  double flush = 0;         // of the stored result
  double largest = 0;      // |sum q k| * max(1, scale...) above it may overflow
  double largest_sum = 0;  // the same for sum p |v|
  // The same for sums before the last rescale, of weights up to `early_weight`;
  // 0: no such sums.
  double largest_early = 0;
  double early_weight = 1;
  double value_scale = 1;  // N25: the largest factor of a weight
  double scale_growth = 1;
  bool biased = false;      // some rounding is one-sided: no sqrt law
  bool correlated = false;  // one rounding acts on many keys: none either
  bool unbounded = false;   // the profile bounds nothing here
};

// A sum of so many keys, added as `how` states; `extra` counts the roundings of
// an additional term.
EnvelopeModel::Sum MakeSum(const Accumulator& how, const NumericProfile& p,
                           double keys, double extra);

EnvelopeModel MakeEnvelopeModel(const NumericProfile& profile,
                                const AttentionForwardProblem& problem,
                                const InputRange& range = {});

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ENVELOPE_MODEL_H_
