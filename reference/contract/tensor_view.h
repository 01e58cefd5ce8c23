// Views of tensors that the caller owns: data, shape, strides in elements. A
// view of const is const; a view never allocates.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_TENSOR_VIEW_H_
#define LOCKSTEP_REFERENCE_CONTRACT_TENSOR_VIEW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "reference/contract/lanes.h"
#include "reference/contract/numerics.h"

namespace lockstep {

template <typename T, size_t kRank>
struct TensorView {
  T* data = nullptr;
  std::array<int64_t, kRank> shape{};
  std::array<int64_t, kRank> strides{};  // in elements

  template <typename... Index>
    requires(sizeof...(Index) == kRank)
  int64_t Offset(Index... index) const {
    const std::array<int64_t, kRank> at{static_cast<int64_t>(index)...};
    int64_t offset = 0;
    for (size_t r = 0; r < kRank; ++r) offset += at[r] * strides[r];
    return offset;
  }

  template <typename... Index>
  T& operator()(Index... index) const {
    return data[Offset(index...)];
  }
};

// Strides of a dense tensor whose last axis is contiguous.
template <size_t kRank>
std::array<int64_t, kRank> DenseStrides(
    const std::array<int64_t, kRank>& shape) {
  std::array<int64_t, kRank> strides{};
  int64_t stride = 1;
  for (size_t r = kRank; r-- > 0;) {
    strides[r] = stride;
    stride *= shape[r];
  }
  return strides;
}

// A tensor of any lane; rank 4 is [batch, head, position, channel] unless an
// op says otherwise. `Void` is `const void` for inputs, `void` for outputs.
template <typename Void, size_t kRank = 4>
struct BasicLaneView {
  template <typename T>
  using Element = std::conditional_t<std::is_const_v<Void>, const T, T>;

  Void* data = nullptr;
  Lane lane = Lane::kF32;
  std::array<int64_t, kRank> shape{};
  std::array<int64_t, kRank> strides{};  // in elements

  // Requires: lane is T's lane.
  template <typename T>
  TensorView<Element<T>, kRank> As() const {
    return {static_cast<Element<T>*>(data), shape, strides};
  }

  // An element, widened to f32, which is exact.
  template <typename... Index>
  float Float(Index... index) const {
    return WithAnyInputLane(lane, [&](auto element) {
      return ToFloat(this->As<decltype(element)>()(index...));
    });
  }
};

using LaneView = BasicLaneView<const void>;
using MutableLaneView = BasicLaneView<void>;

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_TENSOR_VIEW_H_
