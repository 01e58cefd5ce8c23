// Tensors of lockstep/candidate.h as views of their memory.
#ifndef LOCKSTEP_TESTS_HOST_KERNELS_VIEWS_OF_CALL_H_
#define LOCKSTEP_TESTS_HOST_KERNELS_VIEWS_OF_CALL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/lanes.h"
#include "reference/contract/tensor_view.h"
#include "verify/host/include/lockstep/candidate.h"

namespace lockstep::tests {

inline Lane LaneOf(int32_t type) {
  if (type == LOCKSTEP_F16) return Lane::kF16;
  if (type == LOCKSTEP_E4M3) return Lane::kE4m3;
  if (type == LOCKSTEP_E5M2) return Lane::kE5m2;
  return type == LOCKSTEP_BF16 ? Lane::kBf16 : Lane::kF32;
}

inline int64_t BytesOf(int32_t type) {
  if (type == LOCKSTEP_U8 || IsFp8(LaneOf(type))) return 1;
  return type == LOCKSTEP_BF16 || type == LOCKSTEP_F16 ? 2 : 4;
}

template <size_t kRank>
void FillAxes(const lockstep_tensor& tensor, std::array<int64_t, kRank>* shape,
              std::array<int64_t, kRank>* strides) {
  for (size_t axis = 0; axis < kRank; ++axis) {
    (*shape)[axis] = tensor.shape[axis];
    (*strides)[axis] = tensor.strides[axis] / BytesOf(tensor.dtype);
  }
}

// Without a tensor the view stays as it is.
template <typename T, size_t kRank>
void Set(const lockstep_tensor* tensor, TensorView<T, kRank>* view) {
  if (tensor == nullptr) return;
  view->data = static_cast<T*>(tensor->data);
  FillAxes(*tensor, &view->shape, &view->strides);
}

template <typename Void, size_t kRank>
void Set(const lockstep_tensor* tensor, BasicLaneView<Void, kRank>* view) {
  if (tensor == nullptr) return;
  view->data = tensor->data;
  view->lane = LaneOf(tensor->dtype);
  FillAxes(*tensor, &view->shape, &view->strides);
}

inline std::vector<int64_t> IntegersOf(const lockstep_tensor& tensor) {
  TensorView<const int32_t, 1> view;
  Set(&tensor, &view);
  std::vector<int64_t> values;
  for (int64_t n = 0; n < view.shape[0]; ++n) values.push_back(view(n));
  return values;
}

}  // namespace lockstep::tests

#endif  // LOCKSTEP_TESTS_HOST_KERNELS_VIEWS_OF_CALL_H_
