// The keys that one query sees, as ranges: what exact tile classes, element
// bits and planning are made of. Written apart from reference/mask.cc, which
// says what a mask means.
#ifndef LOCKSTEP_OPTIMIZED_ROW_KEYS_H_
#define LOCKSTEP_OPTIMIZED_ROW_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "optimized/packed_rows.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/mask.h"

namespace lockstep::optimized {

// Selection counts what the queries of one head see, before tiles.
struct Selection {
  int64_t queries = 0;  // that see a key
  int64_t pairs = 0;    // of such a query and a key that it sees
};

// Rounds down. Requires: b > 0.
int64_t FloorDiv(int64_t a, int64_t b);

// Sets bits [keys.begin, keys.end), clipped to the words.
void SetBits(Range keys, std::span<uint64_t> words);

// Clears all bits but [keys.begin, keys.end). Returns the range from the first
// one left to the last.
Range KeepBits(Range keys, std::span<uint64_t> words);

// Keys that a term shows to the query at `position` of the key axis, where
// they are one range; it may reach beyond the row. Absent for sink, dense, and
// and or.
std::optional<Range> TermKeys(const MaskExpr& mask, int64_t batch,
                              int64_t position, int64_t kv_len);

// The visible keys of the queries of one batch row. A conjunction of ranges
// costs O(terms) a query, and O(r) more where the query's id has r runs of
// keys. An "or" costs the sum of its terms, sorted. A dense term costs the keys
// that the other terms of its "and" leave.
class RowKeys {
 public:
  // Time O(kv_len + runs * log(runs)), memory O(runs). Keeps references to
  // problem and inputs. Without `segments` the ids of the inputs do not count,
  // as if the problem had none.
  //   Requires: Validate(problem, inputs, ...).ok().
  RowKeys(const AttentionForwardProblem& problem,
          const AttentionForwardInputs& inputs, int64_t batch, bool segments);
  RowKeys(const RowKeys&) = delete;
  RowKeys& operator=(const RowKeys&) = delete;

  // Ascending, disjoint, none touching the next; good until the next call.
  std::span<const Range> Visible(int64_t head, int64_t query);
  // Counts them, over all queries.
  Selection Select(int64_t head);

 private:
  void SelectRuns(int32_t id);
  void SelectHead(int64_t head);
  void Push(const MaskExpr& mask, Range clip);
  void PushDense(const MaskExpr& mask, Range clip);
  void PushAnd(const MaskExpr& mask, Range clip);
  void PushOr(const MaskExpr& mask, Range clip);
  void IntersectTop(size_t base, size_t middle);

  const AttentionForwardProblem* problem_;
  const AttentionForwardInputs* inputs_;
  int64_t batch_;
  bool segments_;
  int64_t valid_q_;
  int64_t valid_kv_;
  int64_t offset_;
  std::vector<IdRun> runs_;  // of keys, by id, then by position

  // Of the head at hand: the terms of a mask that is a conjunction of ranges,
  // empty for any other.
  int64_t head_ = -1;
  std::vector<const MaskExpr*> ranges_;

  // Of the query at hand.
  int64_t query_ = 0;
  int64_t position_ = 0;
  std::span<const IdRun> own_;  // runs of its id
  std::vector<Range> stack_;    // results of terms, the innermost on top
  std::vector<Range> merged_;   // one intersection in the making
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ROW_KEYS_H_
