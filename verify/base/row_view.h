// Numbers of rows, such as lse, without the axis of their one channel.
#ifndef LOCKSTEP_VERIFY_BASE_ROW_VIEW_H_
#define LOCKSTEP_VERIFY_BASE_ROW_VIEW_H_

#include "reference/contract/tensor_view.h"

namespace lockstep::verify {

// [b, h, i, 1] -> [b, h, i], the same memory.
//   Requires: x.lane is f32.
template <typename Void>
TensorView<typename BasicLaneView<Void>::template Element<float>, 3> RowView(
    const BasicLaneView<Void>& x) {
  const auto all = x.template As<float>();
  const auto& n = all.shape;
  const auto& s = all.strides;
  return {all.data, {n[0], n[1], n[2]}, {s[0], s[1], s[2]}};
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_ROW_VIEW_H_
