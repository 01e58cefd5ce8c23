// Faults of where the results of an emulated kernel go.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_STORES_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_STORES_H_

#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/emulator/attention_forward/faults.h"
#include "verify/emulator/attention_forward/variant.h"

namespace lockstep::verify {

// All of o [batch, q_heads, q_len, value_dim] and lse [batch, q_heads, q_len],
// as a kernel with the dial's fault leaves them in memory.
void BreakStores(const AttentionForwardProblem& problem,
                 const AttentionVariant& variant, const FaultDial& dial,
                 std::vector<float>* o, std::vector<float>* lse);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_STORES_H_
