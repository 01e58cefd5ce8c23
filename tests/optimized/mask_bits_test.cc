// Mask bits as the kernels read them, on vectors of four lanes too: those of
// targets that this machine may not have.
#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"
#include "optimized/simd/targets.h"
// After targets.h.
#include "hwy/highway.h"
#include "optimized/attention_weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace {

TEST(MaskBits, FourLanesMayStartWithinAByte) {
  const hn::CappedTag<float, 4> df;
  const uint8_t bits[16] = {0xa5, 0x3c, 0x0f, 0xf0, 0x96, 0x01, 0x80, 0x7e};
  const size_t lanes = hn::Lanes(df);
  for (size_t j = 0; j < 64; j += lanes) {
    float seen[4] = {};
    const auto mask = VisibleFrom(df, bits, j);
    hn::StoreU(hn::IfThenElseZero(mask, hn::Set(df, 1.0f)), df, seen);
    for (size_t lane = 0; lane < lanes; ++lane) {
      const size_t key = j + lane;
      EXPECT_EQ(seen[lane] != 0.0f, (bits[key / 8] >> (key % 8) & 1) != 0)
          << key;
    }
  }
}

}  // namespace
}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
