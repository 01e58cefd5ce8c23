#include "verify/emulator/attention_forward/fp8/taken_queries.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/contract/key_scales.h"
#include "reference/contract/lanes.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/emulator/attention_forward/fp8/taken_numbers.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

// x, finite, in the lane, towards zero. Beyond the largest number it is that.
float Truncated(Lane lane, float x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const LaneRow& row = LaneRowOf(lane);
  const int unit = std::max(std::ilogb(x), row.min_exponent) - (row.digits - 1);
  const double steps = std::trunc(std::ldexp(static_cast<double>(x), -unit));
  const double size = std::min(std::fabs(std::ldexp(steps, unit)), row.largest);
  return std::copysign(static_cast<float>(size), x);
}

class QueryReader {
 public:
  QueryReader(const AttentionForwardProblem& problem,
              const AttentionForwardInputs& inputs, const FaultDial& dial)
      : p_(problem), in_(inputs), dial_(dial) {}

  LaneView Numbers(std::vector<float>* made) const {
    ForElements(in_.q.shape, [&](const At& at) {
      const float x = Number(ElementBits(in_.q, at));
      made->push_back(Rounds() ? Rounded(x * Scale(at[0], at[1], at[2])) : x);
    });
    return {made->data(), Lane::kF32, in_.q.shape, DenseStrides(in_.q.shape)};
  }

  // How scales are laid out for the kernel.
  KeyScales Layout() const {
    if (Rounds()) return {};
    const KeyScales& scales = Source();
    if (!scales.any()) return {};
    const bool own = scales.by_key() || Is(Fault::kFp8QueryScaleAfterCap);
    return {own ? ScaleLayout::kToken : ScaleLayout::kHead, 0};
  }

  KeyScaleView Scales(std::vector<float>* made) const {
    const KeyScales layout = Layout();
    if (!layout.any()) return {};
    KeyScaleView view;
    view.shape = ScaleShape(layout, p_.batch, p_.q_heads, p_.q_len);
    view.strides = DenseStrides(view.shape);
    for (int64_t b = 0; b < view.shape[0]; ++b) {
      for (int64_t h = 0; h < view.shape[1]; ++h) {
        for (int64_t i = 0; i < view.shape[2]; ++i) {
          made->push_back(TakenScale(b, h, i));
        }
      }
    }
    view.data = made->data();
    return view;
  }

 private:
  bool Is(Fault fault) const { return dial_.Is(fault); }

  // The layout of the scales that are taken.
  const KeyScales& Source() const {
    return Is(Fault::kFp8QueryScaleOfKeys) ? p_.k_scales : p_.q_scales;
  }

  float Number(uint32_t bits) const {
    Lane lane = *p_.q_lane;
    const bool e4m3 = lane == Lane::kE4m3;
    if (Is(Fault::kFp8QueryOtherFormat)) {
      lane = e4m3 ? Lane::kE5m2 : Lane::kE4m3;
    }
    if (Is(Fault::kFp8QueryFormatOfKeys)) lane = *p_.kv_lane;
    if (Is(Fault::kFp8QueryNoNan)) {
      return static_cast<float>(FiniteFp8(lane, bits, true));
    }
    const auto x = static_cast<float>(ElementValue(lane, bits));
    const float normal = std::ldexp(1.0f, LaneRowOf(lane).min_exponent);
    const bool flushed = Is(Fault::kFp8QueryFlushed) && std::fabs(x) < normal;
    return flushed ? std::copysign(0.0f, x) : x;
  }

  // Whether numbers are multiplied by their scales, and rounded, at once.
  bool Rounds() const {
    return Is(Fault::kFp8QueryBf16) || Is(Fault::kFp8QueryRounded) ||
           Is(Fault::kFp8QueryTruncated) || Is(Fault::kFp8QueryOverflows);
  }
  float Rounded(float x) const {
    if (Is(Fault::kFp8QueryBf16)) return RoundTo(x, NumberType::kBf16);
    const Lane lane = *p_.q_lane;
    if (Is(Fault::kFp8QueryTruncated)) return Truncated(lane, x);
    if (Is(Fault::kFp8QueryOverflows) &&
        static_cast<double>(std::fabs(x)) > LaneRowOf(lane).largest) {
      return lane == Lane::kE4m3 ? kFloatNaN : std::copysign(kFloatInf, x);
    }
    return static_cast<float>(
        ElementValue(lane, BitsOf(lane, static_cast<double>(x))));
  }

  // The query whose scale is taken for that of query i. `there`: queries of the
  // row.
  int64_t ScaleQuery(int64_t there, int64_t i) const {
    const int64_t queries = p_.q_scales.keys();
    if (Is(Fault::kFp8QueryScaleNextBlock)) i += queries;
    if (Is(Fault::kFp8QueryScaleFirstBlock)) i = 0;
    if (Is(Fault::kFp8QueryBlockStartsLate)) --i;
    return std::clamp<int64_t>(i, 0, there - 1);
  }

  // The scale that the kernel finds; 1 for a query that does not exist.
  float Scale(int64_t b, int64_t h, int64_t i) const {
    if (Is(Fault::kFp8QueryScaleOfGroup)) h = h / p_.group() * p_.group();
    if (Is(Fault::kFp8QueryScaleNextHead)) h = (h + 1) % p_.q_heads;
    if (!Source().by_key()) {
      return Is(Fault::kFp8QueryScaleOfKeys)
                 ? KeyScaleOf(p_.k_scales, in_.k_scale, b, h / p_.group(), 0)
                 : KeyScaleOf(p_.q_scales, in_.q_scale, b, h, 0);
    }
    if (i >= in_.ValidQ(p_, b)) return 1.0f;
    if (Is(Fault::kFp8QueryScaleOfKeys)) {
      if (i >= in_.ValidKv(p_, b)) return 1.0f;
      return KeyScaleOf(p_.k_scales, in_.k_scale, b, h / p_.group(), i);
    }
    if (Is(Fault::kFp8QueryScaleBatchZero)) b = 0;
    const int64_t there = in_.ValidQ(p_, b);
    if (there == 0) return 1.0f;
    return KeyScaleOf(p_.q_scales, in_.q_scale, b, h, ScaleQuery(there, i));
  }

  float TakenScale(int64_t b, int64_t h, int64_t i) const {
    if (Is(Fault::kFp8QueryScaleForgotten)) return 1.0f;
    const float x = Scale(b, h, i);
    if (Is(Fault::kFp8QueryScaleTwice)) return x * x;
    return Is(Fault::kFp8QueryScaleInverted) ? 1 / x : x;
  }

  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& in_;
  const FaultDial& dial_;
};

}  // namespace

bool BreaksFp8Queries(const FaultDial& dial) {
  const auto of_q = [](Fault f) {
    return f >= Fault::kFp8QueryScaleForgotten &&
           f <= Fault::kFp8QueryOverflows;
  };
  return of_q(dial.fault) || of_q(dial.second);
}

TakenQueries TakeQueries(const AttentionForwardProblem& problem,
                         const AttentionForwardInputs& inputs,
                         const FaultDial& dial) {
  const QueryReader reader(problem, inputs, dial);
  TakenQueries taken;
  taken.problem = problem;
  taken.problem.q_scales = reader.Layout();
  taken.inputs = inputs;
  taken.inputs.q = reader.Numbers(&taken.q);
  taken.inputs.q_scale = reader.Scales(&taken.q_scale);
  return taken;
}

}  // namespace lockstep::verify
