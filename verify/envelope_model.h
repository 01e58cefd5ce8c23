// From a numeric profile to the coefficients of an error bound, each amount
// under the name of the profile field that causes it. Derivation:
// docs/envelopes.md.
#ifndef LOCKSTEP_VERIFY_ENVELOPE_MODEL_H_
#define LOCKSTEP_VERIFY_ENVELOPE_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "reference/contract/attention_forward.h"
#include "verify/envelope_cause.h"
#include "verify/oracle/attention_forward.h"
#include "verify/profile.h"

namespace lockstep::verify {

// k roundings of relative error u each, in any order: k u / (1 - k u), +inf
// where that is no bound.
double Gamma(double k, double u);

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
  double numerator_weight = 0;  // of a rounded p, if l sums the unrounded one
  double Numerator(double visible, double rescales) const;
  double Denominator(double visible, double rescales) const;
  double state = 0;      // per rescale, of o between tiles
  double division = 0;   // of the normalisation
  double normalise = 0;  // per rescale, of an eager one
  double log = 0;        // of lse's logarithm, relative to 1 + |log l|

  struct Sum {
    double unit = 0;   // relative error of one step
    double chain = 0;  // steps; 0: one per key
    double extra = 0;
  };
  Sum pv, l;
  double tiny = 0;         // absolute error of one operation near zero
  double flush = 0;        // of the stored result
  double largest = 0;      // |sum q k| * max(1, scale...) above it may overflow
  double largest_sum = 0;  // the same for sum p |v|
  // The same for sums before the last rescale, of weights up to `early_weight`;
  // 0: no such sums.
  double largest_early = 0;
  double early_weight = 1;
  double scale_growth = 1;
  bool biased = false;      // some rounding is one-sided: no sqrt law
  bool correlated = false;  // one rounding acts on many keys: none either
  bool unbounded = false;   // the profile bounds nothing here
};

EnvelopeModel MakeEnvelopeModel(const NumericProfile& profile,
                                const AttentionForwardProblem& problem);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ENVELOPE_MODEL_H_
