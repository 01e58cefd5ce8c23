// Loops of the bf16 dot instruction, which has an object of its own as in
// optimized/attention_native_dot.cc.
#ifndef LOCKSTEP_BENCH_NATIVE_DOT_H_
#define LOCKSTEP_BENCH_NATIVE_DOT_H_

#include <cstddef>

namespace lockstep::bench {

// Each returns its flop. Requires: optimized::TheNativeDot().

// Runs chains of the instruction; `sink`: one vector.
double RunBf16Dot(size_t steps, float* sink);

// Run one register tile of 128 steps: `a` is broadcast, `b` a panel, `c` the
// output. They have 8 * 128, 128 * 32 and 8 * 128 elements.
double ScoreBf16(const float* a, const float* b, float* c);
double ValueBf16(const float* a, const float* b, float* c);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_NATIVE_DOT_H_
