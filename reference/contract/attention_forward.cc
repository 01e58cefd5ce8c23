#include "reference/contract/attention_forward.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_checks.h"
#include "reference/contract/checks.h"
#include "reference/contract/mask.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {
namespace {

using checks::CheckExtent;
using checks::CheckLaneTensor;
using checks::CheckNoOverlap;
using checks::CheckTensorSize;
using checks::Text;
using Shape4 = std::array<int64_t, 4>;

Status CheckExtents(const AttentionForwardProblem& p) {
  const struct {
    const char* field;
    int64_t value;
    int64_t limit;
  } extents[] = {
      {"b", p.batch, kMaxHeads},         {"hq", p.q_heads, kMaxHeads},
      {"hkv", p.kv_heads, kMaxHeads},    {"sq", p.q_len, kMaxLength},
      {"skv", p.kv_len, kMaxLength},     {"d", p.head_dim, kMaxChannels},
      {"dv", p.value_dim, kMaxChannels},
  };
  for (const auto& extent : extents) {
    Status status = CheckExtent(extent.field, extent.value, extent.limit);
    if (!status.ok()) return status;
  }
  if (p.q_heads % p.kv_heads != 0) {
    return Status::Error("hq=" + Text(p.q_heads) +
                         " is not a multiple of hkv=" + Text(p.kv_heads));
  }
  if (p.v_in_k && p.value_dim > p.head_dim) {
    return Status::Error("alias=v_in_k:" + Text(p.value_dim) +
                         ": k has only d=" + Text(p.head_dim) + " channels");
  }
  return Status();
}

constexpr double kMaxF32 = 0x1.fffffep+127;

bool IsFiniteF32(double x) {
  return std::isfinite(x) && std::fabs(x) <= kMaxF32;
}

Status CheckScale(const AttentionForwardProblem& p) {
  if (!IsFiniteF32(p.scale * kLog2E)) {
    return Status::Error("scale=" + Text(p.scale) +
                         " is not finite in f32; want a finite factor");
  }
  if (!p.softcap) return Status();
  const double cap = *p.softcap;
  if (!std::isfinite(cap) || cap <= 0) {
    return Status::Error("cap=" + Text(cap) +
                         " is not usable; want a finite cap > 0, or none");
  }
  if (!IsFiniteF32(cap * kLog2E) || static_cast<float>(cap * kLog2E) == 0 ||
      !IsFiniteF32(p.scale / cap)) {
    return Status::Error("cap=" + Text(cap) + " with scale=" + Text(p.scale) +
                         " leaves f32's range (cap*log2e, scale/cap)");
  }
  return Status();
}

// N20 and N21 are about products of two bf16 alone.
Status CheckOrder(const AttentionForwardProblem& p) {
  const bool bf16 = p.lane == Lane::kBf16 && p.p_lane == Lane::kBf16;
  if (p.order == ProductOrder::kChain || bf16) return Status();
  return Status::Error(std::string("order=") + OrderName(p.order) +
                       " with lane=" + LaneName(p.lane) +
                       " p=" + LaneName(p.p_lane) +
                       "; want lane=bf16 and p=bf16, or order=chain");
}

Status CheckSplit(const AttentionForwardProblem& p) {
  if (p.split >= 1 && p.split <= kMaxSplit) return Status();
  return Status::Error("split=" + Text(p.split) + " is out of range; want 1.." +
                       Text(kMaxSplit) + " parts of the keys, 1 for none");
}

size_t CountDense(const MaskExpr& mask) {
  size_t count = mask.kind == MaskExpr::Kind::kDense ? mask.dense + 1 : 0;
  for (const MaskExpr& child : mask.children) {
    count = std::max(count, CountDense(child));
  }
  return count;
}

Status CheckMasks(const AttentionForwardProblem& p, size_t dense_masks) {
  const auto count = static_cast<int64_t>(p.masks.size());
  if (count != 1 && count != p.q_heads) {
    return Status::Error("masks: " + Text(count) +
                         " given; want 1 or one per query head (" +
                         Text(p.q_heads) + ")");
  }
  for (const MaskExpr& mask : p.masks) {
    Status status = ValidateMask(mask, p.batch, dense_masks);
    if (!status.ok()) return status;
  }
  return Status();
}

int64_t Blocks(int64_t length, int64_t block) {
  return (length + block - 1) / block;
}

// Every dense term, and that its tensor has an element for each of its blocks.
Status CheckDenseShapes(const AttentionForwardProblem& p, const MaskExpr& mask,
                        const AttentionForwardInputs& in) {
  for (const MaskExpr& child : mask.children) {
    const Status status = CheckDenseShapes(p, child, in);
    if (!status.ok()) return status;
  }
  if (mask.kind != MaskExpr::Kind::kDense) return Status();
  const auto& dense = in.dense_masks[mask.dense];
  const int64_t rows = Blocks(p.q_len, mask.block_q);
  const int64_t columns = Blocks(p.kv_len, mask.block_k);
  const bool batch_ok = dense.shape[0] == 1 || dense.shape[0] == p.batch;
  const bool heads_ok = dense.shape[1] == 1 || dense.shape[1] == p.q_heads;
  if (dense.data != nullptr && batch_ok && heads_ok && dense.shape[2] == rows &&
      dense.shape[3] == columns) {
    return Status();
  }
  return Status::Error("dense mask has shape " + Text(dense.shape) +
                       "; want [1|" + Text(p.batch) + ",1|" + Text(p.q_heads) +
                       "," + Text(rows) + "," + Text(columns) + "]");
}

Status CheckSegments(const AttentionForwardProblem& p,
                     const AttentionForwardInputs& in) {
  const bool q = in.q_seg.data != nullptr;
  const bool kv = in.kv_seg.data != nullptr;
  if (q != p.segments || kv != p.segments) {
    return Status::Error(
        "q_seg and kv_seg go together, and with segments only: q_seg " +
        std::string(q ? "given" : "missing") + ", kv_seg " +
        (kv ? "given" : "missing"));
  }
  if (!p.segments) return Status();
  const std::array<int64_t, 2> q_shape{p.batch, p.q_len};
  const std::array<int64_t, 2> kv_shape{p.batch, p.kv_len};
  if (in.q_seg.shape != q_shape) {
    return Status::Error("q_seg has shape " + Text(in.q_seg.shape) + "; want " +
                         Text(q_shape));
  }
  if (in.kv_seg.shape != kv_shape) {
    return Status::Error("kv_seg has shape " + Text(in.kv_seg.shape) +
                         "; want " + Text(kv_shape));
  }
  return Status();
}

Status CheckValid(const char* name, const std::vector<int64_t>& valid,
                  int64_t batch, int64_t extent) {
  if (valid.empty()) return Status();
  if (static_cast<int64_t>(valid.size()) != batch) {
    return Status::Error(std::string(name) + " has " + Text(valid.size()) +
                         " counts; want one per batch row (" + Text(batch) +
                         ")");
  }
  for (const int64_t count : valid) {
    if (count >= 0 && count <= extent) continue;
    return Status::Error(std::string(name) + "=" + Text(count) +
                         " is out of range; want 0.." + Text(extent));
  }
  return Status();
}

Status CheckPayload(const AttentionForwardProblem& p,
                    const AttentionForwardInputs& in) {
  Status status = CheckValid("valid_q", in.valid_q, p.batch, p.q_len);
  if (!status.ok()) return status;
  status = CheckValid("valid_kv", in.valid_kv, p.batch, p.kv_len);
  if (!status.ok()) return status;
  status = checks::CheckSink(p, in.sink);
  if (!status.ok()) return status;
  for (const MaskExpr& mask : p.masks) {
    status = CheckDenseShapes(p, mask, in);
    if (!status.ok()) return status;
  }
  return CheckSegments(p, in);
}

}  // namespace

Status Validate(const AttentionForwardProblem& p) {
  Status status = CheckExtents(p);
  if (!status.ok()) return status;
  const struct {
    const char* name;
    Shape4 shape;
  } tensors[] = {
      {"q", {p.batch, p.q_heads, p.q_len, p.head_dim}},
      {"k", {p.batch, p.kv_heads, p.kv_len, p.head_dim}},
      {"v", {p.batch, p.kv_heads, p.kv_len, p.value_dim}},
      {"o", {p.batch, p.q_heads, p.q_len, p.value_dim}},
  };
  for (const auto& tensor : tensors) {
    status = CheckTensorSize(tensor.name, tensor.shape);
    if (!status.ok()) return status;
  }
  status = CheckScale(p);
  if (status.ok()) status = checks::CheckFp8Lanes(p);
  if (status.ok()) status = CheckOrder(p);
  if (status.ok()) status = CheckSplit(p);
  if (!status.ok()) return status;
  if (p.align.offset < -kMaxOffset || p.align.offset > kMaxOffset) {
    return Status::Error("align=" + Text(p.align.offset) +
                         " is out of range; want an offset within +-" +
                         Text(kMaxOffset));
  }
  size_t dense = 0;
  for (const MaskExpr& mask : p.masks)
    dense = std::max(dense, CountDense(mask));
  return CheckMasks(p, dense);
}

Status checks::CheckAttentionInputs(const AttentionForwardProblem& p,
                                    const AttentionForwardInputs& in) {
  Status status = Validate(p);
  if (!status.ok()) return status;
  status = CheckMasks(p, in.dense_masks.size());
  if (!status.ok()) return status;
  const struct {
    const char* name;
    const LaneView& view;
    Shape4 shape;
    Lane lane;
  } tensors[] = {
      {"q", in.q, {p.batch, p.q_heads, p.q_len, p.head_dim}, p.query_lane()},
      {"k", in.k, {p.batch, p.kv_heads, p.kv_len, p.head_dim}, p.key_lane()},
      {"v", in.v, {p.batch, p.kv_heads, p.kv_len, p.value_dim}, p.key_lane()},
  };
  for (const auto& tensor : tensors) {
    status =
        CheckLaneTensor(tensor.name, tensor.view, tensor.shape, tensor.lane);
    if (!status.ok()) return status;
  }
  if (p.v_in_k && (in.v.data != in.k.data || in.v.strides != in.k.strides)) {
    return Status::Error("v is not where the first channels of k are");
  }
  status = CheckPayload(p, in);
  return status.ok() ? checks::CheckScales(p, in) : status;
}

Status checks::CheckSink(const AttentionForwardProblem& p,
                         const TensorView<const float, 1>& sink) {
  if ((sink.data != nullptr) != p.sink) {
    return Status::Error(p.sink ? "sink logits are missing"
                                : "sink logits given without sink");
  }
  if (p.sink && sink.shape[0] != p.q_heads) {
    return Status::Error("sink has " + Text(sink.shape[0]) +
                         " logits; want one per query head (" +
                         Text(p.q_heads) + ")");
  }
  return Status();
}

Status checks::CheckAttentionOutputs(const AttentionForwardProblem& p,
                                     const AttentionForwardOutputs& out) {
  Status status = CheckLaneTensor(
      "o", out.o, Shape4{p.batch, p.q_heads, p.q_len, p.value_dim}, p.lane);
  if (!status.ok()) return status;
  status = CheckNoOverlap("o", out.o.shape, out.o.strides);
  if (!status.ok()) return status;
  const std::array<int64_t, 3> rows{p.batch, p.q_heads, p.q_len};
  if (out.lse.data == nullptr || out.lse.shape != rows) {
    return Status::Error("lse is missing or has shape " + Text(out.lse.shape) +
                         "; want " + Text(rows));
  }
  return CheckNoOverlap("lse", rows, out.lse.strides);
}

Status Validate(const AttentionForwardProblem& p,
                const AttentionForwardInputs& in,
                const AttentionForwardOutputs& out) {
  Status status = checks::CheckAttentionInputs(p, in);
  return status.ok() ? checks::CheckAttentionOutputs(p, out) : status;
}

}  // namespace lockstep
