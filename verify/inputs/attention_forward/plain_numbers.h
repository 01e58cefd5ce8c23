// The same numbers without fp8: what the law of encodings asks.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PLAIN_NUMBERS_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PLAIN_NUMBERS_H_

#include "reference/contract/status.h"
#include "verify/inputs/attention_forward.h"

namespace lockstep::verify {

// Whether N25 gives fp8 the bits of the same numbers in `lane`: scales are
// powers of two, each element times its scale is a number of the lane, and no
// product, sum or constant of a score can leave f32 or lose a bit near zero.
// With a scale of v other than 1 that holds for weights and sums, too, which
// `spread` shows: the most by which scores, and sinks, may differ.
//   Requires: data.problem.kv_lane.
bool HasPlainNumbers(const AttentionForwardData& data, double spread);

// Puts them in place of fp8, dense, and takes lanes and scales away. Errors:
// memory.  Requires: HasPlainNumbers.
Status TakePlainNumbers(AttentionForwardData* data);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PLAIN_NUMBERS_H_
