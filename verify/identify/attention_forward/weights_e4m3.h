// Weights in e4m3: the numbers that they lie on.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_WEIGHTS_E4M3_H_
#define LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_WEIGHTS_E4M3_H_

#include <optional>

#include "verify/identify/attention_forward/kernel.h"

namespace lockstep::verify {

// How weights become numbers of e4m3.
struct E4m3Weights {
  double scale = 1;  // p_scale
  Normalise normalise = Normalise::kDeferred;
  LFrom l_from = LFrom::kUnrounded;
};

// Asks for 256 weights, and returns how they were rounded if they lie on the
// grid of e4m3. Where several scales explain them, the least is taken, as it
// allows most. None: no scale explains them, or there is no answer.
std::optional<E4m3Weights> FindE4m3Weights(AttentionKernel* kernel);

// Reports them: a careful author of 16-bit tensors would not choose them.
void ReportE4m3Weights(const E4m3Weights& weights, AttentionKernel* kernel);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_WEIGHTS_E4M3_H_
