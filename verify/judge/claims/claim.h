// What the judge found of one claim of a kernel, on one case.
#ifndef LOCKSTEP_VERIFY_JUDGE_CLAIMS_CLAIM_H_
#define LOCKSTEP_VERIFY_JUDGE_CLAIMS_CLAIM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/base/compare.h"
#include "verify/profile/claims.h"

namespace lockstep::verify {

// How much one claim of one case may cost.
struct ClaimBudget {
  // Multiply-adds of all calls, where an element of an input counts as
  // kElementCost. The case's own size is tried whatever it costs.
  int64_t work = int64_t{1} << 26;
  // Seconds on the clock, after which no other pair begins.
  double seconds = 10;
  int64_t runs = 50;  // of claim repeat, on the case itself
};

enum class ClaimState : uint8_t {
  kKept,
  kBroken,
  kNotApplicable,  // it says nothing of this op or case
  kNotRun,         // it says something, and no pair was compared
};
const char* ClaimStateName(ClaimState state);

struct ClaimTried {
  Claim claim = Claim::kRepeat;
  ClaimState state = ClaimState::kNotRun;
  bool claimed = false;  // by the profile: then a break is a finding
  std::string why_not;   // of kNotApplicable and kNotRun, one line
  int64_t pairs = 0;     // of calls that were compared
  int64_t broken = 0;    // of these, those that differ
  int64_t runs = 0;      // of the kernel
  int64_t elements = 0;  // compared, over all pairs
  int64_t differing = 0;
  uint64_t max_ulp = 0;
  // Largest sizes of which a pair was compared.
  int64_t longest = 0;     // keys, or tokens
  int64_t widest = 0;      // in `unit`; 0: the claim has no width
  bool cut_short = false;  // the budget ended before the list of sizes
  std::vector<std::string> refused;  // pairs that the kernel does not compute

  // Of kBroken: the smallest pair that was found to differ.
  std::string pair;  // "batch row 1 alone, and in a batch of 5"
  std::optional<Comparison> difference;  // of its first output that differs
  std::string whole_line;                // case line of its larger call
  std::string part_line;                 // and of the other one
  // Where it begins: the length, and the width in `unit`. 0: no such thing.
  int64_t begins_length = 0;
  std::string length_unit;  // "keys", "tokens"
  int64_t begins_width = 0;
  std::string unit;  // "batch rows", "queries a chunk", "heads", "splits"
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_CLAIMS_CLAIM_H_
