// Subnormals as zeros, operands and results, for the sums of N20. The only
// place that changes the processor's arithmetic, and it changes it back.
#ifndef LOCKSTEP_OPTIMIZED_SIMD_FLUSH_SCOPE_H_
#define LOCKSTEP_OPTIMIZED_SIMD_FLUSH_SCOPE_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lockstep::optimized {

// x86 flushes what is subnormal after rounding, as N20 wants it. Others, ARM
// among them, look before they round.
#if defined(__x86_64__)
inline constexpr bool kCanFlush = true;

// Arithmetic between construction and destruction flushes. The compiler knows
// nothing of that: numbers have to be loaded and results stored in between,
// which the barriers keep there.
class FlushScope {
 public:
  explicit FlushScope(bool flush) : flush_(flush), before_(_mm_getcsr()) {
    constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
    if (flush_) _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero);
    asm volatile("" ::: "memory");
  }
  ~FlushScope() {
    asm volatile("" ::: "memory");
    if (flush_) _mm_setcsr(before_);
  }
  FlushScope(const FlushScope&) = delete;
  FlushScope& operator=(const FlushScope&) = delete;

 private:
  bool flush_;
  unsigned before_;
};
#else
inline constexpr bool kCanFlush = false;

class FlushScope {
 public:
  explicit FlushScope(bool) {}
};
#endif

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_SIMD_FLUSH_SCOPE_H_
