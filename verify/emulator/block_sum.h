// Sums of products in blocks, flushed, as matrix units form them (N20), and in
// ways that are not theirs. Written independently of reference/.
#ifndef LOCKSTEP_VERIFY_EMULATOR_BLOCK_SUM_H_
#define LOCKSTEP_VERIFY_EMULATOR_BLOCK_SUM_H_

#include <cstdint>

namespace lockstep::verify {

// As N20 has it; anything else is wrong.
struct BlockRules {
  int64_t length = 32;
  bool odd_first = false;  // one chain a block, the odd one of a pair first
  bool flushed = true;     // subnormal factors, and sums after rounding
  bool from_sum = false;   // the even chain goes on from the sum before
};

class BlockSum {
 public:
  explicit BlockSum(const BlockRules& rules) : rules_(rules) {}

  // a * b at `index` of the sum's axis. Indices that are left out are zeros.
  // Requires: indices ascend.
  void Add(int64_t index, float a, float b);
  float Result();

 private:
  void Close();
  void Chain(int64_t index, float a, float b);
  float MulAdd(float a, float b, float c) const;
  float Flush(float x) const;

  const BlockRules rules_;
  float sum_ = 0;
  int64_t block_ = 0;
  float chains_[2] = {};
  // Where the odd one of a pair is first: the even one.
  bool waits_ = false;
  int64_t waiting_pair_ = 0;
  float waiting_a_ = 0, waiting_b_ = 0;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_BLOCK_SUM_H_
