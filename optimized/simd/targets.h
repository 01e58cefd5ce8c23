// Which instruction sets Highway compiles the kernels for. Include before any
// Highway header, in every file that does.
//
// N4: only targets with a fused multiply-add; Highway's MulAdd is two
// operations on SSE2..SSE4. AVX3_DL and NEON add nothing that the kernels use
// to AVX3 and NEON_WITHOUT_AES. AVX3_ZEN4 and AVX3_SPR add the bf16 dot
// instruction, which has a file of its own (attention_native_dot.cc). Register
// tiles are arrays of vectors, in which the vectors of SVE, whose size is not
// known, cannot be. With AVX2 as baseline Highway compiles no fallback, which
// would never run: its MulAdd is not fused.
#ifndef LOCKSTEP_OPTIMIZED_SIMD_TARGETS_H_
#define LOCKSTEP_OPTIMIZED_SIMD_TARGETS_H_

#ifndef HWY_DISABLED_TARGETS
#ifdef LOCKSTEP_DOT_TARGET  // a file for the bf16 dot instruction alone
#define HWY_DISABLED_TARGETS 0
#define HWY_BASELINE_TARGETS HWY_AVX3_ZEN4
#define HWY_COMPILE_ONLY_STATIC
#else
#ifdef LOCKSTEP_ONE_TARGET  // sanitizer builds: AVX2 (or NEON) alone
#define HWY_DISABLED_TARGETS                                          \
  (HWY_AVX3 | HWY_AVX3_DL | HWY_AVX3_ZEN4 | HWY_AVX3_SPR | HWY_NEON | \
   HWY_NEON_BF16 | HWY_ALL_SVE)
#else
#define HWY_DISABLED_TARGETS \
  (HWY_AVX3_DL | HWY_AVX3_ZEN4 | HWY_AVX3_SPR | HWY_NEON | HWY_ALL_SVE)
#endif
#ifdef __x86_64__
#define HWY_BASELINE_TARGETS HWY_AVX2
#endif
#endif
#endif

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hwy/targets.h"

namespace lockstep::optimized {

static_assert((HWY_TARGETS & (HWY_EMU128 | HWY_SCALAR)) == 0,
              "N4: this architecture has no target with a fused multiply-add");

// These are static because they say what their own file was compiled for, and a
// program may have files of several kinds.

// Bits of the compiled targets, best first.
static inline std::vector<int64_t> CompiledTargets() {
  std::vector<int64_t> bits;
  for (int64_t bit = 1; bit > 0 && bit <= HWY_TARGETS; bit <<= 1) {
    if (HWY_TARGETS & bit) bits.push_back(bit);
  }
  return bits;
}

// The compiled target of that name, or 0.
static inline int64_t TargetBit(const std::string& name) {
  for (const int64_t bit : CompiledTargets()) {
    if (name == hwy::TargetName(bit)) return bit;
  }
  return 0;
}

// Position of a compiled target in Highway's dispatch tables:
//   HWY_DISPATCH_TABLE(Function)[DispatchIndex(bit)](...)
// is one explicit target, without Highway's process-wide choice. Where one
// target alone is compiled, the tables have one entry.
static inline size_t DispatchIndex(int64_t target_bit) {
  if ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0) return 0;
  hwy::ChosenTarget chosen;
  chosen.Update(target_bit);
  return chosen.GetIndex();
}

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_SIMD_TARGETS_H_
