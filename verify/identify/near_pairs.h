// Differences of two near numbers: they show what the numbers were rounded to,
// even where the answer itself is rounded.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_NEAR_PAIRS_H_
#define LOCKSTEP_VERIFY_IDENTIFY_NEAR_PAIRS_H_

#include <vector>

#include "reference/contract/tensor_view.h"
#include "verify/identify/models.h"

namespace lockstep::verify {

// What an exp may be off by before its weight is rounded: accurate, hardware's,
// torch's for vectors, and the coarsest whose rounding to bf16 still shows.
inline constexpr double kExpErrors[] = {0x1p-18, 0x1p-15, 0x1p-13, 0x1p-12};

// Two near numbers, and the difference that an answer has.
struct NearPair {
  double first = 0, second = 0;
  double answer = 0;
};

// The strictest type that numbers of tensors of that lane may be rounded to
// whose differences are the answers; null: none. `margin`: how far the numbers
// may be off, relative to them; `out`: what a difference may be rounded by;
// `spacing`: and besides, however small it is.
const RoundingModel* FitPairs(const std::vector<NearPair>& pairs, Lane lane,
                              double margin, double out, double spacing = 0);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_NEAR_PAIRS_H_
