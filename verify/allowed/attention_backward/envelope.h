// Per element, the set of gradients that a candidate's declared arithmetic
// allows. Outside is a proof that the candidate breaks its profile.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_BACKWARD_ENVELOPE_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_BACKWARD_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "reference/contract/attention_backward.h"
#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/allowed/result.h"
#include "verify/oracle/attention_backward/truth.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Why a probe proves nothing under the profile; empty if it does.
std::string WhyNotGradProbe(const NumericProfile& profile);

enum class GradientOutput : uint8_t { kDv, kDk, kDq, kDsink };

class GradientEnvelope {
 public:
  // Requires: profile.grad. `range`: of the inputs, for profiles that flush or
  // narrow operands. `probe`: the inputs are those of a probe, whose sums are
  // exact where no type that they pass through is too narrow.
  GradientEnvelope(const NumericProfile& profile,
                   const AttentionBackwardProblem& problem,
                   const InputRange& range, bool probe);

  // What the oracle is to be called with.
  const oracle::GradientModel& model() const { return model_; }

  // Element c of a line. `excluded`: the profile says nothing about the line.
  Bounds Element(GradientOutput output, const oracle::GradientLine& line,
                 size_t c, bool excluded) const;
  // Whether the profile leaves open what queries without a key give.
  bool LeavesEmptyOpen() const;

 private:
  // Whether a sum of integers of that size is exact in every order.
  bool SumsExactly(GradientOutput output, double span) const;
  // Relative error of a sum of so many terms, per sum of their sizes.
  double Growth(GradientOutput output, double terms) const;
  // What a rounding of the sums between tiles may be off by near zero.
  double StateFloor(GradientOutput output) const;

  NumericProfile profile_;
  AttentionForwardProblem problem_;
  Lane grad_lane_;
  bool probe_;
  oracle::GradientModel model_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_BACKWARD_ENVELOPE_H_
