// Further draws of a case: the same problem with inputs that show what ordinary
// numbers hide, and the same problem, short. They follow from the case's line
// alone: the same line has the same draws everywhere.
#ifndef LOCKSTEP_VERIFY_DOMAIN_DRAWS_FURTHER_H_
#define LOCKSTEP_VERIFY_DOMAIN_DRAWS_FURTHER_H_

#include <cstdint>
#include <vector>

#include "verify/case/case.h"
#include "verify/domain/draw.h"

namespace lockstep::verify {

// Of how many positions an axis is long: its case has a short twin.
inline constexpr int64_t kLongAxis = 512;

// Draws of a case where nothing else is asked for, and most that may be.
inline constexpr int64_t kUsualFurther = 2;
inline constexpr int64_t kMostFurther = 64;

// Number of the draw of attention with a key beside many that together matter,
// and alone vanish in fp8.
inline constexpr int64_t kSmallWeights = -3;

// Draws at most `count` cases, with `small_weights` kSmallWeights, and behind
// them the short twin of a long one with draws of every kind. Of a DomainRow's
// draws -1 and -2 are those that only a long case has. A probe, a case with
// values from a file and one that is not expected to pass have none. Nor have
// ops without such draws. ValidateCase accepts each.
//   Requires: it accepts `c`; 0 <= count <= kMostFurther. 0: not even the twin.
std::vector<Case> FurtherDraws(const Case& c, int64_t count,
                               bool small_weights = false);

// Now and then a further draw of every call in place
// of the sequence. Requires: the op has such draws.
std::vector<Case> WithFurther(Draw* draw, std::vector<Case> sequence);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_DRAWS_FURTHER_H_
