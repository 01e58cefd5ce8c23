// Makes v a view of k, and copies it out again.
#include <utility>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/base/tensor.h"
#include "verify/inputs/attention_forward.h"

namespace lockstep::verify {

void PutValuesInKeys(AttentionForwardData* data) {
  data->v.buffer = GuardedBuffer();
  data->v.view = data->k.view;
  data->v.view.shape[3] = data->problem.value_dim;
  data->inputs.k = data->k.const_view();
  data->inputs.v = data->v.const_view();
}

Status TakeValuesOut(AttentionForwardData* data) {
  const LaneView& from = data->inputs.v;
  ASSIGN_OR_RETURN(
      LaneTensor own,
      AllocateLaneTensor(from.lane, from.shape, DenseStrides(from.shape), 0));
  ForElements(from.shape, [&](const At& at) {
    SetElement(own.view, at, ElementBits(from, at));
  });
  data->v = std::move(own);
  data->inputs.v = data->v.const_view();
  data->problem.v_in_k = false;
  return {};
}

}  // namespace lockstep::verify
