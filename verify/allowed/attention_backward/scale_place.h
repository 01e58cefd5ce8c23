// Where a kernel of attention's gradients multiplies the scale in, and what the
// terms of a probe's sum become there.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_BACKWARD_SCALE_PLACE_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_BACKWARD_SCALE_PLACE_H_

#include <cstdint>
#include <optional>

#include "reference/contract/attention_forward.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

enum class GradientOutput : uint8_t { kDv, kDk, kDq, kDsink };

enum class ScalePlace : uint8_t {
  kUnsaid,   // the output has none, or the profile does not say
  kDs,       // into dS, before that is rounded
  kOperand,  // into k or q, rounded to the lane
  kHead,     // into the sum of each head
  kEnd,      // into the whole sum
};
ScalePlace PlaceOf(const GradNumeric& grad, GradientOutput output);
// Whether sums, or parts of them, are scaled before they are complete.
bool IsEarly(ScalePlace place);

// The scale after it was rounded: `wrong` relative to it, and at most `odd`
// times a power of two. 1: it is a power of two, and nothing was rounded.
struct RoundedScale {
  double wrong = 0;
  double odd = 1;
};
// As dS or an operand brings it into every term of a sum, where dS is 1 or a
// power of two, or the operand is 1. None: its type may flush or overflow it.
//   Requires: place is kDs or kOperand.
std::optional<RoundedScale> RoundedScaleAt(
    ScalePlace place, const NumericProfile& profile,
    const AttentionForwardProblem& problem);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_BACKWARD_SCALE_PLACE_H_
