// Cases of an order without end, for tests: the domain's draws of order=amx, in
// that order, around edges of tiles and of blocks, half of them with numbers of
// channels around those of one block to four, a sixth with numbers that are
// flushed.
#ifndef LOCKSTEP_TESTS_FUZZ_ORDER_CASES_H_
#define LOCKSTEP_TESTS_FUZZ_ORDER_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/case/case.h"

namespace lockstep::verify {

struct OrderCase {
  Case call;
  std::string line;       // minimal
  int64_t tile_rows = 0;  // of the plans it is tried with; 0: the default
  int64_t tile_keys = 0;
};

// A pure function of the order, of the generator version and of how often
// Next() was called.
class OrderCases {
 public:
  explicit OrderCases(ProductOrder order) : order_(order) {}
  OrderCase Next();

 private:
  const ProductOrder order_;
  std::vector<Case> calls_;  // drawn and not taken yet
  uint64_t index_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_FUZZ_ORDER_CASES_H_
