#include "tests/fuzz/order_cases.h"

#include <cmath>
#include <iterator>
#include <optional>

#include "verify/case/attention_forward/case.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/draw.h"
#include "verify/domain/draws/further.h"
#include "verify/domain/reducer.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

constexpr uint64_t kSeed = 20;  // of the cases; the next one: of the rest

// Multiply-adds of a case whose channels are made more.
constexpr int64_t kMostWork = 400000;

// Where lengths gather: small tiles, one block of keys, one off it.
constexpr int64_t kEdges[][2] = {{4, 4}, {16, 32}, {31, 33}};

// The case with another number of channels, where it is legal and not too long.
Case WithChannels(const Case& c, int64_t channels) {
  Case wider = c;
  AttentionForwardCase& a = wider.Get<AttentionForwardCase>();
  const double natural = 1.0 / std::sqrt(static_cast<double>(a.head_dim));
  if (a.scale.value == natural) {
    a.scale.value = 1.0 / std::sqrt(static_cast<double>(channels));
  }
  a.head_dim = channels;
  a.strides.q = a.strides.k = std::nullopt;  // of the former channels
  const int64_t work =
      a.batch * a.q_heads * a.q_len * a.kv_len * (a.head_dim + a.value_dim);
  if (work > kMostWork) return c;
  return NormalForm(wider).value_or(c);
}

// The case with factors that are flushed, or whose products are, instead of its
// own numbers: few draws of the domain show what flushing does.
Case WithSmallNumbers(const Case& c, Draw* draw) {
  using enum FillKind;
  Case smaller = c;
  const auto tensors =
      draw->Of<uint8_t>({kFillV, kFillV, kFillQ | kFillK, kFillAll});
  const FillKind kind = draw->Of({kSubnormal, kTiny});
  smaller.Get<AttentionForwardCase>().fill = {
      {.kind = kNormal, .tensors = kFillAll, .a = {1.0}},
      {.kind = kind, .tensors = tensors, .a = {draw->Of({0.1, 0.5, 1.0})}}};
  return NormalForm(smaller).value_or(c);
}

}  // namespace

OrderCase OrderCases::Next() {
  const Domain domain = *FindDomain("attention_forward").value();
  while (calls_.empty()) {
    const auto& edge = kEdges[index_ % std::size(kEdges)];
    const DomainOptions options = {
        .lane = Lane::kBf16, .tile_q = edge[0], .tile_kv = edge[1]};
    Draw draw(kSeed, kDrawKey, index_++);
    const std::vector<Case> sequence =
        WithOrders(&draw, DrawAttention(*domain.row, &draw, options, true));
    for (const Case& c : WithFurther(&draw, WithSizes(&draw, sequence))) {
      if (c.Get<AttentionForwardCase>().order == ProductOrder::kAmx) {
        calls_.push_back(c);
      }
    }
  }
  OrderCase drawn;
  drawn.call = calls_.front();
  calls_.erase(calls_.begin());
  Draw draw(kSeed + 1, kDrawKey, taken_++);
  if (draw.OneIn(2)) {
    drawn.call = WithChannels(
        drawn.call, draw.Of<int64_t>({31, 33, 47, 63, 64, 65, 95, 97, 128}));
  }
  if (draw.OneIn(6)) drawn.call = WithSmallNumbers(drawn.call, &draw);
  drawn.call.Get<AttentionForwardCase>().order = order_;
  if (draw.OneIn(2)) drawn.tile_rows = draw.In(1, 80);
  if (draw.OneIn(2)) drawn.tile_keys = 16 * draw.In(1, 8);
  drawn.line = MinimalLine(drawn.call);
  return drawn;
}

}  // namespace lockstep::verify
