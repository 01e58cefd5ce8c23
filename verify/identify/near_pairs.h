// Differences of two near numbers: they show what the numbers were rounded to,
// even where the answer itself is rounded.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_NEAR_PAIRS_H_
#define LOCKSTEP_VERIFY_IDENTIFY_NEAR_PAIRS_H_

#include <vector>

#include "reference/contract/tensor_view.h"
#include "verify/identify/models.h"

namespace lockstep::verify {

// Relative errors of an exp before its weight is rounded: accurate, hardware's,
// torch's for vectors, and the coarsest whose rounding to bf16 still shows.
inline constexpr double kExpErrors[] = {0x1p-18, 0x1p-15, 0x1p-13, 0x1p-12};

// Two near numbers, and the difference that an answer has.
struct NearPair {
  double first = 0, second = 0;
  double answer = 0;
};

// The strictest type for tensors of that lane under which the differences of
// the rounded numbers are the answers; null: none. `margin` is the relative
// error of the numbers before rounding. `out` is the relative rounding error of
// a difference, and `spacing` the absolute one besides.
const RoundingModel* FitPairs(const std::vector<NearPair>& pairs, Lane lane,
                              double margin, double out, double spacing = 0);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_NEAR_PAIRS_H_
