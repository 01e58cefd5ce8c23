#include "verify/ops/attention_forward/fault_inputs.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace lockstep::verify {
namespace {

const char* PositionOf(const LaneView& x, int64_t b, int64_t h,
                       int64_t position) {
  const int64_t offset =
      b * x.strides[0] + h * x.strides[1] + position * x.strides[2];
  return static_cast<const char*>(x.data) +
         offset * static_cast<int64_t>(LaneBytes(x.lane));
}

}  // namespace

void HoldOne(LaneView* x, int64_t b, int64_t h, int64_t position) {
  x->data = PositionOf(*x, b, h, position);
  x->strides[0] = x->strides[1] = x->strides[2] = 0;
}

void HoldHead(LaneView* x, int64_t b, int64_t h) {
  x->data = PositionOf(*x, b, h, 0);
  x->strides[0] = x->strides[1] = 0;
}

void CopyHead(const HeadPart& part, LaneView* x, FaultScratch* scratch) {
  const size_t bytes = LaneBytes(x->lane);
  const auto channels = static_cast<size_t>(x->shape[3]);
  scratch->bytes.resize(static_cast<size_t>(part.count) * channels * bytes);
  uint8_t* to = scratch->bytes.data();
  for (int64_t n = 0; n < part.count; ++n) {
    const char* from = PositionOf(*x, part.b, part.h, part.first + n);
    for (size_t c = 0; c < channels; ++c, to += bytes) {
      std::memcpy(to, from + static_cast<int64_t>(c * bytes) * x->strides[3],
                  bytes);
    }
  }
  x->data = scratch->bytes.data();
  x->strides = {0, 0, part.count > 1 ? x->shape[3] : 0, 1};
}

void MoveRow(const LaneView& x, int64_t to, int64_t from, bool exchange,
             FaultScratch* scratch) {
  const auto width = static_cast<int64_t>(LaneBytes(x.lane)) * x.shape[3];
  const auto begin = scratch->bytes.begin();
  if (exchange) {
    std::swap_ranges(begin + to * width, begin + (to + 1) * width,
                     begin + from * width);
  } else {
    std::copy_n(begin + from * width, width, begin + to * width);
  }
}

void Show(const ShownKeys& shown, AttentionForwardProblem* p,
          AttentionForwardInputs* inputs, FaultScratch* scratch) {
  scratch->mask.assign(static_cast<size_t>(p->kv_len), 0);
  for (const oracle::KeyInterval& run : shown.keys) {
    std::fill(scratch->mask.begin() + run.begin,
              scratch->mask.begin() + run.end, uint8_t{1});
  }
  if (shown.but >= 0) scratch->mask[static_cast<size_t>(shown.but)] = 0;
  if (shown.and_also >= 0)
    scratch->mask[static_cast<size_t>(shown.and_also)] = 1;
  MaskExpr dense;
  dense.kind = MaskExpr::Kind::kDense;
  p->masks = {dense};
  p->segments = false;
  inputs->valid_q.clear();
  inputs->valid_kv.clear();
  inputs->dense_masks = {
      {scratch->mask.data(), {1, 1, p->q_len, p->kv_len}, {0, 0, 0, 1}}};
}

}  // namespace lockstep::verify
