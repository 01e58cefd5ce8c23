#include "reference/contract/attention_backward.h"

#include <array>
#include <cstdint>
#include <string>

#include "reference/contract/attention_checks.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/checks.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {
namespace {

using checks::CheckLaneTensor;
using checks::CheckNoOverlap;
using checks::CheckTensor;
using Shape4 = std::array<int64_t, 4>;

Status CheckGivenRows(const AttentionBackwardProblem& p,
                      const AttentionBackwardInputs& in) {
  const AttentionForwardProblem& f = p.forward;
  const Shape4 o{f.batch, f.q_heads, f.q_len, f.value_dim};
  const std::array<int64_t, 3> rows{f.batch, f.q_heads, f.q_len};
  Status status = CheckLaneTensor("o", in.o, o, f.lane);
  if (status.ok()) status = CheckLaneTensor("do", in.d_o, o, f.lane);
  if (status.ok()) status = CheckTensor("lse", in.lse, rows);
  if (!status.ok()) return status;
  if (p.dlse) return CheckTensor("dlse", in.dlse, rows);
  if (in.dlse.data == nullptr) return Status();
  return Status::Error("dlse is given, but the problem has none");
}

Status CheckGradients(const AttentionBackwardProblem& p,
                      const AttentionBackwardOutputs& out) {
  const AttentionForwardProblem& f = p.forward;
  const struct {
    const char* name;
    const MutableLaneView& view;
    Shape4 shape;
  } tensors[] = {
      {"dq", out.dq, {f.batch, f.q_heads, f.q_len, f.head_dim}},
      {"dk", out.dk, {f.batch, f.kv_heads, f.kv_len, f.head_dim}},
      {"dv", out.dv, {f.batch, f.kv_heads, f.kv_len, f.value_dim}},
  };
  for (const auto& tensor : tensors) {
    Status status =
        CheckLaneTensor(tensor.name, tensor.view, tensor.shape, p.grad_lane);
    if (status.ok()) {
      status = CheckNoOverlap(tensor.name, tensor.shape, tensor.view.strides);
    }
    if (!status.ok()) return status;
  }
  if (f.sink) {
    const std::array<int64_t, 1> heads{f.q_heads};
    Status status = CheckTensor("dsink", out.dsink, heads);
    if (!status.ok()) return status;
    return CheckNoOverlap("dsink", heads, out.dsink.strides);
  }
  if (out.dsink.data == nullptr) return Status();
  return Status::Error("dsink is given, but the problem has no sink");
}

}  // namespace

Status Validate(const AttentionBackwardProblem& p) {
  Status status = Validate(p.forward);
  if (!status.ok()) return status;
  if (p.forward.split != 1) {
    return Status::Error("split=" + std::to_string(p.forward.split) +
                         " has no backward pass; want split=1");
  }
  if (p.forward.kv_lane) {
    return Status::Error(
        std::string("kvlane=") + LaneName(*p.forward.kv_lane) +
        " has no backward pass; want k and v in the lane of q");
  }
  if (p.forward.order != ProductOrder::kChain) {
    return Status::Error(std::string("order=") + OrderName(p.forward.order) +
                         " has no backward pass; want order=chain");
  }
  if (p.grad_lane == Lane::kF32 || p.grad_lane == p.forward.lane) {
    return Status();
  }
  return Status::Error(std::string("grad=") + LaneName(p.grad_lane) +
                       " with lane=" + LaneName(p.forward.lane) +
                       "; want grad=f32, or the lane");
}

Status Validate(const AttentionBackwardProblem& p,
                const AttentionBackwardInputs& in,
                const AttentionBackwardOutputs& out) {
  Status status = Validate(p);
  if (status.ok()) {
    status = checks::CheckAttentionInputs(p.forward, in.forward);
  }
  if (status.ok()) status = CheckGivenRows(p, in);
  return status.ok() ? CheckGradients(p, out) : status;
}

}  // namespace lockstep
