// Tensors whose last element lies behind the 2^31st.
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "verify/case/attention_forward/case.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kFar = int64_t{1} << 31;

using Axes = std::array<int64_t, 4>;

// Dense but for one axis, whose positions lie far apart: 2^31 elements or a few
// more from the first to the last one.
Axes FarStrides(const Axes& shape, size_t far, int64_t more) {
  Axes strides{};
  int64_t dense = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (axis == far) continue;
    strides[axis] = dense;
    dense *= shape[axis];
  }
  const int64_t steps = shape[far] - 1;
  strides[far] = (kFar + steps - 1) / steps + more;
  return strides;
}

}  // namespace

std::vector<Case> WithFar(Draw* draw, std::vector<Case> sequence) {
  if (!draw->OneIn(40)) return sequence;
  const auto tensor = static_cast<size_t>(draw->In(0, 3));
  const auto first = static_cast<size_t>(draw->In(0, 2));
  const int64_t more = draw->In(0, 9);
  for (Case& c : sequence) {
    AttentionForwardCase& a = c.Get<AttentionForwardCase>();
    const Axes shapes[] = {{a.batch, a.q_heads, a.q_len, a.head_dim},
                           {a.batch, a.kv_heads, a.kv_len, a.head_dim},
                           {a.batch, a.kv_heads, a.kv_len, a.value_dim},
                           {a.batch, a.q_heads, a.q_len, a.value_dim}};
    std::optional<Axes>* const strides[] = {&a.strides.q, &a.strides.k,
                                            &a.strides.v, &a.strides.o};
    const Axes& shape = shapes[tensor];
    size_t axis = first;
    while (axis < first + 3 && shape[axis % 3] < 2) ++axis;
    if (axis == first + 3) continue;
    *strides[tensor] = FarStrides(shape, axis % 3, more);
  }
  return sequence;
}

}  // namespace lockstep::verify
