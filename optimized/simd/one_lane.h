// Whether a target's vectors have one lane: it has no halves, no pairs, and is
// compiled but never run.
#ifndef LOCKSTEP_OPTIMIZED_SIMD_ONE_LANE_H_
#define LOCKSTEP_OPTIMIZED_SIMD_ONE_LANE_H_

#include "hwy/highway.h"

// In #if, once per target.
#define LOCKSTEP_ONE_LANE (HWY_TARGET == HWY_SCALAR)

#endif  // LOCKSTEP_OPTIMIZED_SIMD_ONE_LANE_H_
