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

// What the elements of a row of the truth have in common.
struct RowSlack {
  bool excluded = false;   // the profile says nothing about the row
  bool bounded = true;     // false: an ordinary row whose sums may be anything
  double numerator = 0;    // relative error of sum p v
  double denominator = 0;  // relative error of sum p
  double least = 1;        // smallest denominator, in units of the true one
  double tiny = 0;         // underflow of the sums, absolute
  double walk = 0;         // variance of the sums per square of their size
};

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

  RowSlack ForRow(const oracle::RowTruth& row) const;
  // Element c of row r of the truth, whose slack is ForRow(truth.rows[r]).
  // `shares`, if not null, is increased by the causes' parts of E / E.
  Bounds Output(const oracle::AttentionTruth& truth, size_t r, size_t c,
                const RowSlack& slack, CauseAmounts* shares = nullptr) const;
  Bounds Lse(const oracle::AttentionTruth& truth, size_t r,
             CauseAmounts* shares = nullptr) const;

 private:
  // Absolute errors of one element before they are divided by slack.least.
  struct OutputParts {
    double numerator = 0;
    double denominator = 0;
    double weights = 0;
    double division = 0;  // after the division
  };

  double Likely(const oracle::AttentionTruth& truth, size_t r, size_t at,
                const RowSlack& slack, double error) const;
  void ShareOutput(const oracle::RowTruth& row, const RowSlack& slack,
                   const OutputParts& parts, double size, double error,
                   CauseAmounts* shares) const;
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
