#include "verify/case/attention_forward/views.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "reference/contract/tensor_view.h"
#include "verify/case/attention_forward/lists.h"
#include "verify/case/attention_forward/scales.h"

namespace lockstep::verify {
namespace {

LaneView ShapeOf(const AttentionForwardCase& c, Lane lane,
                 const std::array<int64_t, 4>& shape,
                 const std::optional<std::array<int64_t, 4>>& strides) {
  return {nullptr, lane, shape,
          strides.value_or(LayoutStrides(c.layout, shape))};
}

std::vector<int64_t> PerRow(const std::vector<int64_t>& counts, int64_t batch) {
  if (counts.size() != 1) return counts;
  return std::vector<int64_t>(static_cast<size_t>(batch), counts[0]);
}

}  // namespace

AttentionForwardInputs InputShapes(const AttentionForwardCase& c) {
  AttentionForwardInputs in;
  in.q = ShapeOf(c, c.q_lane.value_or(c.lane),
                 {c.batch, c.q_heads, c.q_len, c.head_dim}, c.strides.q);
  // Keys in pages are held together, too: so the truth reads them.
  const bool pages = c.page.any();
  const Lane kv_lane = c.kv_lane.value_or(c.lane);
  in.k = ShapeOf(c, kv_lane, {c.batch, c.kv_heads, c.kv_len, c.head_dim},
                 pages ? std::nullopt : c.strides.k);
  in.v = ShapeOf(c, kv_lane, {c.batch, c.kv_heads, c.kv_len, c.value_dim},
                 pages ? std::nullopt : c.strides.v);
  SetShapesOfScales(c, &in);
  if (c.v_in_k > 0) in.v.strides = in.k.strides;
  if (c.q_seg.kind != Segments::Kind::kNone) {
    in.q_seg.shape = {c.batch, c.q_len};
    in.q_seg.strides = DenseStrides(in.q_seg.shape);
    in.kv_seg.shape = {c.batch, c.kv_len};
    in.kv_seg.strides = DenseStrides(in.kv_seg.shape);
  }
  in.valid_q = PerRow(c.valid_q, c.batch);
  in.valid_kv = PerRow(c.valid_kv, c.batch);
  if (c.sinklogit) {
    in.sink.shape = {c.q_heads};
    in.sink.strides = {1};
  }
  for (const DenseSource& source : c.dense) {
    TensorView<const uint8_t, 4> dense;
    const auto [batch, heads] = MasksOf(c, source);
    const auto [rows, columns] = ExtentsOf(c, source);
    dense.shape = {batch, heads, rows, columns};
    dense.strides = DenseStrides(dense.shape);
    in.dense_masks.push_back(dense);
  }
  return in;
}

AttentionForwardOutputs OutputShapes(const AttentionForwardCase& c) {
  AttentionForwardOutputs out;
  const LaneView o = ShapeOf(
      c, c.lane, {c.batch, c.q_heads, c.q_len, c.value_dim}, c.strides.o);
  out.o = {nullptr, o.lane, o.shape, o.strides};
  out.lse.shape = {c.batch, c.q_heads, c.q_len};
  out.lse.strides = DenseStrides(out.lse.shape);
  return out;
}

}  // namespace lockstep::verify
