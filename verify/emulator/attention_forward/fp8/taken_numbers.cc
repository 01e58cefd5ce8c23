#include "verify/emulator/attention_forward/fp8/taken_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/contract/key_scales.h"
#include "reference/contract/lanes.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

// The scales of weights in e4m3.
constexpr float kSaturatingScale = 512;
constexpr float kKeptScale = 256;

enum class Side : uint8_t { kKeys, kValues };

class Fp8Reader {
 public:
  Fp8Reader(const AttentionForwardProblem& problem,
            const AttentionForwardInputs& inputs, const FaultDial& dial)
      : p_(problem), in_(inputs), dial_(dial) {}

  // The numbers of k or v, dense.
  LaneView Numbers(Side side, std::vector<float>* made) const {
    const LaneView& from = side == Side::kKeys ? in_.k : in_.v;
    const int64_t channels = from.shape[3];
    const bool swaps = Is(Fault::kFp8PairsSwapped) && side == Side::kValues;
    ForElements(from.shape, [&](const At& at) {
      At place = at;
      if (swaps && (at[3] ^ 1) < channels) place[3] ^= 1;
      const float x = Number(side, ElementBits(from, place));
      made->push_back(Rounded(side, x, at));
    });
    return {made->data(), Lane::kF32, from.shape, DenseStrides(from.shape)};
  }

  // How scales of k or v are laid out for the kernel.
  KeyScales Layout(Side side) const {
    if (Rounds(side)) return {};
    const KeyScales& scales = ScalesOf(Source(side));
    const bool late = Is(Fault::kFp8KeyScaleAfterCap) && side == Side::kKeys;
    if (scales.by_key() || (late && scales.any())) {
      return {ScaleLayout::kToken, 0};
    }
    const bool kept = Is(Fault::kFp8WeightScaleKept) && side == Side::kValues;
    if (!scales.any() && !kept) return {};
    return {ScaleLayout::kHead, 0};
  }

  KeyScaleView Scales(Side side, std::vector<float>* made) const {
    const KeyScales layout = Layout(side);
    if (!layout.any()) return {};
    KeyScaleView view;
    view.shape = ScaleShape(layout, p_.batch, p_.kv_heads, p_.kv_len);
    view.strides = DenseStrides(view.shape);
    for (int64_t b = 0; b < view.shape[0]; ++b) {
      for (int64_t h = 0; h < view.shape[1]; ++h) {
        for (int64_t j = 0; j < view.shape[2]; ++j) {
          made->push_back(TakenScale(side, b, h, j));
        }
      }
    }
    view.data = made->data();
    return view;
  }

 private:
  bool Is(Fault fault) const { return dial_.Is(fault); }
  bool Is(Side side, Fault keys, Fault values) const {
    return Is(side == Side::kKeys ? keys : values);
  }
  const KeyScales& ScalesOf(Side side) const {
    return side == Side::kKeys ? p_.k_scales : p_.v_scales;
  }

  // Whose scales are taken.
  Side Source(Side side) const {
    if (Is(Fault::kFp8ScalesExchanged)) {
      return side == Side::kKeys ? Side::kValues : Side::kKeys;
    }
    return Is(Fault::kFp8KeyScaleOnValues) ? Side::kKeys : side;
  }

  float Number(Side side, uint32_t bits) const {
    const Lane lane = *p_.kv_lane;
    const bool e4m3 = lane == Lane::kE4m3;
    if (Is(Fault::kFp8OtherFormat)) {
      const Lane other = e4m3 ? Lane::kE5m2 : Lane::kE4m3;
      return static_cast<float>(ElementValue(other, bits));
    }
    if (Is(Fault::kFp8Fnuz)) {
      if ((bits & 0xff) == 0x80) return kFloatNaN;
      return static_cast<float>(FiniteFp8(lane, bits, true) / 2);
    }
    if (Is(Fault::kFp8NoNan)) {
      return static_cast<float>(FiniteFp8(lane, bits, true));
    }
    const auto x = static_cast<float>(ElementValue(lane, bits));
    const float normal = std::ldexp(1.0f, LaneRowOf(lane).min_exponent);
    if (!(std::fabs(x) < normal)) return x;
    if (Is(Fault::kFp8SubnormalsNormal)) {
      return static_cast<float>(FiniteFp8(lane, bits, false));
    }
    const bool flushed =
        Is(side, Fault::kFp8KeysFlushed, Fault::kFp8ValuesFlushed);
    return flushed ? std::copysign(0.0f, x) : x;
  }

  // Whether numbers are multiplied by their scales, and rounded, at once.
  bool Rounds(Side side) const {
    return Is(side, Fault::kFp8KeysBf16, Fault::kFp8ValuesBf16) ||
           Is(side, Fault::kFp8KeysRounded, Fault::kFp8ValuesRounded);
  }
  float Rounded(Side side, float x, const At& at) const {
    if (!Rounds(side)) return x;
    const float scaled = x * Scale(side, at[0], at[1], at[2]);
    if (Is(side, Fault::kFp8KeysBf16, Fault::kFp8ValuesBf16)) {
      return RoundTo(scaled, NumberType::kBf16);
    }
    const Lane lane = *p_.kv_lane;
    return static_cast<float>(
        ElementValue(lane, BitsOf(lane, static_cast<double>(scaled))));
  }

  // The key whose scale is taken for that of key j. `there`: keys of the row.
  int64_t ScaleKey(const KeyScales& scales, int64_t there, int64_t j) const {
    const int64_t keys = scales.keys();
    if (Is(Fault::kFp8ScaleNextBlock)) j += keys;
    if (Is(Fault::kFp8ScaleFirstBlock)) j = 0;
    if (Is(Fault::kFp8BlockStartsLate)) --j;
    if (Is(Fault::kFp8BlockEndsEarly)) ++j;
    const bool last = j / keys == (there - 1) / keys && there % keys != 0;
    if (Is(Fault::kFp8LastBlock) && last) j -= keys;
    if (Is(Fault::kFp8BlockDoubled)) j = j / (2 * keys) * keys;
    return std::clamp<int64_t>(j, 0, there - 1);
  }

  // The scale that the kernel finds; 1 for a key that does not exist.
  float Scale(Side side, int64_t b, int64_t h, int64_t j) const {
    const Side source = Source(side);
    const KeyScales& scales = ScalesOf(source);
    const KeyScaleView& view =
        source == Side::kKeys ? in_.k_scale : in_.v_scale;
    if (Is(Fault::kFp8ScaleHeadZero)) h = 0;
    if (Is(Fault::kFp8ScaleNextHead)) h = (h + 1) % p_.kv_heads;
    if (scales.by_key()) {
      if (j >= in_.ValidKv(p_, b)) return 1.0f;
      if (Is(Fault::kFp8ScaleBatchZero)) b = 0;
      const int64_t there = in_.ValidKv(p_, b);
      if (there == 0) return 1.0f;
      j = ScaleKey(scales, there, std::min(j, there - 1));
    }
    return KeyScaleOf(scales, view, b, h, j);
  }

  float TakenScale(Side side, int64_t b, int64_t h, int64_t j) const {
    float x = Scale(side, b, h, j);
    if (Is(side, Fault::kFp8KeyScaleForgotten,
           Fault::kFp8ValueScaleForgotten)) {
      return 1.0f;
    }
    if (Is(side, Fault::kFp8KeyScaleTwice, Fault::kFp8ValueScaleTwice)) x *= x;
    if (Is(side, Fault::kFp8KeyScaleInverted, Fault::kFp8ValueScaleInverted)) {
      x = 1 / x;
    }
    if (Is(Fault::kFp8ScalePowerOfTwo)) x = std::ldexp(1.0f, std::ilogb(x));
    if (Is(Fault::kFp8ScaleBf16)) x = RoundTo(x, NumberType::kBf16);
    const bool kept = Is(Fault::kFp8WeightScaleKept) && side == Side::kValues;
    return kept ? x * kKeptScale : x;
  }

  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& in_;
  const FaultDial& dial_;
};

float InE4m3(float x) {
  const uint32_t bits = BitsOf(Lane::kE4m3, static_cast<double>(x));
  return static_cast<float>(ElementValue(Lane::kE4m3, bits));
}

}  // namespace

double FiniteFp8(Lane lane, uint32_t bits, bool subnormal) {
  const int digits = LaneRowOf(lane).digits - 1;  // behind the hidden bit
  const int fraction = static_cast<int>(bits) & ((1 << digits) - 1);
  const int exponent = static_cast<int>(bits & 0x7f) >> digits;
  const int hidden = exponent == 0 && subnormal ? 0 : 1 << digits;
  const int lowest = LaneRowOf(lane).min_exponent - digits;
  const int steps =
      exponent == 0 && !subnormal ? -1 : std::max(exponent - 1, 0);
  const double x = std::ldexp(hidden + fraction, lowest + steps);
  return (bits & 0x80) != 0 ? -x : x;
}

bool BreaksFp8(const FaultDial& dial) {
  const auto of_fp8 = [](Fault f) {
    return f >= Fault::kFp8KeyScaleForgotten && f <= Fault::kFp8WeightScaleKept;
  };
  return of_fp8(dial.fault) || of_fp8(dial.second);
}

TakenNumbers TakeNumbers(const AttentionForwardProblem& problem,
                         const AttentionForwardInputs& inputs,
                         const FaultDial& dial) {
  const Fp8Reader reader(problem, inputs, dial);
  TakenNumbers taken;
  taken.problem = problem;
  taken.problem.k_scales = reader.Layout(Side::kKeys);
  taken.problem.v_scales = reader.Layout(Side::kValues);
  taken.inputs = inputs;
  taken.inputs.k = reader.Numbers(Side::kKeys, &taken.k);
  taken.inputs.v = reader.Numbers(Side::kValues, &taken.v);
  taken.inputs.k_scale = reader.Scales(Side::kKeys, &taken.k_scale);
  taken.inputs.v_scale = reader.Scales(Side::kValues, &taken.v_scale);
  return taken;
}

float WeightInFp8(float p, float unit, const FaultDial& dial) {
  if (dial.Is(Fault::kFp8WeightsRounded)) return InE4m3(p / unit) * unit;
  if (!dial.Is(Fault::kFp8WeightsSaturate)) return p;
  return InE4m3(p / unit * kSaturatingScale) / kSaturatingScale * unit;
}

}  // namespace lockstep::verify
