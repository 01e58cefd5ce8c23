// Per element, the set of gradients that a candidate's declared arithmetic
// allows. Outside is a proof that the candidate breaks its profile.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_BACKWARD_ENVELOPE_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_BACKWARD_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "reference/contract/attention_backward.h"
#include "verify/allowed/attention_backward/scale_place.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/allowed/result.h"
#include "verify/oracle/attention_backward/truth.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// How far an lse of the profile that is not handed back may be from the true
// one: as far as one that is handed back, and by the division where no
// logarithm is taken.
double UnseenLseError(const AttentionEnvelope& forward,
                      const oracle::AttentionTruth& truth, size_t row);

// Why an exact probe proves nothing under the profile; empty if it does.
std::string WhyNotGradProbe(const NumericProfile& profile);

// What the inputs promise.
enum class GradientInputs : uint8_t {
  kAny,
  // A probe: P is 1 and dS an integer, whose sums are exact where no type that
  // they pass through is too narrow.
  kIntegers,
  kPowers,  // and |dS| is 1 or 2
  // A probe of equal weights: most terms of a sum are 0, the others alike.
  kSparse,
  // The same of the contract's answer, which stands in for a kernel's.
  kSparseOfContract,
};

class GradientEnvelope {
 public:
  // Requires: profile.grad. `range`: of the inputs, for profiles that flush or
  // narrow operands.
  GradientEnvelope(const NumericProfile& profile,
                   const AttentionBackwardProblem& problem,
                   const InputRange& range, GradientInputs inputs);

  // What the oracle is to be called with.
  const oracle::GradientModel& model() const { return model_; }

  // Element c of a line. `excluded`: the profile says nothing about the line.
  Bounds Element(GradientOutput output, const oracle::GradientLine& line,
                 size_t c, bool excluded) const;
  // Whether the profile leaves open what queries without a key give.
  bool LeavesEmptyOpen() const;

 private:
  // The coarsest unit roundoff that a sum passes through.
  double UnitOfSums(GradientOutput output, bool with_state) const;
  // How far a legal kernel may be from the truth of a probe; infinite where its
  // sums need not be exact.
  double ProbeError(GradientOutput output, const oracle::GradientLine& line,
                    size_t c) const;
  // The same where the scale is part of every term, or of every head's sum.
  double EarlyProbeError(GradientOutput output,
                         const oracle::GradientLine& line, size_t c) const;
  // Error of a sum of so many terms, relative to the sum of their sizes.
  double Growth(GradientOutput output, double terms) const;
  // What a rounding of the sums between tiles may be off by near zero.
  double StateFloor(GradientOutput output) const;
  double SizeOfScale(GradientOutput output) const;

  NumericProfile profile_;
  AttentionForwardProblem problem_;
  Lane grad_lane_;
  GradientInputs inputs_;
  oracle::GradientModel model_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_BACKWARD_ENVELOPE_H_
