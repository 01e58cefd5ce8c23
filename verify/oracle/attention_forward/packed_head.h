// Keys and values as the oracle's kernels read them.
#ifndef LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_PACKED_HEAD_H_
#define LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_PACKED_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::oracle {

inline size_t Size(int64_t n) { return static_cast<size_t>(n); }

// K and V of one kv head in binary64, in panels of eight keys or channels.
struct PackedHead {
  std::vector<double> k;         // [panel][head_dim][kPanel]
  std::vector<double> v;         // [channel panel][keys, padded][kPanel]
  std::vector<int64_t> special;  // keys with a non-finite v, packed as 0
  double largest_value = 0;      // finite |v| of the head
  std::vector<double> largest;   // finite |v| of each key
};

// kv head h of batch row b.
PackedHead Pack(const AttentionForwardProblem& p,
                const AttentionForwardInputs& in, int64_t b, int64_t h);

// One row [head dim] of x in binary64, elements `step` apart.
void LoadRow(const LaneView& x, int64_t b, int64_t h, int64_t position,
             double* to, int64_t step);

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_PACKED_HEAD_H_
