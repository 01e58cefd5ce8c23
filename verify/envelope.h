// Per element, the set of results that a candidate's declared arithmetic
// allows: [lo, hi] after rounding to the output lane. Outside is a proof that
// the candidate breaks its profile.
#ifndef LOCKSTEP_VERIFY_ENVELOPE_H_
#define LOCKSTEP_VERIFY_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/tensor_view.h"
#include "verify/envelope_model.h"
#include "verify/envelope_result.h"
#include "verify/oracle/attention_forward.h"
#include "verify/profile.h"

namespace lockstep::verify {

// Largest and smallest value that the rounding of some y in [lo, hi] to the
// lane gives; infinite where it overflows. A NaN end gives the whole line.
ValueSet RoundedSet(double lo, double hi, Lane lane, Rounding rounding);

// The envelope of one problem under one profile.
class AttentionEnvelope {
 public:
  // `false_alarms`: wanted probability that any of `elements` judged elements
  // of a correct candidate is called suspicious.
  AttentionEnvelope(const NumericProfile& profile,
                    const AttentionForwardProblem& problem, double elements,
                    double false_alarms = 1e-3);

  // What ComputeTruth is to be called with.
  const oracle::ErrorModel& error_model() const { return model_.weights; }
  double lambda() const { return lambda_; }

  // Element c of row r of the truth. `shares`, if not null, is increased by
  // the causes' parts of E / E.
  Bounds Output(const oracle::AttentionTruth& truth, size_t r, size_t c,
                CauseAmounts* shares = nullptr) const;
  Bounds Lse(const oracle::AttentionTruth& truth, size_t r,
             CauseAmounts* shares = nullptr) const;

 private:
  bool Excluded(const oracle::RowTruth& row) const;
  void ShareWeights(const oracle::RowTruth& row, double amount,
                    CauseAmounts* shares) const;

  NumericProfile profile_;
  AttentionForwardProblem problem_;
  EnvelopeModel model_;
  double lambda_ = 0;
};

// Rows `rows` (flat, as the truth was computed for; null: all) of the
// candidate's o [b, h, i, c] and lse [b, h, i].
EnvelopeResult JudgeOutput(const AttentionEnvelope& envelope,
                           const oracle::AttentionTruth& truth,
                           const std::vector<int64_t>* rows,
                           const LaneView& produced);
EnvelopeResult JudgeLse(const AttentionEnvelope& envelope,
                        const oracle::AttentionTruth& truth,
                        const std::vector<int64_t>* rows,
                        const TensorView<const float, 3>& produced);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ENVELOPE_H_
