// Keys of one row with weights so nearly equal that a kernel rounds them alike.
// Their errors add up linearly, not as a random walk.
#ifndef LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_EQUAL_WEIGHTS_H_
#define LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_EQUAL_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "verify/oracle/attention_forward/truth.h"

namespace lockstep::oracle {

// One row, its weights not yet divided by their sum.
struct WeightedRow {
  std::span<const double> p;       // per lane of the panels, 0: no key
  std::span<const double> spread;  // (p psi)^2
  double inverse = 0;              // 1 / sum p
  std::span<const int64_t> panels;
  std::span<const double> v;  // [channel panel][key][kPanel]
  size_t keys = 0;
  int bits = 0;  // weights that agree in so many leading bits are equal
};

class EqualWeights {
 public:
  // Makes keys of equal weights one term each of square_sum and spread_sum of
  // the truth's row `place`, where they carry a quarter of them.
  void Add(const WeightedRow& row, size_t place, AttentionTruth* truth);

 private:
  bool Find(std::span<const double> p, int bits);
  uint32_t GroupOf(uint64_t key);

  double repeats_ = 1;            // sum over groups of (sum p)^2, over sum p^2
  std::vector<uint32_t> slots_;   // hash table of groups, 0: free
  std::vector<uint64_t> keys_;    // per group
  std::vector<double> sums_;      // per group
  std::vector<uint32_t> groups_;  // per lane
  std::vector<uint32_t> lanes_;   // group after group
  std::vector<uint32_t> ends_;    // per group: in lanes_
};

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_EQUAL_WEIGHTS_H_
