#include "verify/domain/attention_forward.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "verify/allowed/attention_forward/probes.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/probe.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/draws/further.h"
#include "verify/domain/draws/served.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

// Multiply-adds of a case: the scalar reference does some 2e8 a second.
constexpr int64_t kMostWork = 200000;

constexpr double kTinyScale = 0x1p-12;

void DrawShape(Draw* draw, const DomainOptions& options,
               AttentionForwardCase* c) {
  c->batch = draw->Of<int64_t>({1, 1, 1, 2, 2, 3});
  const auto heads = draw->Of<std::array<int64_t, 2>>(
      {{1, 1}, {1, 1}, {2, 2}, {2, 1}, {4, 2}, {3, 3}, {6, 2}, {8, 1}});
  c->q_heads = heads[0];
  c->kv_heads = heads[1];
  c->q_len = DrawLength(draw, options.tile_q);
  // Half of the cases are square: alignment then hides, everything else shows.
  c->kv_len = draw->OneIn(3) ? c->q_len : DrawLength(draw, options.tile_kv);
  c->head_dim = draw->Of<int64_t>({1, 2, 3, 4, 4, 8, 8, 12, 16, 17, 32, 64});
  c->value_dim =
      draw->OneIn(4) ? draw->Of<int64_t>({1, 2, 5, 8, 16, 33}) : c->head_dim;
  while (WorkOf(*c) > kMostWork) {
    int64_t* extents[] = {&c->q_len,   &c->kv_len,    &c->batch,
                          &c->q_heads, &c->value_dim, &c->head_dim};
    int64_t* longest = *std::max_element(
        std::begin(extents), std::end(extents),
        [](const int64_t* a, const int64_t* b) { return *a < *b; });
    *longest = (*longest + 1) / 2;
    if (longest == &c->q_heads) c->kv_heads = 1;
  }
  c->valid_q = {c->q_len};
  c->valid_kv = {c->kv_len};
}

void DrawNumbers(Draw* draw, const DomainOptions& options,
                 AttentionForwardCase* c) {
  const bool bf16 = draw->OneIn(2);
  c->lane = options.lane.value_or(bf16 ? Lane::kBf16 : Lane::kF32);
  // Weights of f16 tensors that are drawn narrow are f16.
  const Lane narrow = c->lane == Lane::kF16 ? Lane::kF16 : Lane::kBf16;
  c->p_lane = draw->OneIn(3) ? narrow : Lane::kF32;
  c->scale.value = 1.0 / std::sqrt(static_cast<double>(c->head_dim));
  if (draw->OneIn(5)) {
    c->scale.value =
        options.plain
            ? draw->Of({1.0, 0.5, 0.3, 2.0})
            : draw->Of({1.0, 0.5, 0.3, -1.0, -0.25, kTinyScale, 4.0, 0.0});
  }
  if (draw->OneIn(2)) {
    c->softcap = Number{draw->Of(
        {0.5, 1.0, 2.0, 5.0, 15.0, 30.0, 50.0, 100.0, 0x1p-6, 0.75, 3.5})};
  }
  // A scale of 0 leaves nothing to cap, and the contract refuses the pair.
  if (c->scale.value == 0) c->softcap.reset();
  if (draw->OneIn(6)) {
    FillTerm sink;
    sink.kind = draw->OneIn(2) ? FillKind::kConst : FillKind::kNormal;
    sink.a.value = 1;
    if (sink.kind == FillKind::kConst) {
      sink.a.value = draw->Of({0.5, 3.0, 2.0, 0.0, -2.0, -40.0, 40.0});
    }
    c->sinklogit = sink;
  }
}

std::vector<FillTerm> Fill(std::initializer_list<FillTerm> terms) {
  return terms;
}

FillTerm InputTerm(FillKind kind, uint8_t tensors, double a = 0, double b = 0) {
  return {.kind = kind, .tensors = tensors, .a = {a}, .b = {b}};
}

// Probe inputs, where they prove something.
bool DrawProbe(Draw* draw, AttentionForwardCase* c) {
  using enum ProbeKind;
  FillTerm term = InputTerm(FillKind::kProbe, kFillAll);
  term.probe =
      draw->Of({kCancel, kPrefix, kSelect, kAim, kReset, kShift, kHeadTag});
  if (!WhyNotProbe(term.probe, ToProblem(*c), BuiltinProfiles()[0]).empty()) {
    return false;
  }
  c->fill = {term};
  return true;
}

// Distributions with a name: what a softmax finds hard.
std::vector<FillTerm> DrawRegime(Draw* draw, bool mild) {
  using enum FillKind;
  const uint8_t qk = kFillQ | kFillK;
  switch (draw->In(0, mild ? 7 : 15)) {
    case 0:
    case 1:  // peaky: a few keys take all the weight
      return Fill(
          {InputTerm(kSpread, kFillAll, draw->Of({3., 10., 30., 80.}))});
    case 2:
      return Fill({InputTerm(kNormal, kFillAll, draw->Of({4., 0.01, 8.}))});
    case 3:  // the maximum moves on along the keys
      return Fill({InputTerm(kNormal, kFillAll, 1),
                   InputTerm(kRamp, kFillK, draw->Of({8., 30., -0.5}))});
    case 4:  // a large common offset
      return Fill({InputTerm(kConst, qk, draw->Of({1., 4., 10.})),
                   InputTerm(kNormal, kFillV, 1)});
    case 5:
      return Fill({InputTerm(kInt, kFillAll, -3, 3)});
    case 6:  // which key reaches the output, readable
      return Fill({InputTerm(kNormal, qk, 1), InputTerm(kSignature, kFillV)});
    case 7:
      return Fill({InputTerm(kUniform, kFillAll, draw->Of({-1., 0., -4.}), 1)});
    case 8:  // all scores far below zero
      return Fill({InputTerm(kConst, kFillQ, -20),
                   InputTerm(kUniform, kFillK, 1, 2),
                   InputTerm(kNormal, kFillV, 1)});
    case 9:
      return Fill({InputTerm(kOneHot, qk), InputTerm(kNormal, kFillV, 1)});
    case 10:
      return Fill(
          {InputTerm(kNormal, kFillAll, 1),
           InputTerm(kSubnormal, draw->Of<uint8_t>({kFillV, kFillAll, qk}),
                     draw->Of({0.2, 1.0}))});
    case 11:
      return Fill(
          {InputTerm(kNormal, kFillAll, 1), InputTerm(kTiny, kFillAll, 0.3)});
    case 12:
      return Fill(
          {InputTerm(kNormal, kFillAll, 1),
           InputTerm(kHuge, draw->Of<uint8_t>({kFillV, kFillAll, qk}), 0.1)});
    case 13:
      return Fill(
          {InputTerm(kNormal, kFillAll, 1),
           InputTerm(kZero, draw->Of<uint8_t>({kFillAll, kFillQ, kFillK}),
                     draw->Of({0.3, 1.0}))});
    case 14:
      return Fill(
          {InputTerm(kNormal, kFillAll, 1),
           InputTerm(kSpecial,
                     draw->Of<uint8_t>({kFillK, kFillV, kFillQ, kFillAll}),
                     draw->Of({0.02, 0.2}))});
    default:
      return Fill(
          {InputTerm(kNormal, kFillAll, 1), InputTerm(kPoison, kFillAll)});
  }
}

void DrawFill(Draw* draw, const DomainOptions& options, bool probes,
              AttentionForwardCase* c) {
  if (draw->OneIn(2)) {
    c->fill = DrawRegime(draw, options.plain || options.ordinary);
  } else if (!options.plain && probes && draw->OneIn(10) &&
             DrawProbe(draw, c)) {
    return;
  }
}

// Rows of `unit` elements with a gap behind them, or one row for all.
std::array<int64_t, 4> DrawStrides(Draw* draw, bool output,
                                   const std::array<int64_t, 4>& shape) {
  const int64_t step = draw->Of<int64_t>({1, 1, 1, 2});
  const int64_t row = shape[3] * step + draw->In(0, 5);
  const int64_t head = shape[2] * row + draw->In(0, 9);
  std::array<int64_t, 4> strides = {shape[1] * head + draw->In(0, 3), head, row,
                                    step};
  if (!output && draw->OneIn(6)) {
    strides[static_cast<size_t>(draw->In(0, 2))] = 0;
  }
  return strides;
}

void DrawMemory(Draw* draw, AttentionForwardCase* c) {
  if (draw->OneIn(3)) {
    c->layout = draw->Of({Layout::kBshd, Layout::kThd});
  }
  if (!draw->OneIn(8)) return;
  const bool probe = ProbeOf(*c).has_value();
  const std::array<int64_t, 4> shapes[] = {
      {c->batch, c->q_heads, c->q_len, c->head_dim},
      {c->batch, c->kv_heads, c->kv_len, c->head_dim},
      {c->batch, c->kv_heads, c->kv_len, c->value_dim},
      {c->batch, c->q_heads, c->q_len, c->value_dim}};
  std::optional<std::array<int64_t, 4>>* strides[] = {
      &c->strides.q, &c->strides.k, &c->strides.v, &c->strides.o};
  for (size_t t = 0; t < 4; ++t) {
    if (draw->OneIn(2)) continue;
    // A probe's elements differ: none may be shared.
    *strides[t] = DrawStrides(draw, probe || t == 3, shapes[t]);
  }
}

// The case again, with something changed that a kernel may have kept.
Case NextAttentionCall(Draw* draw, Case c) {
  AttentionForwardCase& a = c.Get<AttentionForwardCase>();
  switch (draw->In(0, 5)) {
    case 0:
      return c;
    case 1:
      a.softcap = Number{draw->Of({0.5, 2.0, 20.0})};
      break;
    case 2:
      a.mask = {};
      a.mask.kind = MaskExpr::Kind::kCausal;
      a.head_mask.clear();
      a.dense.clear();
      break;
    case 3:
      a.valid_kv = {draw->In(0, a.kv_len)};
      break;
    default:
      break;
  }
  c.seed += 1;
  return c;
}

// Now and then other fills: rows on both sides of the cap, a maximum that moves
// between tiles, rows far below a finite sentinel.
std::vector<Case> WithCorners(Draw* draw, std::vector<Case> sequence) {
  if (ProbeOf(sequence[0].Get<AttentionForwardCase>()) || !draw->OneIn(6)) {
    return sequence;
  }
  using enum FillKind;
  const double edge = draw->Of({1., 3., 8., 64.});
  const FillTerm corner =
      draw->Of({InputTerm(kCaps, kFillAll, draw->Of({0.1, 0.5}), 20),
                InputTerm(kDrift, kFillAll, draw->Of({30., 200., -30.}), edge),
                InputTerm(kLow, kFillAll, 1e5, edge)});
  const std::vector<Case> before = sequence;
  for (Case& c : sequence) {
    c.Get<AttentionForwardCase>().fill = {InputTerm(kNormal, kFillAll, 1),
                                          corner};
    const std::optional<Case> legal = NormalForm(c);
    if (!legal) return before;  // caps without a cap
    c = *legal;
  }
  return sequence;
}

// Now and then keys in parts: each call of a sequence has its own.
std::vector<Case> WithSplits(Draw* draw, std::vector<Case> sequence) {
  if (!draw->OneIn(8)) return sequence;
  for (Case& c : sequence) {
    c.Get<AttentionForwardCase>().split =
        draw->Of<int64_t>({1, 2, 2, 3, 4, 5, 8, 64});
  }
  return sequence;
}

}  // namespace

std::vector<Case> WithOrders(Draw* draw, std::vector<Case> sequence) {
  for (Case& c : sequence) {
    AttentionForwardCase& a = c.Get<AttentionForwardCase>();
    const bool products_of_bf16 =
        a.lane == Lane::kBf16 && a.p_lane == Lane::kBf16;
    if (products_of_bf16 && draw->OneIn(2)) a.order = ProductOrder::kAmx;
  }
  return sequence;
}

std::vector<Case> WithGpuOrders(const DomainOptions& options,
                                std::vector<Case> sequence) {
  constexpr ProductOrder kOrders[] = {ProductOrder::kAmx, ProductOrder::kAmpere,
                                      ProductOrder::kHopper};
  for (Case& c : sequence) {
    ProductOrder& order = c.Get<AttentionForwardCase>().order;
    if (options.gpu_orders && order == ProductOrder::kAmx) {
      order = kOrders[c.seed % std::size(kOrders)];
    }
  }
  return sequence;
}

std::vector<Case> DrawAttentionForward(const OpRow& op, Draw* draw,
                                       const DomainOptions& options) {
  std::vector<Case> sequence = DrawAttention(op, draw, options, true);
  if (!options.plain) {
    sequence = WithSizes(draw, WithOrders(draw, std::move(sequence)));
    sequence = WithFurther(draw, std::move(sequence));
    sequence = WithSplits(draw, WithFar(draw, std::move(sequence)));
  }
  sequence = WithVarlen(draw, WithPages(draw, std::move(sequence)));
  sequence = WithFp8(draw, WithAlias(draw, std::move(sequence)));
  sequence = WithFp8Queries(draw, WithLists(draw, std::move(sequence)));
  if (!options.plain) {
    sequence = WithPoolStrides(draw, std::move(sequence));
    sequence = WithF16(draw, options, std::move(sequence));
    sequence = WithServedForward(draw, options, std::move(sequence));
  }
  for (Case& c : sequence) KeepInRange(&c);
  return WithGpuOrders(options, std::move(sequence));
}

std::vector<Case> DrawAttention(const OpRow& op, Draw* draw,
                                const DomainOptions& options, bool probes) {
  Case c = EmptyCase(op);
  AttentionForwardCase& a = c.Get<AttentionForwardCase>();
  DrawShape(draw, options, &a);
  DrawNumbers(draw, options, &a);
  DrawMasks(draw, options, &a);
  DrawPayload(draw, options, &a);
  DrawFill(draw, options, probes, &a);
  if (!options.plain) DrawMemory(draw, &a);
  c.seed = static_cast<uint64_t>(draw->In(0, 1 << 20));
  c = NormalForm(c).value_or(EmptyCase(op));
  std::vector<Case> sequence = {c};
  if (!options.plain && draw->OneIn(12)) {
    const std::optional<Case> next = NormalForm(NextAttentionCall(draw, c));
    if (next) sequence.push_back(*next);
  }
  return options.plain ? sequence : WithCorners(draw, std::move(sequence));
}

}  // namespace lockstep::verify
