// Keys and values of attention in pages: a pool of pages that batch rows find
// theirs in by a table. The mathematics is that of k and v where they lie
// together; only addresses differ.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_PAGES_H_
#define LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_PAGES_H_

#include <cstdint>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {

// In place of k and v. Key j of batch row b lies in slot j mod `size` of page
// table(b, floor(j / size)). Slots of keys at or after valid_kv, and entries of
// the table behind the last page with a valid key, are never read: they may
// hold anything.
struct KeyPages {
  int64_t size = 0;                    // keys of a page
  LaneView k;                          // [pages, kv_heads, size, head_dim]
  LaneView v;                          // [pages, kv_heads, size, value_dim]
  TensorView<const int32_t, 2> table;  // [batch, ceil(kv_len / size)]

  int64_t pages() const { return k.shape[0]; }
};

inline constexpr int64_t kMaxPageSize = int64_t{1} << 16;

// The same inputs with k and v that have the problem's shapes and lead into the
// pool, to be followed by the table. For checks of all else; no element may be
// read by these strides.
AttentionForwardInputs WithoutPages(const AttentionForwardInputs& inputs,
                                    const AttentionForwardProblem& problem,
                                    const KeyPages& pages);

// Whether the pool and the table fit the problem and the counts of `inputs`.
// Checked are shapes, lanes, contiguous channels, and that each entry which is
// read names a page of the pool. k and v of `inputs` are not read.
//   Requires: Validate(problem).ok().
Status CheckKeyPages(const AttentionForwardProblem& problem,
                     const AttentionForwardInputs& inputs,
                     const KeyPages& pages);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_PAGES_H_
