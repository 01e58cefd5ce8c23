// The inputs of attention for its first witness. They are in f32 and have |v|
// beside v, so that one call of the optimized kernel gives o and sum w |v|.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_WITNESS_INPUTS_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_WITNESS_INPUTS_H_

#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"

namespace lockstep::verify {

struct WitnessInputs {
  // f32 throughout, order=chain, value_dim doubled: channel c and |channel c|
  // behind all of v's. Masks, ids, counts and sinks are those of the original,
  // which has to outlive this.
  AttentionForwardProblem problem;
  AttentionForwardInputs inputs;
  LaneTensor q, k, v;

  // Limits from above, NaN or infinity where an element is none of the finite
  // numbers.
  std::vector<double> q_norm;  // Euclidean, [batch, q_heads, q_len]
  std::vector<double> k_norm;  // of the longest key, [batch, kv_heads]
  std::vector<double> value;   // largest |v|, [batch, kv_heads]
  bool finite = false;         // all of q, k, v, and no sink is NaN or +inf
};

// Errors: not enough memory.
Result<WitnessInputs> WidenForWitness(const AttentionForwardProblem& problem,
                                      const AttentionForwardInputs& inputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_WITNESS_INPUTS_H_
