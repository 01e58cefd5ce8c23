// Elements of a tensor of any lane, by index: for laws, which change inputs
// and do not care for speed.
#ifndef LOCKSTEP_VERIFY_BASE_ELEMENTS_H_
#define LOCKSTEP_VERIFY_BASE_ELEMENTS_H_

#include <array>
#include <bit>
#include <cstdint>

#include "reference/contract/numerics.h"
#include "reference/contract/tensor_view.h"
#include "reference/elementary.h"
#include "verify/base/random/deviates.h"
#include "verify/base/tensor.h"

namespace lockstep::verify {

// Index in the four logical axes.
using At = std::array<int64_t, 4>;

// `bits`: 16 or 8 of them in the lowest ones.
inline void SetElement(const MutableLaneView& view, const At& at,
                       uint32_t bits) {
  WithAnyInputLane(view.lane, [&](auto element) {
    auto& to = view.As<decltype(element)>()(at[0], at[1], at[2], at[3]);
    if constexpr (sizeof(element) == 4) {
      to = std::bit_cast<float>(bits);
    } else {
      to.bits = static_cast<decltype(to.bits)>(bits);
    }
  });
}

// The lane's bits nearest to x.
inline uint32_t BitsOf(Lane lane, double x) {
  if (IsFp8(lane)) return RoundBitsToFp8(lane, Bits(x));
  return WithAnyLane(lane, [x](auto element) -> uint32_t {
    using LaneElement = decltype(element);
    const LaneElement narrow =
        reference::ElementFrom<LaneElement>(static_cast<float>(x));
    if constexpr (sizeof(LaneElement) == 4) {
      return std::bit_cast<uint32_t>(narrow);
    } else {
      return narrow.bits;
    }
  });
}

// Calls visit(at) for every element.
template <class Visit>
void ForElements(const At& shape, const Visit& visit) {
  At at{};
  for (at[0] = 0; at[0] < shape[0]; ++at[0]) {
    for (at[1] = 0; at[1] < shape[1]; ++at[1]) {
      for (at[2] = 0; at[2] < shape[2]; ++at[2]) {
        for (at[3] = 0; at[3] < shape[3]; ++at[3]) visit(at);
      }
    }
  }
}

// Whether no two elements share a place: one row may change and another not.
inline bool Owned(const LaneTensor& tensor) {
  for (size_t axis = 0; axis < 4; ++axis) {
    if (tensor.view.shape[axis] > 1 && tensor.view.strides[axis] == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_ELEMENTS_H_
