// Keys and values in fp8, with and without scales, and q, too.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "verify/case/attention_forward/case.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

struct ScaleRange {
  double low, high;
};

ScaleSpec DrawScales(Draw* draw) {
  ScaleSpec spec;
  const auto layout =
      draw->Of({ScaleLayout::kNone, ScaleLayout::kTensor, ScaleLayout::kHead,
                ScaleLayout::kToken, ScaleLayout::kBlock, ScaleLayout::kBlock});
  const auto block = draw->Of<int64_t>({1, 2, 3, 4, 7, 8, 16, 16, 32, 64, 100});
  const auto range = draw->Of<ScaleRange>({{0.25, 4},
                                           {0.5, 2},
                                           {0.01, 0.02},
                                           {0.001, 100},
                                           {0x1p-30, 0x1p-29},
                                           {0x1p20, 0x1p21}});
  spec.layout.layout = layout;
  if (layout == ScaleLayout::kNone) return spec;
  if (layout == ScaleLayout::kBlock) spec.layout.block = block;
  const bool one = layout == ScaleLayout::kTensor;
  spec.values = {.kind = one ? FillKind::kConst : FillKind::kUniform,
                 .a = {range.low},
                 .b = {one ? 0 : range.high}};
  return spec;
}

}  // namespace

std::vector<Case> WithFp8(Draw* draw, std::vector<Case> sequence) {
  if (!draw->OneIn(20)) return sequence;
  const Lane lane = draw->OneIn(3) ? Lane::kE5m2 : Lane::kE4m3;
  const ScaleSpec k_scale = DrawScales(draw);
  const ScaleSpec v_scale = DrawScales(draw);
  std::vector<Case> narrow = sequence;
  for (Case& c : narrow) {
    AttentionForwardCase& a = c.Get<AttentionForwardCase>();
    a.kv_lane = lane;
    a.order = ProductOrder::kChain;
    a.k_scale = k_scale;
    a.v_scale = v_scale;
    std::optional<Case> legal = NormalForm(c);
    if (!legal) {  // a probe of exact numbers
      a.k_scale = a.v_scale = {};
      legal = NormalForm(c);
    }
    if (!legal) return sequence;
    c = *legal;
  }
  return narrow;
}

std::vector<Case> WithFp8Queries(Draw* draw, std::vector<Case> sequence) {
  const auto is_narrow = [](const Case& c) {
    return c.Get<AttentionForwardCase>().kv_lane.has_value();
  };
  if (!std::all_of(sequence.begin(), sequence.end(), is_narrow)) {
    return sequence;
  }
  if (!draw->OneIn(2)) return sequence;
  const Lane lane = draw->OneIn(3) ? Lane::kE5m2 : Lane::kE4m3;
  const ScaleSpec scale = DrawScales(draw);
  std::vector<Case> narrow = sequence;
  for (Case& c : narrow) {
    AttentionForwardCase& a = c.Get<AttentionForwardCase>();
    a.q_lane = lane;
    a.q_scale = scale;
    std::optional<Case> legal = NormalForm(c);
    if (!legal) {  // a probe of exact numbers
      a.q_scale = {};
      legal = NormalForm(c);
    }
    if (!legal) return sequence;
    c = *legal;
  }
  return narrow;
}

}  // namespace lockstep::verify
