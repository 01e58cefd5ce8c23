// What a host says about a call, compared with what the judge knows.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_WIRE_RECEIPT_H_
#define LOCKSTEP_VERIFY_CANDIDATE_WIRE_RECEIPT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "verify/candidate/wire/messages.h"
#include "verify/inputs/named_tensor.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// What the call was, as the judge knows it.
struct CallFacts {
  std::string door;            // "cmd": the backend of what ran as asked
  std::string name;            // of the kernel
  std::optional<int> threads;  // asked for
  double seconds = 0;          // that the call took
  int64_t heads = 1;           // of queries
};

// What of the receipt cannot be so, one line; empty: nothing is known to be
// wrong. `mask`: u8 [b, hq or 1, sq, skv], 1 where visible; null where tiles
// are not to be counted.
std::string WhyUntrue(const WireReceipt& receipt, const CallFacts& facts,
                      const NamedTensor* mask);
// Pairs and heads of a case of which tiles are counted, at most.
inline constexpr int64_t kCountedPairs = int64_t{1} << 18;

// State of the floating point unit that a kernel must not leave; empty: fine.
std::string WhyBadState(const WireReceipt& receipt);

// As the reports have it.
Execution ToExecution(const WireReceipt& receipt, const CallFacts& facts);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_WIRE_RECEIPT_H_
