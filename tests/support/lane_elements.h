// Elements of a lane from and to f32, for tests.
#ifndef LOCKSTEP_TESTS_SUPPORT_LANE_ELEMENTS_H_
#define LOCKSTEP_TESTS_SUPPORT_LANE_ELEMENTS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/lanes.h"
#include "reference/contract/numerics.h"
#include "reference/elementary.h"

namespace lockstep::test {

// Elements of 16 bits: bf16 by truncation, f16 to nearest even.
inline std::vector<uint16_t> Halves(Lane lane, const std::vector<float>& x) {
  std::vector<uint16_t> halves;
  for (const float value : x) {
    halves.push_back(
        lane == Lane::kF16
            ? reference::RoundToF16(value).bits
            : static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
  }
  return halves;
}

// Elements of the lane, dense from the storage's first byte; as many as it has
// words.
inline std::vector<float> Widened(Lane lane,
                                  const std::vector<uint32_t>& elements) {
  return WithLane(lane, [&](auto element) {
    const auto* from =
        reinterpret_cast<const decltype(element)*>(elements.data());
    std::vector<float> wide;
    for (size_t i = 0; i < elements.size(); ++i) {
      wide.push_back(ToFloat(from[i]));
    }
    return wide;
  });
}

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_LANE_ELEMENTS_H_
