#include "verify/base/magnitude.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "reference/contract/numerics.h"

namespace lockstep::verify {
namespace {

constexpr uint32_t kInfinityBits =
    std::bit_cast<uint32_t>(std::numeric_limits<float>::infinity());

// Magnitudes of floats compare as their bits do.
struct Bits {
  uint32_t all = 0;
  uint32_t finite = 0;
};

template <typename T>
Bits BitsOfRow(const T* from, int64_t count, int64_t step, Bits bits) {
  for (int64_t c = 0; c < count; ++c) {
    const uint32_t size =
        std::bit_cast<uint32_t>(ToFloat(from[c * step])) & 0x7fffffffu;
    bits.all = std::max(bits.all, size);
    bits.finite = std::max(bits.finite, size < kInfinityBits ? size : 0);
  }
  return bits;
}

template <typename View>
Bits BitsOf(const View& x) {
  Bits bits;
  for (int64_t b = 0; b < x.shape[0]; ++b) {
    for (int64_t h = 0; h < x.shape[1]; ++h) {
      for (int64_t i = 0; x.shape[3] > 0 && i < x.shape[2]; ++i) {
        const auto* const from = &x(b, h, i, 0);
        // Loops over contiguous elements become vectors.
        bits = x.strides[3] == 1
                   ? BitsOfRow(from, x.shape[3], 1, bits)
                   : BitsOfRow(from, x.shape[3], x.strides[3], bits);
      }
    }
  }
  return bits;
}

}  // namespace

Magnitude MagnitudeOf(const LaneView& x) {
  const Bits bits = WithAnyInputLane(
      x.lane, [&](auto element) { return BitsOf(x.As<decltype(element)>()); });
  return {static_cast<double>(std::bit_cast<float>(bits.finite)),
          bits.all < kInfinityBits};
}

}  // namespace lockstep::verify
