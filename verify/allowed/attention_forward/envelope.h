// Per element, the set of results that a candidate's declared arithmetic
// allows: [lo, hi] after rounding to the output lane. Outside is a proof that
// the candidate breaks its profile.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ENVELOPE_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/tensor_view.h"
#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/allowed/result.h"
#include "verify/oracle/attention_forward/truth.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Largest and smallest value that the rounding of some y in [lo, hi] to the
// lane gives; infinite where it overflows. A NaN end gives the whole line.
ValueSet RoundedSet(double lo, double hi, Lane lane, Rounding rounding);

// What a natural logarithm is multiplied by to be stored.
double LseUnit(const NumericProfile& profile);

// The lse that are allowed within `error` of a natural one, in the base and the
// type that the profile stores.
ValueSet StoredLse(const NumericProfile& profile, double lse, double error);

// The inputs' largest finite magnitudes; ones where the profile's envelope does
// not depend on them.
InputRange RangeOf(const AttentionForwardInputs& inputs,
                   const NumericProfile& profile);

// The bound above which an element of the row proves nothing. Every weighted
// mean of its visible values, with right or wrong weights, lies within the
// largest of them. A bound of a quarter of that leaves most wrong means inside.
// If all values are below 2^-100, no element proves anything.
double VacuousError(const oracle::RowTruth& row);

// What the elements of a row of the truth have in common.
struct RowSlack {
  bool excluded = false;   // the profile says nothing about the row
  bool bounded = true;     // false: an ordinary row whose sums may be anything
  double numerator = 0;    // relative error of sum p v
  double denominator = 0;  // relative error of sum p
  double least = 1;        // smallest denominator, in units of the true one
  double tiny = 0;         // underflow of the sums, absolute
  double raise = 1;        // of the weights, where no maximum is subtracted
  double walk = 0;         // variance of the sums per square of their size
};

// The envelope of one problem under one profile.
class AttentionEnvelope {
 public:
  // `range`: of the inputs, for profiles that flush or narrow operands.
  // `false_alarms`: wanted probability that any of `elements` judged elements
  // of a correct candidate is called suspicious.
  AttentionEnvelope(const NumericProfile& profile,
                    const AttentionForwardProblem& problem, double elements,
                    double false_alarms = 1e-3, const InputRange& range = {});

  // What ComputeTruth is to be called with.
  const oracle::ErrorModel& error_model() const { return model_.weights; }
  double lambda() const { return lambda_; }
  const EnvelopeModel& model() const { return model_; }

  RowSlack ForRow(const oracle::RowTruth& row) const;
  // Element c of row r of the truth, whose slack is ForRow(truth.rows[r]).
  // `shares`, if not null, is increased by the causes' parts of E / E.
  Bounds Output(const oracle::AttentionTruth& truth, size_t r, size_t c,
                const RowSlack& slack, CauseAmounts* shares = nullptr) const;
  // Of that element before its last rounding: the variance of its error where
  // roundings are independent and small. Requires: neither model().biased nor
  // model().correlated.
  double Variance(const oracle::AttentionTruth& truth, size_t r, size_t c,
                  const RowSlack& slack) const;
  // In the base and the type of the profile. Requires: HasLse(profile).
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

  // What a sum of weights may be in units of the true one, whatever it is
  // rounded to (envelope_wide.cc).
  struct CrudeSum {
    double least = 0;
    double most = 0;  // the logarithm of the largest
  };
  std::optional<CrudeSum> CrudeSumOf(const oracle::RowTruth& row) const;
  // Of an element that Output has no bound for.
  Bounds WideOutput(const oracle::AttentionTruth& truth, size_t r, size_t c,
                    const RowSlack& slack, CauseAmounts* shares) const;
  double Likely(const oracle::AttentionTruth& truth, size_t r, size_t c,
                const RowSlack& slack, double error) const;
  double CutOff(const oracle::RowTruth& row, double size,
                double square_sum) const;
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
                           const LaneView& produced,
                           const ElementSink& each = {});
EnvelopeResult JudgeLse(const AttentionEnvelope& envelope,
                        const oracle::AttentionTruth& truth,
                        const std::vector<int64_t>* rows,
                        const TensorView<const float, 3>& produced,
                        const ElementSink& each = {});

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ENVELOPE_H_
