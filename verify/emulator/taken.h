// Tensors as an emulated kernel with a bug of addresses takes them: dense, in
// memory of their own.
#ifndef LOCKSTEP_VERIFY_EMULATOR_TAKEN_H_
#define LOCKSTEP_VERIFY_EMULATOR_TAKEN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "reference/contract/lanes.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::verify {

// A place that no element of a tensor has.
inline constexpr int64_t kNowhere = -1;

// [b, h, i, c] of `shape`, in `memory`. Batch row b has the positions below
// count(b); each is in `from` at place(b, h, i), elements before its channel 0,
// or kNowhere. What is not taken are zeros.
template <class Count, class Place>
LaneView TakeDense(const LaneView& from, const std::array<int64_t, 4>& shape,
                   const Count& count, const Place& place,
                   std::vector<uint8_t>* memory) {
  const std::array<int64_t, 4> strides = DenseStrides(shape);
  const auto width = static_cast<int64_t>(LaneBytes(from.lane));
  memory->resize(static_cast<size_t>(shape[0] * strides[0] * width));
  const auto* const source = static_cast<const uint8_t*>(from.data);
  for (int64_t b = 0; b < shape[0]; ++b) {
    for (int64_t i = 0; i < count(b); ++i) {
      for (int64_t h = 0; h < shape[1]; ++h) {
        const int64_t first = place(b, h, i);
        if (first == kNowhere) continue;
        const int64_t to = b * strides[0] + h * strides[1] + i * strides[2];
        for (int64_t c = 0; c < shape[3]; ++c) {
          std::memcpy(memory->data() + (to + c) * width,
                      source + (first + c * from.strides[3]) * width,
                      static_cast<size_t>(width));
        }
      }
    }
  }
  return {memory->data(), from.lane, shape, strides};
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_TAKEN_H_
