// Inputs of attention made of another's: batch rows, heads, queries and keys
// chosen and put in order, and padding behind them, without drawing anything.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PICK_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PICK_H_

#include <cstdint>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/case/attention_forward/case.h"
#include "verify/inputs/attention_forward.h"

namespace lockstep::verify {

// Where everything comes from; the order is that of the new inputs.
struct AttentionPick {
  std::vector<int64_t> rows;     // batch rows
  std::vector<int64_t> q_heads;  // each group of them reads one key head
  std::vector<int64_t> kv_heads;
  int64_t first_query = 0;
  int64_t queries = 0;  // from first_query on
  int64_t first_key = 0;
  int64_t keys = 0;  // from first_key on
  bool sink = true;  // false: without the source's sink
  // Queries and keys behind these, which valid counts leave out. Their numbers
  // are those of other positions times the factor, which the sums of a kernel
  // that let them in would show.
  int64_t padding = 0;
  double padding_factor = 4;
  // Whether the inputs carry valid counts: the source's, or of all of them.
  bool counts = false;
};

// Everything, where it is.
AttentionPick PickAll(const AttentionForwardData& from);

// Alignment is that of the source's first picked row, shifted to the first
// query and key. Layout is that of `to`, whose extents the pick decides. Terms
// of a mask that count from elsewhere than the picked keys have become dense
// ones.
//   Errors: memory, a pick that leaves the source.
Result<AttentionForwardData> PickAttention(const AttentionForwardData& from,
                                           const AttentionPick& pick,
                                           AttentionForwardCase* to);

// The case alone: extents, counts, alignment, masks and segments. A pick that
// leaves the source leaves it as it is.
void DescribePick(const AttentionForwardData& from, const AttentionPick& pick,
                  AttentionForwardCase* to);

// Rows of a tensor [b, h, s, c] of queries, which the pick moves like q.
//   Errors: memory, a pick that leaves the tensor.
Result<LaneTensor> PickQueries(const LaneTensor& from,
                               const AttentionPick& pick, Layout layout);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PICK_H_
