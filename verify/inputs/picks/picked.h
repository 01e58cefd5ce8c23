// Numbers of rows, heads, tokens or parts that a pick takes from other inputs.
#ifndef LOCKSTEP_VERIFY_INPUTS_PICKS_PICKED_H_
#define LOCKSTEP_VERIFY_INPUTS_PICKS_PICKED_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::verify {

// Says whether there is a number, and each is one of `least` .. count - 1.
inline bool AreAmong(const std::vector<int64_t>& picked, int64_t count,
                     int64_t least = 0) {
  return !picked.empty() &&
         std::all_of(picked.begin(), picked.end(),
                     [&](int64_t n) { return least <= n && n < count; });
}

// Says what is wrong with a pick that leaves its source: a mistake of the
// judge's own, which ends before anything is read or written.
inline Status NoSuchPart() {
  return Status::Error("the judge picked a part that its inputs do not have");
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_PICKS_PICKED_H_
