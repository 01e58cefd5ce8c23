// Faults of where the results of an emulated kernel go.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_STORES_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_STORES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/emulator/attention_forward/faults.h"
#include "verify/emulator/attention_forward/row.h"
#include "verify/emulator/attention_forward/variant.h"

namespace lockstep::verify {

// Rows are counted over [batch, q_heads, q_len].

// What is found in memory where `row` is due; `computed`: what the kernel has
// made of a row.
RowResult StoredRow(const AttentionForwardProblem& problem,
                    const AttentionVariant& variant, const FaultDial& dial,
                    int64_t row,
                    const std::function<const RowResult&(int64_t)>& computed);

// Rows before an empty one that it may hold in place of its own, for a fault.
inline constexpr int64_t kRowsKept = 64;

// The rows, ascending, that the kernel has to compute so that the `wanted` ones
// are right, or wrong as the dial says. Results may be stored elsewhere, and
// state may be left from another row.
std::vector<int64_t> RowsNeeded(const AttentionForwardProblem& problem,
                                const AttentionVariant& variant,
                                const FaultDial& dial,
                                std::span<const int64_t> wanted);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_STORES_H_
