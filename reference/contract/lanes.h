// The number types of tensor elements (N1): one row a lane, and what turns the
// lane of a tensor into the C++ type of its elements.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_LANES_H_
#define LOCKSTEP_REFERENCE_CONTRACT_LANES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "reference/contract/numerics.h"

namespace lockstep {

enum class Lane : uint8_t { kF32, kBf16, kF16 };

struct LaneRow {
  const char* name;         // in case lines, calls and messages
  const char* safetensors;  // its type in a safetensors file
  size_t bytes;
  int digits;        // significant bits of a normal number
  int min_exponent;  // of the smallest normal number
  double largest;    // finite number
  uint32_t nan;      // the canonical one (N2), in the lower bits

  // Distance of two neighbouring subnormal numbers.
  constexpr double smallest() const {
    double x = 1;
    for (int e = min_exponent - digits + 1; e < 0; ++e) x /= 2;
    return x;
  }
  // Relative error of a rounding to nearest.
  constexpr double roundoff() const {
    double x = 1;
    for (int n = 0; n < digits; ++n) x /= 2;
    return x;
  }
};

// In the order of Lane.
inline constexpr std::array<LaneRow, 3> kLaneRows = {{
    {"f32", "F32", 4, 24, -126, 0x1.fffffep127, kCanonicalNaNBits},
    {"bf16", "BF16", 2, 8, -126, 0x1.fep127, kCanonicalNaNBf16Bits},
    {"f16", "F16", 2, 11, -14, 65504, kCanonicalNaNF16Bits},
}};

inline const LaneRow& LaneRowOf(Lane lane) {
  return kLaneRows[static_cast<size_t>(lane)];
}
inline size_t LaneBytes(Lane lane) { return LaneRowOf(lane).bytes; }
inline const char* LaneName(Lane lane) { return LaneRowOf(lane).name; }

// Calls f with an element of the lane's type; returns what it returns.
template <class F>
decltype(auto) WithLane(Lane lane, F&& f) {
  switch (lane) {
    case Lane::kBf16:
      return std::forward<F>(f)(Bf16{});
    case Lane::kF16:
      return std::forward<F>(f)(F16{});
    case Lane::kF32:
      break;
  }
  return std::forward<F>(f)(float{});
}

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_LANES_H_
