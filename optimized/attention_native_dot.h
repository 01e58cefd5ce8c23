// Register tiles of the bf16 dot instruction (N5), in one object that is
// compiled for it; every other kernel is that of AVX3.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_NATIVE_DOT_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_NATIVE_DOT_H_

#include "optimized/attention_work.h"

namespace lockstep::optimized {

// Products of a block of rows, from panels of pairs as AVX3 packs them.
struct NativeDot {
  using Kernel = void (*)(const AttentionJob& job, const PackedTile& tile,
                          const Block& block, Worker& worker);
  Kernel scores;  // -> worker.weights
  Kernel values;  // added to worker.acc
};

// Null if this CPU has no such instruction, or if it failed its start-up
// self-test.
const NativeDot* TheNativeDot();

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_NATIVE_DOT_H_
