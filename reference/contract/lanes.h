// The number types of tensor elements (N1): one row a lane, and what turns the
// lane of a tensor into the C++ type of its elements.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_LANES_H_
#define LOCKSTEP_REFERENCE_CONTRACT_LANES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "reference/contract/numerics.h"

namespace lockstep {

// Only q, k and v may have the fp8 lanes (N25). kAdded is the lane that a
// program adds, if any (AddedLane).
enum class Lane : uint8_t { kF32, kBf16, kF16, kE4m3, kE5m2, kAdded };

struct LaneRow {
  const char* name;         // in case lines, calls and messages
  const char* safetensors;  // its type in a safetensors file
  size_t bytes;
  int digits;        // significant bits of a normal number
  int min_exponent;  // of the smallest normal number
  double largest;    // finite number
  double smallest;   // number above 0: the distance of subnormal neighbours
  double roundoff;   // relative error of a rounding to nearest
  uint32_t nan;      // the canonical one (N2), in the lower bits
};

// In the order of Lane, without kAdded.
inline constexpr std::array<LaneRow, 5> kLaneRows = {{
    {"f32", "F32", 4, 24, -126, 0x1.fffffep127, 0x1p-149, 0x1p-24,
     kCanonicalNaNBits},
    {"bf16", "BF16", 2, 8, -126, 0x1.fep127, 0x1p-133, 0x1p-8,
     kCanonicalNaNBf16Bits},
    {"f16", "F16", 2, 11, -14, 65504, 0x1p-24, 0x1p-11, kCanonicalNaNF16Bits},
    {"e4m3", "F8_E4M3", 1, 4, -6, 448, 0x1p-9, 0x1p-4, kCanonicalNaNE4m3Bits},
    {"e5m2", "F8_E5M2", 1, 3, -14, 57344, 0x1p-16, 0x1p-3,
     kCanonicalNaNE5m2Bits},
}};
// The number of leading lanes that every tensor may have.
inline constexpr size_t kWideLanes = 3;

// A lane of 16 bits that a program adds to those of the table, as
// tests/verify/toy_lane.h does. The sign is the highest bit. The reference and
// the judge treat it by this row; the kernels of optimized/ do not have it.
struct AddedLane {
  LaneRow row;
  float (*widen)(uint16_t bits);  // exact
  uint16_t (*round)(float x);     // to nearest even; of a NaN row.nan
};
// Set before the first case is read; without a name there is none.
inline constinit AddedLane added_lane{};

inline const LaneRow& LaneRowOf(Lane lane) {
  return lane == Lane::kAdded ? added_lane.row
                              : kLaneRows[static_cast<size_t>(lane)];
}
// In a table that has an entry for each of the first kWideLanes; the added lane
// takes that of f32.
inline size_t WideLaneIndex(Lane lane) {
  return lane == Lane::kAdded ? 0 : static_cast<size_t>(lane);
}
inline size_t LaneBytes(Lane lane) { return LaneRowOf(lane).bytes; }
inline const char* LaneName(Lane lane) { return LaneRowOf(lane).name; }

inline bool IsFp8(Lane lane) { return LaneBytes(lane) == 1; }

struct AddedElement {
  uint16_t bits = 0;
  friend bool operator==(AddedElement, AddedElement) = default;
};
inline float ToFloat(AddedElement x) { return added_lane.widen(x.bits); }

// Calls f with an element of the lane's type; returns what it returns.
//   Requires: one of the first kWideLanes. WithInputLane serves q,
//   k and v, WithAnyLane and WithAnyInputLane serve the added lane, too.
template <class F>
decltype(auto) WithLane(Lane lane, F&& f) {
  switch (lane) {
    case Lane::kBf16:
      return std::forward<F>(f)(Bf16{});
    case Lane::kF16:
      return std::forward<F>(f)(F16{});
    case Lane::kF32:
      return std::forward<F>(f)(float{});
    case Lane::kE4m3:
    case Lane::kE5m2:
    case Lane::kAdded:
      break;
  }
  std::abort();
}

template <class F>
decltype(auto) WithInputLane(Lane lane, F&& f) {
  if (lane == Lane::kE4m3) return std::forward<F>(f)(E4m3{});
  if (lane == Lane::kE5m2) return std::forward<F>(f)(E5m2{});
  return WithLane(lane, std::forward<F>(f));
}

template <class F>
decltype(auto) WithAnyLane(Lane lane, F&& f) {
  if (lane == Lane::kAdded) return std::forward<F>(f)(AddedElement{});
  return WithLane(lane, std::forward<F>(f));
}

template <class F>
decltype(auto) WithAnyInputLane(Lane lane, F&& f) {
  if (lane == Lane::kAdded) return std::forward<F>(f)(AddedElement{});
  return WithInputLane(lane, std::forward<F>(f));
}

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_LANES_H_
