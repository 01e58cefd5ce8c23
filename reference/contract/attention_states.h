// States of attention: what a part of the keys leaves of each row (N22), in
// place of o and lse. Whoever holds the keys in several places puts the states
// together, and has the bits of one call in as many parts (N24).
#ifndef LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_STATES_H_
#define LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_STATES_H_

#include <cstdint>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {

// The weights of a state: as N9 has them first, or those of its second
// computation, which rows need whose sums overflow.
enum class WeightSize : uint8_t { kUsual, kSmall };

// Of a row that sees no key of the part: m = l = -inf, acc = +0. Of a row that
// a key or the sink makes NaN (N13): all of it is the canonical NaN.
struct AttentionStates {
  TensorView<float, 3> m;    // [batch, q_heads, q_len], integer-valued
  TensorView<float, 3> l;    // likewise: sum of the weights, without the sink's
  TensorView<float, 4> acc;  // [batch, q_heads, q_len, value_dim]
};

// That the problem has one part (split is 1), that its inputs agree with it,
// and that the states have its shapes and do not overlap.
Status Validate(const AttentionForwardProblem& problem,
                const AttentionForwardInputs& inputs,
                const AttentionStates& states);

// The shapes alone: of states that are put together, where no inputs are.
Status CheckStates(const AttentionForwardProblem& problem,
                   const AttentionStates& states);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_STATES_H_
