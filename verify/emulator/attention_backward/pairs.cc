#include "verify/emulator/attention_backward/pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/attention_row.h"
#include "reference/contract/numerics.h"
#include "reference/elementary.h"
#include "reference/mask.h"
#include "verify/base/binary64.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

constexpr auto kLog2e = static_cast<float>(kLog2E);

float SubnormalAsZero(float x) { return std::fabs(x) < 0x1p-126f ? 0.0f : x; }

// A mask whose windows reach one key further back.
void WidenWindows(MaskExpr* mask) {
  if (mask->kind == MaskExpr::Kind::kWindow && mask->left != kUnlimited) {
    ++mask->left;
  }
  for (MaskExpr& child : mask->children) WidenWindows(&child);
}

int64_t CommonOffset(const AttentionForwardProblem& p,
                     const AttentionForwardInputs& in) {
  return in.Offset(p, 0);
}

// What a fault makes one of the two kinds of sums believe.
void Misbelieve(GradFault fault, AttentionForwardProblem* p,
                AttentionForwardInputs* in) {
  switch (fault) {
    case GradFault::kDkvCausalPlusOne:
    case GradFault::kDqCausalPlusOne:
      p->align = {Alignment::Kind::kOffset, CommonOffset(*p, *in) + 1};
      return;
    case GradFault::kDkvUnmasked:
      p->masks = {MaskExpr{}};
      return;
    case GradFault::kDkvIgnoresSegments:
    case GradFault::kDqIgnoresSegments:
      p->segments = false;
      return;
    case GradFault::kDkvTopLeft:
      p->align = {};
      return;
    case GradFault::kDkvIgnoresCounts:
      // Of queries: a padded one counts as any other.
      if (p->align.kind == Alignment::Kind::kBottomRight) {
        p->align = {Alignment::Kind::kOffset, CommonOffset(*p, *in)};
      }
      in->valid_q.clear();
      return;
    case GradFault::kDkvWindowPlusOne:
      for (MaskExpr& mask : p->masks) WidenWindows(&mask);
      return;
    default:
      return;
  }
}

bool OfQuerySums(GradFault fault) {
  return fault == GradFault::kDqCausalPlusOne ||
         fault == GradFault::kDqIgnoresSegments;
}

}  // namespace

GradFactors FactorsOf(const AttentionForwardProblem& problem, GradFault fault) {
  const auto scale = static_cast<float>(problem.scale);
  GradFactors factors = {scale, scale};
  if (fault == GradFault::kScaleMissingDq) factors.dq = 1.0f;
  if (fault == GradFault::kScaleMissingDk) factors.dk = 1.0f;
  if (fault == GradFault::kScaleTwiceDq) factors.dq *= scale;
  if (fault == GradFault::kScaleTwiceDk) factors.dk *= scale;
  if (fault == GradFault::kLog2eKept) factors.dk *= kLog2e;
  if (fault == GradFault::kLn2Applied) factors.dq /= kLog2e;
  if (fault == GradFault::kGroupMean) {
    factors.dk /= static_cast<float>(problem.group());
  }
  return factors;
}

GradPairs::GradPairs(const AttentionBackwardProblem& problem,
                     const AttentionBackwardInputs& inputs,
                     const GradVariant& variant, GradFault fault)
    : problem_(problem),
      p_(problem.forward),
      in_(inputs),
      variant_(variant),
      fault_(fault),
      to_key_(p_),
      to_query_(p_),
      key_inputs_(inputs.forward),
      query_inputs_(inputs.forward) {
  if (fault == GradFault::kListRepeatsCount) {
    lists_.emplace(p_, in_.forward, FaultDial{});
  }
  const GradFactors factors = FactorsOf(p_, fault);
  const GradNumeric& grad = *variant.numeric.grad;
  if (grad.dq_scale_at == DqScaleAt::kDs) of_ds_.dq = factors.dq;
  if (grad.dk_scale_at == DkScaleAt::kDs) of_ds_.dk = factors.dk;
  if (OfQuerySums(fault)) {
    Misbelieve(fault, &to_query_, &query_inputs_);
  } else {
    Misbelieve(fault, &to_key_, &key_inputs_);
  }
}

int64_t GradPairs::KvHead(int64_t h) const {
  return fault_ == GradFault::kGroupModulo ? h % p_.kv_heads : h / p_.group();
}

bool GradPairs::SeesAny(int64_t b, int64_t h, int64_t i) const {
  for (int64_t j = 0; j < p_.kv_len; ++j) {
    if (reference::IsVisible(p_, in_.forward, b, h, i, j)) return true;
  }
  return false;
}

bool GradPairs::Guarded(int64_t b, int64_t j) const {
  if (variant_.numeric.masked_nan_safe != MaskedNan::kPadding) return false;
  for (int64_t h = 0; h < p_.q_heads; ++h) {
    for (int64_t i = 0; i < p_.q_len; ++i) {
      if (reference::IsVisible(p_, in_.forward, b, h, i, j)) return false;
    }
  }
  return true;
}

float GradPairs::Round(float x, NumberType type) const {
  if (type == NumberType::kCase) type = WeightTypeOf(p_.p_lane);
  const bool cut = variant_.numeric.p_round == Rounding::kTruncate;
  return cut ? TruncateTo(x, type) : RoundTo(x, type);
}

std::vector<float> GradPairs::Operand(const LaneView& x, int64_t b, int64_t h,
                                      int64_t position, NumberType type) const {
  std::vector<float> row = reference::LoadRow(x, b, h, position);
  for (float& value : row) value = RoundTo(value, type);
  return row;
}

std::vector<float> GradPairs::Scaled(const std::vector<float>& x,
                                     float factor) const {
  std::vector<float> row = x;
  for (float& value : row) {
    value = RoundTo(value * factor, NumberTypeOf(p_.lane));
    value = RoundTo(value, variant_.numeric.operand_qk);
  }
  return row;
}

float GradPairs::Dot(const float* a, const float* b, int64_t n,
                     const Accumulator& how) const {
  return Accumulate({a, 1, b, 1, n}, 0.0f, how);
}

float GradPairs::SeenCotangent(float x) const {
  if (fault_ == GradFault::kF16ThroughBf16) {
    return RoundTo(x, NumberType::kBf16);
  }
  return fault_ == GradFault::kF16DoFlushed ? FlushedInF16(x) : x;
}

float GradPairs::Written(float x, Lane lane) const {
  if (variant_.numeric.out_round == Rounding::kTruncate) {
    x = TruncateTo(x, NumberTypeOf(lane));
  }
  if (fault_ != GradFault::kF16OutputFlushed) return x;
  return FlushedInF16(RoundTo(x, NumberTypeOf(lane)));
}

GradRow GradPairs::Row(int64_t b, int64_t h, int64_t i) const {
  const int64_t before = std::max<int64_t>(i - 1, 0);
  const bool zero_head = fault_ == GradFault::kLseOfHead0;
  GradRow row{b, h, i, {}, {}, {}, {}};
  row.lse =
      in_.lse(fault_ == GradFault::kLseOfBatch0 ? 0 : b, zero_head ? 0 : h,
              fault_ == GradFault::kLseOfPreviousRow ? before : i);
  const bool sees = SeesAny(b, h, i) || fault_ == GradFault::kDkvIgnoresCounts;
  if (sees || variant_.mask_multiplies) {
    row.q = reference::LoadRow(in_.forward.q, b, h, i);
    row.d_o = reference::LoadRow(in_.d_o, b,
                                 fault_ == GradFault::kDoOfHead0 ? 0 : h, i);
    for (float& x : row.d_o) x = SeenCotangent(x);
    if (sees) row.delta = Delta(row);
    if (fault_ == GradFault::kF16DeltaF16) {
      row.delta = RoundTo(row.delta, NumberType::kF16);
    }
  } else {
    row.q.assign(static_cast<size_t>(p_.head_dim), 0.0f);
    row.d_o.assign(static_cast<size_t>(p_.value_dim), 0.0f);
  }
  if (problem_.dlse && fault_ != GradFault::kDlseIgnored &&
      fault_ != GradFault::kDlseUnweighted) {
    const float dlse =
        in_.dlse(b, fault_ == GradFault::kDlseOfHead0 ? 0 : h, i);
    row.delta += fault_ == GradFault::kDlseAdded ? dlse : -dlse;
  }
  row.q_to_k = row.q;
  row.d_o_to_v = row.d_o;
  for (float& x : row.q_to_k) x = RoundTo(x, variant_.numeric.operand_qk);
  for (float& x : row.d_o_to_v) x = RoundTo(x, variant_.numeric.operand_v);
  return row;
}

// D, which is also the sum of P times dP over the keys where o is not rounded.
float GradPairs::Delta(const GradRow& row) const {
  const bool tile = fault_ == GradFault::kDeltaOfFirstTile;
  if (fault_ == GradFault::kDeltaMissing) return 0.0f;
  const bool weighed = fault_ == GradFault::kDeltaOfUnroundedO ||
                       variant_.numeric.grad->delta_from == DeltaFrom::kWeights;
  if (!weighed && !tile) {
    const bool before = fault_ == GradFault::kDeltaOfPreviousRow;
    const int64_t i = before ? std::max<int64_t>(row.i - 1, 0) : row.i;
    const int64_t h = fault_ == GradFault::kDeltaOfHead0 ? 0 : row.h;
    return reference::Dot(reference::LoadRow(in_.d_o, row.b, h, i),
                          reference::LoadRow(in_.o, row.b, h, i));
  }
  const GradNumeric& grad = *variant_.numeric.grad;
  const bool rounded = grad.ds_from == DsFrom::kRoundedP;
  float sum = 0;
  const int64_t end = tile ? std::min(variant_.tile_kv, p_.kv_len) : p_.kv_len;
  for (int64_t j = 0; j < end; ++j) {
    if (!reference::IsVisible(p_, in_.forward, row.b, row.h, row.i, j)) {
      continue;
    }
    const int64_t g = KvHead(row.h);
    float u = 0, slope = 0;
    Score(reference::Dot(row.q, reference::LoadRow(in_.forward.k, row.b, g, j)),
          &u, &slope);
    const float dp =
        reference::Dot(row.d_o, reference::LoadRow(in_.forward.v, row.b, g, j));
    const float p = Weight(u, row.lse);
    sum = std::fma(rounded ? Round(p, grad.p) : p, dp, sum);
  }
  return sum;
}

void GradPairs::Score(float dot, float* u, float* slope) const {
  *slope = 1.0f;
  float y = 0;
  const auto scale = static_cast<float>(p_.scale);
  if (contract() && fault_ != GradFault::kCapBeforeScale) {
    const reference::Score score = reference::ScoreOf(p_, dot);
    *u = score.u;
    y = score.y;
  } else if (!p_.softcap) {
    *u = RoundTo(dot * scale, variant_.numeric.score);
    if (contract()) *u *= kLog2e;
    return;
  } else {
    const auto cap = static_cast<float>(*p_.softcap);
    const bool late = fault_ == GradFault::kCapBeforeScale;
    const float argument = (late ? dot : dot * scale) / cap;
    y = static_cast<float>(TanhDouble(argument));
    *u = RoundTo(cap * y * (late ? scale : 1.0f), variant_.numeric.score);
    if (contract()) *u *= kLog2e;
  }
  if (!p_.softcap) return;
  const float z = dot * scale / static_cast<float>(*p_.softcap);
  *slope = std::fma(-y, y, 1.0f);
  if (fault_ == GradFault::kSlopeMissing) *slope = 1.0f;
  if (fault_ == GradFault::kSlopeOfUncapped) *slope = std::fma(-z, z, 1.0f);
  if (fault_ == GradFault::kSlopeWithoutSquare) *slope = 1.0f - y;
  if (fault_ == GradFault::kSlopeTwice) *slope *= *slope;
  if (fault_ == GradFault::kSlopeSign) *slope = std::fma(y, y, 1.0f);
  if (fault_ == GradFault::kSlopeOfScore) {
    const float capped = y * static_cast<float>(*p_.softcap);
    *slope = std::fma(-capped, capped, 1.0f);
  }
}

// `u`: of the contract in units of log2, otherwise natural.
float GradPairs::Weight(float u, float lse) const {
  const NumericProfile& n = variant_.numeric;
  if (contract()) {
    // N18: such a row is NaN.
    if (!(lse < kFloatInf)) return std::numeric_limits<float>::quiet_NaN();
    const float l = fault_ == GradFault::kLseInBase2 ? lse : lse * kLog2e;
    return reference::Exp2(u - l);
  }
  float p = 0;
  if (n.exp_base == ExpBase::kTwo) {
    const float l = fault_ == GradFault::kLseInBase2 ? lse : lse * kLog2e;
    p = static_cast<float>(Exp2Double(
        n.shift == Shift::kFma ? std::fma(u, kLog2e, -l) : u * kLog2e - l));
  } else {
    const float l = fault_ == GradFault::kLseInBase2 ? lse / kLog2e : lse;
    p = static_cast<float>(ExpDouble(u - l));
  }
  return n.ftz ? SubnormalAsZero(p) : p;
}

void GradPairs::See(const GradRow& row, int64_t j, GradPair* pair) const {
  pair->to_key =
      reference::IsVisible(to_key_, key_inputs_, row.b, row.h, row.i, j);
  pair->to_query =
      reference::IsVisible(to_query_, query_inputs_, row.b, row.h, row.i, j);
  if (fault_ == GradFault::kMaskMultiplies) {
    pair->to_key = pair->to_query = true;
  }
  // A row of infinite lse is left out (N18).
  if (row.lse == -kFloatInf && fault_ != GradFault::kMaskMultiplies) {
    pair->to_key = pair->to_query = false;
  }
  pair->visible = pair->to_key || pair->to_query;
  if (variant_.mask_multiplies) pair->to_key = pair->to_query = true;
}

GradPair GradPairs::Pair(const GradRow& row, int64_t j, const float* k,
                         const float* v) const {
  GradPair pair;
  See(row, j, &pair);
  const bool unmasked_dv = fault_ == GradFault::kDvUnmasked;
  if (!pair.to_key && !pair.to_query && !unmasked_dv) return pair;
  const GradNumeric& grad = *variant_.numeric.grad;
  float u = 0, slope = 0;
  Score(Dot(row.q_to_k.data(), k, p_.head_dim, variant_.numeric.acc_qk), &u,
        &slope);
  float p = pair.visible || unmasked_dv ? Weight(u, row.lse) : 0.0f;
  if (contract()) p = SubnormalAsZero(p);
  int64_t channels = p_.value_dim;
  if (fault_ == GradFault::kChannelTailDropped) channels = channels / 4 * 4;
  if (fault_ == GradFault::kDpFirstChannels) {
    channels = std::min<int64_t>(channels, 64);
  }
  float dp = Dot(row.d_o_to_v.data(), v, channels, grad.acc_dp);
  if (fault_ == GradFault::kF16DpF16) dp = RoundTo(dp, NumberType::kF16);
  const float gap = dp - row.delta;
  const float weight = grad.ds_from == DsFrom::kRoundedP ? Round(p, grad.p) : p;
  float ds = (fault_ == GradFault::kWeightMissing ? gap : weight * gap) * slope;
  if (fault_ == GradFault::kDlseUnweighted && problem_.dlse) {
    ds += in_.dlse(row.b, row.h, row.i);
  }
  if (contract()) ds = SubnormalAsZero(ds);
  if (fault_ == GradFault::kF16DsFlushed) ds = FlushedInF16(ds);
  pair.p = p;
  if (fault_ == GradFault::kSlopeOnP) pair.p *= slope;
  if (fault_ == GradFault::kDvOfScores) pair.p = ds;
  const bool visible =
      reference::IsVisible(p_, in_.forward, row.b, row.h, row.i, j);
  if (lists_) {
    const auto often =
        static_cast<float>(lists_->Count({row.b, row.h, row.i, j}));
    pair.p *= often;
    ds *= often;
  }
  if (fault_ == GradFault::kMaskMultiplies && !visible) {
    pair.p *= 0.0f;
    ds *= 0.0f;
  }
  if (unmasked_dv && !pair.to_key) {
    pair.to_key = true;
    ds = 0.0f;
  }
  pair.p =
      Round(pair.p, fault_ == GradFault::kPInBf16 ? NumberType::kBf16 : grad.p);
  const NumberType type =
      fault_ == GradFault::kDsInBf16 ? NumberType::kBf16 : grad.ds;
  pair.ds_to_key = Round(ds * of_ds_.dk, type);
  pair.ds_to_query = Round(ds * of_ds_.dq, type);
  return pair;
}

float GradPairs::AddSink(const GradRow& row, float sum) const {
  int64_t h = row.h;
  if (fault_ == GradFault::kSinkOfHead0) h = 0;
  if (fault_ == GradFault::kSinkOfGroup) h -= h % p_.group();
  const float sink = in_.forward.sink(h);
  const float s = Weight(contract() ? sink * kLog2e : sink, row.lse);
  if (fault_ == GradFault::kSinkUnweighted) return sum - row.delta;
  const bool positive = fault_ == GradFault::kSinkPositive;
  return std::fma(positive ? s : -s, row.delta, sum);
}

}  // namespace lockstep::verify
