// The first witness: how far from the contract kernel's own answer a candidate
// may be so that its envelope certainly holds it. The truth of such a row need
// not be known. The proof is in docs/envelopes.md, "The first witness".
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_WITNESS_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_WITNESS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "reference/contract/attention_forward.h"
#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/allowed/result.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// What is known of a row without its truth; limits from above but for
// `visible`.
struct WitnessRow {
  int64_t visible = 0;  // keys
  double product = 0;   // of sum_d |q_d k_d|, any key
  double sink = 0;      // of |sink|, or 0
  double value = 0;     // of |v|, any key of the kv head
};

// Limits from below of E - B: the envelope of the claimed profile less that of
// the contract's arithmetic with weights in f32.
struct WitnessMargin {
  double output = 0;  // per unit of the true sum_j w_j |v_j|
  // The witness's own sum is at most so many times the true one, and so much.
  double growth = 1;
  double lost = 0;
  double lse = 0;  // of the natural logarithm
};

// The numeric contract with unrounded weights: that of the witness.
const NumericProfile& WitnessProfile();

class WitnessModel {
 public:
  // `range`: of the inputs, as for AttentionEnvelope.
  WitnessModel(const NumericProfile& profile,
               const AttentionForwardProblem& problem, const InputRange& range);

  // Why no row has a margin under this profile; empty if some may have.
  const std::string& why_not() const { return why_not_; }
  // None: nothing is known without the row's truth.
  std::optional<WitnessMargin> ForRow(const WitnessRow& row) const;

  // No more than the true sum_j w_j |v_j| where the witness has `abs_sum`.
  static double LeastSum(const WitnessMargin& margin, double abs_sum) {
    return (abs_sum - margin.lost) / margin.growth;
  }

  // Whether the envelope certainly holds x, a number of the problem's lane,
  // where the witness has `witness` and the sum `abs_sum` of w |v|, both f32.
  bool Allows(const WitnessMargin& margin, double witness, double abs_sum,
              double x) const;
  // The same of lse.  Requires: HasLse(profile).
  bool AllowsLse(const WitnessMargin& margin, double witness, double x) const;

 private:
  // Limits of a row's largest numbers.
  struct Sizes {
    double argument = 0;  // |scale q.k|, and |scale| sum |q k|
    double top = 0;       // |score|, the sink included
  };
  Sizes SizesOf(const WitnessRow& row) const;
  // No less than eta of any key, sink included.
  static double MostEta(const EnvelopeModel& model, const Sizes& sizes,
                        double rescales);
  // No more than what eta of the profile exceeds that of the witness by.
  double LeastEta(const Sizes& sizes, double rescales) const;
  // Whether the row has the envelope's ordinary formula under `model`.
  static bool Ordinary(const EnvelopeModel& model, const WitnessRow& row,
                       double rescales, double eta);
  std::string WhyNot() const;

  NumericProfile profile_;
  AttentionForwardProblem problem_;
  EnvelopeModel claimed_;
  EnvelopeModel own_;
  std::string why_not_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_WITNESS_H_
