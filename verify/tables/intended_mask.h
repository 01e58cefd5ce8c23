// The mask that tables are judged by: every pair, by the meaning of the mask.
#ifndef LOCKSTEP_VERIFY_TABLES_INTENDED_MASK_H_
#define LOCKSTEP_VERIFY_TABLES_INTENDED_MASK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"

namespace lockstep::verify {

// One batch row, all query heads. Memory: one byte a pair and head.
class IntendedMask {
 public:
  // Nothing visible.
  IntendedMask(int64_t heads, int64_t q_len, int64_t kv_len);

  // By reference::IsVisible, pair by pair. Without `segments` the mask that
  // tables hold whose kernel compares segment ids itself.
  //   Requires: Validate(problem, inputs, ...).ok(), batch in range.
  static IntendedMask Of(const AttentionForwardProblem& problem,
                         const AttentionForwardInputs& inputs, int64_t batch,
                         bool segments);

  int64_t heads() const { return static_cast<int64_t>(bits_.size()); }
  int64_t q_len() const { return q_len_; }
  int64_t kv_len() const { return kv_len_; }

  // False outside the mask.
  bool At(int64_t head, int64_t i, int64_t j) const {
    return i >= 0 && j >= 0 && i < q_len_ && j < kv_len_ &&
           bits_[static_cast<size_t>(head)]
                [static_cast<size_t>(i * kv_len_ + j)] != 0;
  }
  // Requires: indices in range.
  void Set(int64_t head, int64_t i, int64_t j, bool visible) {
    bits_[static_cast<size_t>(head)][static_cast<size_t>(i * kv_len_ + j)] =
        visible;
  }
  // Whether two heads see the same.
  bool Same(int64_t a, int64_t b) const {
    return bits_[static_cast<size_t>(a)] == bits_[static_cast<size_t>(b)];
  }

 private:
  int64_t q_len_;
  int64_t kv_len_;
  std::vector<std::vector<uint8_t>> bits_;  // [head][i * kv_len + j]
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_INTENDED_MASK_H_
