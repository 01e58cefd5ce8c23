// The first stage of a plan: from ids, one a token, to segments of a row.
#ifndef LOCKSTEP_OPTIMIZED_PACKED_ROWS_H_
#define LOCKSTEP_OPTIMIZED_PACKED_ROWS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::optimized {

// Half open; empty where end <= begin.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  bool empty() const { return end <= begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

// Neighbouring tokens with one id.
struct IdRun {
  int32_t id = 0;
  Range tokens;
  friend bool operator==(const IdRun&, const IdRun&) = default;
};

// Runs of row `batch` of ids [batch, length], by position. Time O(length).
std::vector<IdRun> RunsOf(const TensorView<const int32_t, 2>& ids,
                          int64_t batch);

// Sorts runs by id, then by position: those of one id are one segment, whatever
// lies between. Returns how many segments there are.
int64_t JoinSegments(std::vector<IdRun>* runs);

// What a packer says of its rows beside their ids. What is empty is not
// checked.
struct PackedCounts {
  std::vector<int64_t> valid;      // [batch]: tokens before padding
  std::vector<int64_t> documents;  // [batch]
  std::vector<int64_t> loss_mask;  // [batch, length]
};

// Checks that ids [batch, length] are whole documents back to back, then
// padding. Ids rise and never come back, and nothing follows padding `pad`.
// `counts` agree with the ids, and no padding has a loss.
// Errors: the first row and token that break a rule, and the rule.
Status CheckPacked(const TensorView<const int32_t, 2>& ids,
                   std::optional<int32_t> pad, const PackedCounts& counts);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_PACKED_ROWS_H_
