// Cases on which the guards of our attention kernels change their mind from
// tile to tile: numbers at the border that a guard draws, in a few rows or keys
// only, under sparse masks, through several tiles.
#include <array>
#include <cmath>

#include "verify/case/attention_forward/case.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

using enum FillKind;

// Multiply-adds of a case: more than other cases have, for several tiles.
constexpr int64_t kMostWork = 1000000;

FillTerm Term(FillKind kind, uint8_t tensors, double a, double b = 0) {
  return {.kind = kind, .tensors = tensors, .a = {a}, .b = {b}};
}

// Few channels show what a sum of many hides; 72 are more than two panels.
void DrawShape(Draw* draw, bool few_rows, AttentionForwardCase* c) {
  c->batch = draw->Of<int64_t>({1, 1, 1, 2});
  const auto heads = draw->Of<std::array<int64_t, 2>>(
      {{1, 1}, {1, 1}, {2, 2}, {2, 1}, {4, 1}, {6, 2}});
  c->q_heads = heads[0];
  c->kv_heads = heads[1];
  c->q_len = few_rows ? draw->In(1, 4) : draw->Of<int64_t>({9, 33, 64, 100});
  c->kv_len = draw->Of<int64_t>({17, 48, 65, 130, 257, 300, 513, 600, 1030});
  c->head_dim = draw->Of<int64_t>({1, 1, 2, 3, 8, 17, 33, 64, 72});
  c->value_dim = draw->Of<int64_t>({1, 1, 2, 8, 16, 17, 33, 64, 72});
  const auto work = [&] {
    return c->batch * c->q_heads * c->q_len * c->kv_len *
           (c->head_dim + c->value_dim + 4);
  };
  while (work() > kMostWork) {
    int64_t* extents[] = {&c->batch, &c->q_len, &c->head_dim, &c->value_dim};
    int64_t* longest = extents[0];
    for (int64_t* extent : extents) {
      if (*extent > *longest) longest = extent;
    }
    *longest = (*longest + 1) / 2;
  }
  c->valid_q = {c->q_len};
  c->valid_kv = {c->kv_len};
}

// Rows that see nothing of most tiles, a stripe of one tile, or all.
void DrawMask(Draw* draw, AttentionForwardCase* c) {
  DenseSource source;
  switch (draw->In(0, 7)) {
    case 0:
      return;
    case 1:
      c->mask.kind = MaskExpr::Kind::kCausal;
      c->align.kind = Alignment::Kind::kBottomRight;
      return;
    case 2:
      c->mask.kind = MaskExpr::Kind::kWindow;
      c->mask.left = draw->Of<int64_t>({0, 3, 17, 64});
      c->mask.right = draw->Of<int64_t>({0, 1, 40});
      c->align.kind = Alignment::Kind::kBottomRight;
      return;
    case 3:
    case 4:
      source.kind = DenseSource::Kind::kBlocks;
      source.block_q = draw->Of<int64_t>({1, 1, 3, 16});
      source.block_k = draw->Of<int64_t>({1, 16, 31, 64, 256});
      source.density.value = draw->Of({0.5, 0.2});
      break;
    default:
      source.kind = DenseSource::Kind::kRandom;
      source.density.value = draw->Of({0.002, 0.01, 0.05, 0.3, 0.9});
      break;
  }
  c->mask.kind = MaskExpr::Kind::kDense;
  c->mask.dense = c->dense.size();
  c->dense.push_back(source);
}

double Rate(Draw* draw) { return draw->Of({0.002, 0.01, 0.03, 0.1, 0.5}); }

// Values at the borders of normal numbers, of N9's last bit, and of overflow.
FillTerm OddValues(Draw* draw, bool large) {
  if (large) {
    const double up = draw->Of({60., 100., 124., 127.});
    return draw->OneIn(3) ? Term(kHuge, kFillV, Rate(draw))
                          : Term(kBurst, kFillV, Rate(draw), up);
  }
  switch (draw->In(0, 4)) {
    case 0:
      return Term(kSubnormal, kFillV, Rate(draw));
    case 1:
      return Term(kTiny, kFillV, Rate(draw));
    default:
      return Term(
          kBurst, kFillV, Rate(draw),
          draw->Of({-30., -64., -90., -100., -111., -118., -127., -131.}));
  }
}

// N9's fixed-m path: values that the dot instruction may not take.
void FixedValues(Draw* draw, AttentionForwardCase* c) {
  c->softcap = Number{draw->Of({0.5, 2.0, 20.0, 50.0, 55.4})};
  c->fill = {Term(kNormal, kFillAll, 1), OddValues(draw, false)};
}

// N5: products of q and k at the border, and a scale that makes them matter.
void SmallScores(Draw* draw, AttentionForwardCase* c) {
  const double down = draw->Of({-40., -56., -64.});
  c->scale.value = std::ldexp(draw->Of({1.0, -0.5}), draw->Of({80, 112, 126}));
  if (draw->OneIn(2)) c->softcap = Number{draw->Of({0.5, 20.0, 100.0})};
  c->fill = {
      Term(kNormal, kFillAll, 1), Term(kBurst, kFillQ, 1, down),
      Term(kBurst, kFillK, 1, -110 - down),
      draw->OneIn(2)
          ? Term(kSubnormal, draw->Of<uint8_t>({kFillQ, kFillK}), Rate(draw))
          : Term(kTiny, draw->Of<uint8_t>({kFillQ, kFillK}), Rate(draw))};
}

// N9's online guard: a maximum that moves, scores far apart, small values.
void MovingMaximum(Draw* draw, AttentionForwardCase* c) {
  if (draw->OneIn(3)) c->softcap = Number{draw->Of({60.0, 100.0})};
  const double edge = draw->Of({8., 64., 200.});
  c->fill = {Term(kNormal, kFillAll, 1)};
  if (c->head_dim > 1 && draw->OneIn(2)) {
    c->fill.push_back(
        Term(kDrift, kFillAll, draw->Of({30., 80., 130., -60.}), edge));
  } else {
    c->fill.push_back(Term(kSpread, kFillQ, draw->Of({5., 20., 60.})));
  }
  c->fill.push_back(OddValues(draw, false));
}

// Weights in the quick form: scores beyond 2^20, few of them.
void FarScores(Draw* draw, AttentionForwardCase* c) {
  c->scale.value = 1;
  c->fill = {Term(kConst, kFillQ, 1), Term(kNormal, kFillV, 1),
             Term(kNormal, kFillK, draw->Of({0.5, 8.0})),
             Term(kBurst, kFillK, Rate(draw), draw->Of({6., 18., 20., 23.}))};
}

// Sums that overflow on the way, or meet NaN and infinities of some keys.
void InfiniteSums(Draw* draw, AttentionForwardCase* c) {
  if (draw->OneIn(2)) c->softcap = Number{draw->Of({2.0, 50.0})};
  c->fill = {Term(kNormal, kFillAll, 1), OddValues(draw, true)};
  if (!draw->OneIn(3)) return;
  c->fill.push_back(
      Term(kSpecial, draw->Of<uint8_t>({kFillQ, kFillK, kFillV}), 0.002));
}

// A large sink leaves the fixed-m path in some heads.
void Sinks(Draw* draw, AttentionForwardCase* c) {
  FixedValues(draw, c);
  c->sinklogit = Term(kUniform, kFillAll, -20, draw->Of({40., 90., 120.}));
}

using Family = void (*)(Draw* draw, AttentionForwardCase* c);
constexpr Family kFamilies[] = {&FixedValues,   &FixedValues, &SmallScores,
                                &MovingMaximum, &FarScores,   &InfiniteSums,
                                &Sinks};

}  // namespace

std::vector<Case> DrawAttentionGuards(const OpRow& op, Draw* draw,
                                      const DomainOptions& options) {
  Case c = EmptyCase(op);
  AttentionForwardCase& a = c.Get<AttentionForwardCase>();
  DrawShape(draw, draw->OneIn(4), &a);
  a.lane = options.lane.value_or(draw->OneIn(4) ? Lane::kF32 : Lane::kBf16);
  const bool narrow = a.lane != Lane::kF32;
  a.p_lane = narrow && !draw->OneIn(4) ? a.lane : Lane::kF32;
  a.scale.value = 1.0 / std::sqrt(static_cast<double>(a.head_dim));
  DrawMask(draw, &a);
  constexpr auto kLast = static_cast<int64_t>(std::size(kFamilies)) - 1;
  kFamilies[draw->In(0, kLast)](draw, &a);
  c.seed = static_cast<uint64_t>(draw->In(0, 1 << 20));
  return {NormalForm(c).value_or(EmptyCase(op))};
}

std::vector<Case> DrawForwardGuards(const OpRow& op, Draw* draw,
                                    const DomainOptions& options) {
  std::vector<Case> sequence = DrawAttentionGuards(op, draw, options);
  AttentionForwardCase& a = sequence[0].Get<AttentionForwardCase>();
  const bool products_of_bf16 =
      a.lane == Lane::kBf16 && a.p_lane == Lane::kBf16;
  if (products_of_bf16 && draw->OneIn(5)) a.order = ProductOrder::kAmx;
  return WithGpuOrders(options, std::move(sequence));
}

}  // namespace lockstep::verify
