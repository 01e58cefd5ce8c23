// Per element, the set of results that a candidate's declared arithmetic
// allows: [lo, hi] after rounding to the output lane. Outside is a proof that
// the candidate breaks its profile.
#ifndef LOCKSTEP_VERIFY_ENVELOPE_H_
#define LOCKSTEP_VERIFY_ENVELOPE_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/tensor_view.h"
#include "verify/envelope_model.h"
#include "verify/oracle/attention_forward.h"
#include "verify/profile.h"

namespace lockstep::verify {

// A set of numbers, and whether NaN belongs to it.
struct ValueSet {
  double lo = 0;  // lo > hi: no number
  double hi = 0;
  bool nan = false;

  // States membership: a NaN is inside only where `nan` says so.
  bool Contains(double x) const {
    return (lo <= x && x <= hi) || (nan && x != x);
  }
  bool Unbounded() const { return lo == -HUGE_VAL && hi == HUGE_VAL && nan; }
};

// Largest and smallest value that the rounding of some y in [lo, hi] to the
// lane gives; infinite where it overflows. A NaN end gives the whole line.
ValueSet RoundedSet(double lo, double hi, Lane lane, Rounding rounding);

// One element's judgement.
struct Bounds {
  ValueSet allowed;  // proof
  ValueSet likely;   // outside: suspicious; part of `allowed`
  double truth = 0;  // before rounding
  double error = 0;  // E: bound before rounding
  double likely_error = 0;
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

struct EnvelopeWitness {
  std::array<int64_t, 4> index{};
  double produced = 0;
  Bounds bounds;
};

// What judging one output tensor found.
struct EnvelopeResult {
  std::string tensor;
  int64_t expected = 0;   // elements that had to be judged
  int64_t inside = 0;     // within a bounded set
  int64_t unbounded = 0;  // where the profile excludes nothing
  int64_t outside = 0;
  int64_t unlikely = 0;  // inside, but beyond the likely set
  double worst = 0;      // largest |x - truth| / E over bounded elements
  std::optional<EnvelopeWitness> first;     // outside, in logical order
  std::optional<EnvelopeWitness> furthest;  // outside, by |x - truth| / E
  CauseAmounts shares{};  // mean parts of the slack; they sum to 1

  // The one condition for passing: something was judged, all of it, and every
  // element lies inside a set.
  bool Passed() const {
    return expected > 0 && inside + unbounded == expected && outside == 0;
  }
  bool Suspicious() const { return unlikely > 0; }
  // Nothing could have failed.
  bool Vacuous() const { return inside == 0; }
  // "91 % from p", the largest share.
  std::string Dominant() const;
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
