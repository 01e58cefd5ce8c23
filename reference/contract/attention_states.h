// States of attention: what each row has after one part of the keys (N22), in
// place of o and lse. If the keys are held in several places, their states can
// be joined. The result has the bits of one call with as many parts (N24).
#ifndef LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_STATES_H_
#define LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_STATES_H_

#include <cstdint>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {

// The weights of a state: N9's first weights, or those of its second
// computation. Rows whose sums overflow need the second.
enum class WeightSize : uint8_t { kUsual, kSmall };

// A row that sees no key of the part has m = l = -inf and acc = +0. A row that
// a key or the sink makes NaN (N13) has the canonical NaN everywhere.
struct AttentionStates {
  TensorView<float, 3> m;    // [batch, q_heads, q_len], integer-valued
  TensorView<float, 3> l;    // the same shape: the sum without the sink
  TensorView<float, 4> acc;  // [batch, q_heads, q_len, value_dim]
};

// Checks that the problem has one part (split is 1), that its inputs agree with
// it, and that the states have its shapes and do not overlap.
Status Validate(const AttentionForwardProblem& problem,
                const AttentionForwardInputs& inputs,
                const AttentionStates& states);

// Checks the shapes alone, for states that are joined without the inputs.
Status CheckStates(const AttentionForwardProblem& problem,
                   const AttentionStates& states);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_STATES_H_
