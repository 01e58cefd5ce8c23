// The mask that tables are judged by, as the keys that each query sees. Only
// reference::IsVisible says what a pair is. This code knows where its answer
// may change along the keys and from query to query, and asks for one pair
// between two such places.
#ifndef LOCKSTEP_VERIFY_TABLES_INTENDED_MASK_H_
#define LOCKSTEP_VERIFY_TABLES_INTENDED_MASK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::verify {

// Keys, or queries, [begin, end).
struct KeyRange {
  int32_t begin = 0;
  int32_t end = 0;
  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

// Of the n-th tile along an axis; it may reach beyond the end.
inline KeyRange RangeOf(int64_t n, int64_t tile) {
  return {static_cast<int32_t>(n * tile), static_cast<int32_t>((n + 1) * tile)};
}

// One batch row, all query heads. Memory for every different mask: 4 bytes a
// query; 8 a range of visible keys and 8 a query for queries that do not see
// what the one before them sees.
class IntendedMask {
 public:
  // Nothing to see.
  IntendedMask() = default;

  // Without `segments` the mask that tables hold whose kernel compares segment
  // ids itself. Time: PlacesToAsk, one IsVisible each.
  //   Requires: Validate(problem, inputs, ...).ok(), batch in range, lengths
  //   below 2^31.
  static IntendedMask Of(const AttentionForwardProblem& problem,
                         const AttentionForwardInputs& inputs, int64_t batch,
                         bool segments);

  int64_t heads() const { return static_cast<int64_t>(mask_of_head_.size()); }
  int64_t q_len() const { return q_len_; }
  int64_t kv_len() const { return kv_len_; }

  // What a query sees: ascending, disjoint, none touching the next. Nothing
  // outside the mask.
  std::span<const KeyRange> Keys(int64_t head, int64_t query) const;
  // Those of them that reach into [begin, end).
  std::span<const KeyRange> Keys(int64_t head, int64_t query, int64_t begin,
                                 int64_t end) const;
  // Whether both queries see the same; neighbours that do are always known.
  bool Alike(int64_t head, int64_t a, int64_t b) const;
  // Calls visit(first, last) for one run of queries that see the same after the
  // other: all of [begin, end), of which some may lie outside of the mask.
  template <typename Visit>
  void ForAlike(int64_t head, int64_t begin, int64_t end,
                const Visit& visit) const {
    for (int64_t first = begin, last; first < end; first = last) {
      last = first + 1;
      while (last < end && Alike(head, first, last)) ++last;
      visit(first, last);
    }
  }
  // False outside the mask.
  bool At(int64_t head, int64_t query, int64_t key) const {
    return Count(head, query, key, key + 1) != 0;
  }
  // Keys of [begin, end) that a query sees.
  int64_t Count(int64_t head, int64_t query, int64_t begin, int64_t end) const;
  // The same as bits: bit n % 64 of word n / 64 for key begin + n.
  //   Requires: words for end - begin bits.
  void Bits(int64_t head, int64_t query, int64_t begin, int64_t end,
            std::span<uint64_t> words) const;
  // Visible pairs of a tile: of its queries and keys.
  int64_t PairsIn(int64_t head, KeyRange queries, KeyRange keys) const;
  // Visible pairs of a head.
  int64_t Pairs(int64_t head) const;
  // Pairs that one of two heads sees.
  int64_t Differences(int64_t a, int64_t b) const;
  // Whether two heads see the same.
  bool Same(int64_t a, int64_t b) const { return MaskOf(a) == MaskOf(b); }

 private:
  struct HeadMask {
    std::vector<int32_t> row;    // of each query; neighbours may share one
    std::vector<int64_t> start;  // of each row's ranges, and the end
    std::vector<KeyRange> ranges;
    friend bool operator==(const HeadMask&, const HeadMask&) = default;

    // The next query sees the ranges from start.back() on.
    void CloseRow();
  };
  const HeadMask& MaskOf(int64_t head) const {
    return masks_[mask_of_head_[static_cast<size_t>(head)]];
  }

  int64_t q_len_ = 0;
  int64_t kv_len_ = 0;
  std::vector<size_t> mask_of_head_;
  std::vector<HeadMask> masks_;  // of heads that differ by their expressions
};

// How many keys the masks of all heads are asked for, all but exactly and never
// too few; each may begin a range. Saturates.
//   Requires: as IntendedMask::Of.
int64_t PlacesToAsk(const AttentionForwardProblem& problem,
                    const AttentionForwardInputs& inputs, int64_t batch,
                    bool segments);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_INTENDED_MASK_H_
