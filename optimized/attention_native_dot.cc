// The only file with the bf16 dot instruction. Its functions run on CPUs of
// Highway's AVX3_ZEN4 and AVX3_SPR, which have all that it is compiled for.
#include "optimized/attention_native_dot.h"

#define LOCKSTEP_DOT_TARGET
#include "optimized/simd/targets.h"

#if defined(__x86_64__) && !defined(LOCKSTEP_ONE_TARGET)
#include "hwy/highway.h"
#include "optimized/attention_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void NativeScores(const AttentionJob& job, const PackedTile& tile,
                  const Block& block, Worker& worker) {
  BlockScores<PairDot<true>>(
      hn::ScalableTag<float>(), job, worker.q_pairs.data(), tile.k_pairs,
      static_cast<size_t>(job.head_pairs()), block, worker);
}

void NativeValues(const AttentionJob& job, const PackedTile& tile,
                  const Block& block, Worker& worker) {
  BlockValues<PairDot<true>>(hn::ScalableTag<float>(), job,
                             worker.weight_pairs.data(), tile.v_pairs, 2, block,
                             worker);
}

// N5's start-up self-test.
bool PackedDotWorks() {
  const hn::ScalableTag<float> df;
  using Pairs = hn::Vec<hn::RebindToUnsigned<decltype(df)>>;
  return DotAgrees(df, [&](hn::Vec<decltype(df)> acc, Pairs a, Pairs b)
                           HWY_ATTR { return PackedDot(df, acc, a, b); });
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace lockstep::optimized {

const NativeDot* TheNativeDot() {
  static const NativeDot kDot = {HWY_NAMESPACE::NativeScores,
                                 HWY_NAMESPACE::NativeValues};
  static const bool kWorks =
      (hwy::SupportedTargets() & (HWY_AVX3_ZEN4 | HWY_AVX3_SPR)) != 0 &&
      HWY_NAMESPACE::PackedDotWorks();
  return kWorks ? &kDot : nullptr;
}

}  // namespace lockstep::optimized

#else

namespace lockstep::optimized {
const NativeDot* TheNativeDot() { return nullptr; }
}  // namespace lockstep::optimized

#endif
