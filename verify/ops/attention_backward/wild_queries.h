// Queries of attention_backward that hold NaN or infinity, or have products
// with values that may overflow. Here is which gradients these may reach unless
// `masked_nan_safe = yes`: 0 times NaN is NaN, and so is 0 times infinity.
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
  // Borrows both. A sum of sizes from `largest` on may overflow.
  WildQueries(const AttentionBackwardData& data,
              const oracle::Gradients& gradients, double largest);

  bool Any() const;
  // Whether such a query reaches the row from behind a mask. It may reach dk
  // and dv of a key of its batch row and key head that it does not see. Where
  // it sees nothing, it may reach its own dq, and dsink of its head.
  bool Reach(const BackwardRow& row) const;
  // The channels of dv of such a key that are reached: all, but those of do
  // alone where only do is so.
  std::vector<bool> ReachedChannels(const BackwardRow& key) const;
  // Whether a weight of 0 may meet a dP, or a D, that overflows: it leaves NaN
  // in dq of the query and in dk of the key.
  bool OverflowsBehindMask(const BackwardRow& row) const;

 private:
  // Positions, ascending, by batch row and query head.
  using Queries = std::vector<std::vector<int64_t>>;

  std::vector<double> LargestValues(int64_t b, int64_t head) const;
  bool MayOverflow(int64_t b, int64_t h, int64_t i,
                   const std::vector<double>& most) const;
  bool IsBehindMask(const Queries& queries, const BackwardRow& key) const;
  bool IsWild(int64_t b, int64_t h, int64_t i) const;
  // Whether P is, whatever do holds.
  bool HasWildWeight(int64_t b, int64_t h, int64_t i) const;
  const std::vector<int64_t>& Of(int64_t b, int64_t h) const {
    return wild_[static_cast<size_t>(b * heads_ + h)];
  }

  const AttentionBackwardData& data_;
  const oracle::Gradients& gradients_;
  double largest_;
  int64_t heads_;
  Queries wild_;
  Queries overflowing_;  // of those that are not wild
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_WILD_QUERIES_H_
