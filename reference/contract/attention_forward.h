// attention_forward: softcap attention with masks. The static problem, the
// inputs (tensors and runtime payload) and the outputs. Source:
// docs/ops/attention_forward.md; arithmetic: docs/numerics.md.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_FORWARD_H_
#define LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_FORWARD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "reference/contract/key_scales.h"
#include "reference/contract/limits.h"  // IWYU pragma: export
#include "reference/contract/mask.h"
#include "reference/contract/matrix_units.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {

// The order in which products are summed: in one chain (N3, N11), in blocks of
// 32 as the matrix units of AMX do (N20), or in the steps of a GPU's matrix
// unit (N21).
enum class ProductOrder : uint8_t { kChain, kAmx, kAmpere, kHopper };

inline const char* OrderName(ProductOrder order) {
  constexpr const char* kNames[] = {"chain", "amx", "ampere", "hopper"};
  return kNames[static_cast<size_t>(order)];
}

// The step of an order of N21; null: it has none.
inline const UnitStep* StepOf(ProductOrder order) {
  if (order == ProductOrder::kAmpere) return &kAmpereStep;
  return order == ProductOrder::kHopper ? &kHopperStep : nullptr;
}

// Parts of a key axis (N22): four times as many as kernels in use make.
inline constexpr int64_t kMaxSplit = 1024;

// The static contract: a change of any field is another kernel.
struct AttentionForwardProblem {
  int64_t batch = 1;
  int64_t q_heads = 1;
  int64_t kv_heads = 1;  // divides q_heads; query head h reads kv head
                         // floor(h / (q_heads / kv_heads))
  int64_t q_len = 1;     // physical extents
  int64_t kv_len = 1;
  int64_t head_dim = 1;      // of q and k
  int64_t value_dim = 1;     // of v and o
  bool v_in_k = false;       // v is the first value_dim channels of k, and
                             // has no memory of its own
  Lane lane = Lane::kF32;    // of o, of q without q_lane, and of k and v
                             // without kv_lane
  Lane p_lane = Lane::kF32;  // of the weights in the numerator (N10)
  ProductOrder order = ProductOrder::kChain;  // others: both lanes are bf16
  int64_t split = 1;                          // parts of the key axis (N22)
  // N25: k and v are in this fp8 lane, q and o in `lane`. Scales need kv_lane.
  std::optional<Lane> kv_lane;
  KeyScales k_scales, v_scales;
  // N25: q is in this fp8 lane. Needs kv_lane; scales of q need q_lane. The
  // layouts of q count query heads and queries.
  std::optional<Lane> q_lane;
  KeyScales q_scales;
  double scale = 1.0;             // of the scores, before the softcap
  std::optional<double> softcap;  // finite and > 0 where present
  Alignment align;
  std::vector<MaskExpr> masks = {MaskExpr{}};  // one, or one per query head
  bool segments = false;                       // inputs carry q_seg and kv_seg
  bool sink = false;  // inputs carry a learned sink logit per query head

  int64_t group() const { return q_heads / kv_heads; }
  Lane key_lane() const { return kv_lane.value_or(lane); }  // of k and v
  Lane query_lane() const { return q_lane.value_or(lane); }
  // N22: keys of a part, whole stripes; the last part may have fewer. So there
  // may be fewer parts than `split`, and none of them is empty.
  int64_t part_width() const {
    const int64_t keys = (kv_len + split - 1) / split;
    return (keys + kStripes - 1) / kStripes * kStripes;
  }
  int64_t parts() const { return (kv_len + part_width() - 1) / part_width(); }
  const MaskExpr& mask(int64_t head) const {
    return masks.size() == 1 ? masks[0] : masks[static_cast<size_t>(head)];
  }
};

// Tensors and runtime payload; nothing here changes which kernel runs.
struct AttentionForwardInputs {
  LaneView q;  // [batch, q_heads, q_len, head_dim]
  LaneView k;  // [batch, kv_heads, kv_len, head_dim]
  LaneView v;  // [batch, kv_heads, kv_len, value_dim]
  // Segment ids: key j is visible to query i only if equal. Not contiguous
  // necessarily. Null without problem.segments.
  TensorView<const int32_t, 2> q_seg;   // [batch, q_len]
  TensorView<const int32_t, 2> kv_seg;  // [batch, kv_len]
  // Valid counts per batch row, [batch]; empty means the whole extent. Rows at
  // or after valid_q are empty rows; keys at or after valid_kv do not exist.
  std::vector<int64_t> valid_q;
  std::vector<int64_t> valid_kv;
  TensorView<const float, 1> sink;  // [q_heads]; null without problem.sink
  // N25: the scales. The shape is [1, 1, 1] for a tensor's scale, [1, kv_heads,
  // 1] for heads, and [batch, kv_heads, ceil(kv_len / keys per scale)] for keys
  // and blocks. Null without scales. Scales of keys that do not exist are not
  // read.
  KeyScaleView k_scale, v_scale;
  // The same of q: [1, 1, 1], [1, q_heads, 1], or [batch, q_heads, ceil(q_len /
  // queries per scale)]. Scales of queries at or after valid_q are not read.
  KeyScaleView q_scale;
  // One per dense index of the masks: [batch or 1, q_heads or 1,
  // ceil(q_len / block_q), ceil(kv_len / block_k)] of the term
  std::vector<TensorView<const uint8_t, 4>> dense_masks;

  int64_t ValidQ(const AttentionForwardProblem& p, int64_t b) const {
    return valid_q.empty() ? p.q_len : valid_q[static_cast<size_t>(b)];
  }
  int64_t ValidKv(const AttentionForwardProblem& p, int64_t b) const {
    return valid_kv.empty() ? p.kv_len : valid_kv[static_cast<size_t>(b)];
  }
  // The position of query 0 on the key axis.
  int64_t Offset(const AttentionForwardProblem& p, int64_t b) const {
    switch (p.align.kind) {
      case Alignment::Kind::kTopLeft:
        return 0;
      case Alignment::Kind::kBottomRight:
        return ValidKv(p, b) - ValidQ(p, b);
      case Alignment::Kind::kOffset:
        break;
    }
    return p.align.offset;
  }
};

struct AttentionForwardOutputs {
  MutableLaneView o;         // [batch, q_heads, q_len, value_dim]
  TensorView<float, 3> lse;  // [batch, q_heads, q_len], natural logarithm
};

// Refuses every problem that has no meaning, naming the field, its value and
// what would be right. Allocates nothing that grows with the extents.
Status Validate(const AttentionForwardProblem& problem);

// The same, and that the tensors agree with the problem: shapes, lanes,
// strides (inputs >= 0, outputs without overlap), presence, valid counts.
// Requires: nothing; calls Validate(problem) first.
Status Validate(const AttentionForwardProblem& problem,
                const AttentionForwardInputs& inputs,
                const AttentionForwardOutputs& outputs);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_FORWARD_H_
