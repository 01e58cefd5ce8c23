// What sums that are cut towards zero take off a row in the mean. The judge
// predicts it and subtracts it from the row's errors. Only what the prediction
// leaves open counts as drift. Derivation: docs/envelopes.md, "Sums that are
// cut".
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ERRORS_CUT_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ERRORS_CUT_H_

#include <vector>

#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/allowed/attention_forward/errors_head.h"
#include "verify/oracle/attention_forward/truth.h"

namespace lockstep::verify {

class CutRow {
 public:
  CutRow() = default;  // nothing is cut
  // `largest`: |o| of the row; `abs_sum`: sum w |v|, the channels' mean.
  CutRow(const EnvelopeModel& model, const oracle::RowTruth& row,
         double largest, double abs_sum);

  // The mean of what is cut lies within `apart` of `middle`.
  struct Mean {
    double middle = 0;
    double apart = 0;
  };
  // Of the error along the direction a; `values`: a.v_j of the visible keys;
  // o and sum (w v)^2 of the row, by channel.
  Mean Along(const std::vector<float>& a, const HeadOfValues::Weights& weights,
             const std::vector<float>& values, const double* o,
             const double* square_sum) const;

  // Of one element, either way: `scores` as the largest |z|.
  double Most(double size, double square_sum, double scores) const;

 private:
  double steps_ = 0;     // acc_pv's, times u
  double weights_ = 0;   // acc_l's, times u
  double products_ = 0;  // of a product, relative to its value
  double scores_ = 0;    // of a score, relative
  bool any_ = false;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ERRORS_CUT_H_
