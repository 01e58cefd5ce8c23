// Runs one operation of vectors on as many chains as a core can overlap.
#if defined(LOCKSTEP_BENCH_CHAINS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_BENCH_CHAINS_INL_H_
#undef LOCKSTEP_BENCH_CHAINS_INL_H_
#else
#define LOCKSTEP_BENCH_CHAINS_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Fourteen chains: two pipes of up to six cycles' latency need twelve. Named,
// because arrays of vectors spill. With two operands they fill the 16 registers
// of AVX2.
#define LOCKSTEP_CHAINS(M) \
  M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13)

// chain = step(chain) so many times on each; returns how many lanes were
// computed. The chains end in `sink`, a vector of floats: one that nobody reads
// would be removed.
template <class D, class Step>
HWY_INLINE double RunChains(D d, size_t steps, const Step& step, float* sink) {
#define LOCKSTEP_DECLARE(I) auto c##I = hn::Set(d, 1.0f + float{I});
#define LOCKSTEP_STEP(I) c##I = step(c##I);
#define LOCKSTEP_SINK(I) sum = hn::Add(sum, c##I);
  LOCKSTEP_CHAINS(LOCKSTEP_DECLARE)
  for (size_t i = 0; i < steps; ++i) {
    LOCKSTEP_CHAINS(LOCKSTEP_STEP)
  }
  auto sum = hn::Zero(d);
  LOCKSTEP_CHAINS(LOCKSTEP_SINK)
  hn::StoreU(sum, d, sink);
#undef LOCKSTEP_DECLARE
#undef LOCKSTEP_STEP
#undef LOCKSTEP_SINK
  return 14.0 * static_cast<double>(steps) * static_cast<double>(hn::Lanes(d));
}
#undef LOCKSTEP_CHAINS

}  // namespace lockstep::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
