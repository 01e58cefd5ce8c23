// Queries of attention_backward that hold NaN or infinity, and which gradients
// these may reach unless `masked_nan_safe = yes`: 0 times NaN is NaN.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_WILD_QUERIES_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_WILD_QUERIES_H_

#include <cstdint>
#include <vector>

#include "verify/inputs/attention_backward/data.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/oracle/attention_backward/truth.h"

namespace lockstep::verify {

class WildQueries {
 public:
  // Borrows both.
  WildQueries(const AttentionBackwardData& data,
              const oracle::Gradients& gradients);

  // Whether such a query reaches the row from behind a mask: dk and dv of a
  // key of its batch row and key head that it does not see; its own dq, and
  // dsink of its head, where it sees nothing.
  bool Reach(const BackwardRow& row) const;
  // The channels of dv of such a key that are reached: all, but those of do
  // alone where only do is so.
  std::vector<bool> ReachedChannels(const BackwardRow& key) const;

 private:
  bool IsWild(int64_t b, int64_t h, int64_t i) const;
  // Whether P is, whatever do holds.
  bool HasWildWeight(int64_t b, int64_t h, int64_t i) const;
  const std::vector<int64_t>& Of(int64_t b, int64_t h) const {
    return wild_[static_cast<size_t>(b * heads_ + h)];
  }

  const AttentionBackwardData& data_;
  const oracle::Gradients& gradients_;
  int64_t heads_;
  std::vector<std::vector<int64_t>> wild_;  // queries, by batch row and head
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_WILD_QUERIES_H_
