// The parts of laws of scale: inputs times a power of two, and the answers,
// which are then multiplied by the same power of two.
#ifndef LOCKSTEP_VERIFY_OPS_SCALE_H_
#define LOCKSTEP_VERIFY_OPS_SCALE_H_

#include <cstdint>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/ops/laws.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Values are made smaller by up to so many powers of two.
inline constexpr int64_t kMostHalvings = 24;

// Times 2^exponent; false if an element would leave the normal numbers. A
// tensor that is not there has none.
//   Requires: Owned(tensor).
bool ScaleTensor(const LaneTensor& tensor, int exponent);

// Whether the reference computes it without underflow. Errors: memory.
Result<bool> StaysNormal(const Trial& trial);

// For each output, the lines of which the reference makes 2^exponent times what
// it makes of them in `own`. Errors: memory.
//   Requires: equal shapes.
Result<std::vector<std::vector<LinePair>>> ScaledLines(const Trial& own,
                                                       const Trial& scaled,
                                                       int exponent);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_SCALE_H_
