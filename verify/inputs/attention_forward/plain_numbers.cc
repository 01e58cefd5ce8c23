#include "verify/inputs/attention_forward/plain_numbers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/contract/lanes.h"
#include "reference/contract/numerics.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward/numbers.h"

namespace lockstep::verify {
namespace {

// Weights differ by a factor of at most e^30 and have 24 bits. So the last bit
// of a weight times a value of fp8 is above 2^-83 of the largest weight. Times
// a scale of 2^-16, and divided by 2^17 weights, it is above 2^-117.
constexpr double kMostSpread = 30;
constexpr int kValueScale = 16;
// f32's last bit; sums and constants stay below 2^kMost, and constants above
// 2^-kMost.
constexpr int kLastBit = -149;
constexpr int kMost = 120;

// The range of the exponents of scales. It holds 0, since a kernel may take a
// step before a scale is multiplied in, or after.
struct Exponents {
  int least = 0, most = 0;
  bool powers = true;  // of two
};

Exponents ExponentsOf(const KeyScaleView& scales) {
  Exponents found;
  if (scales.data == nullptr) return found;
  for (int64_t b = 0; b < scales.shape[0]; ++b) {
    for (int64_t h = 0; h < scales.shape[1]; ++h) {
      for (int64_t n = 0; n < scales.shape[2]; ++n) {
        int exponent = 0;
        const double x = double{scales(b, h, n)};
        found.powers = found.powers && std::frexp(x, &exponent) == 0.5;
        found.least = std::min(found.least, exponent - 1);
        found.most = std::max(found.most, exponent - 1);
      }
    }
  }
  return found;
}

// Exponents of the last bit and of the end of finite elements other than 0.
struct Range {
  int last = 0, end = 0;
};

Range RangeOf(const LaneView& x) {
  const LaneRow& row = LaneRowOf(x.lane);
  Range range;
  bool any = false;
  ForElements(x.shape, [&](const At& at) {
    const double value = ElementValue(x.lane, ElementBits(x, at));
    if (value == 0 || !std::isfinite(value)) return;
    const int exponent = std::ilogb(value);
    const int last = std::max(exponent, row.min_exponent) - row.digits + 1;
    range.last = any ? std::min(range.last, last) : last;
    range.end = any ? std::max(range.end, exponent + 1) : exponent + 1;
    any = true;
  });
  return range;
}

// Whether every element, a number of f32, is one of the lane.
bool AreOf(Lane lane, const LaneView& numbers) {
  bool are = true;
  ForElements(numbers.shape, [&](const At& at) {
    const double x = double{numbers.Float(at[0], at[1], at[2], at[3])};
    const double y = ElementValue(lane, BitsOf(lane, x));
    are = are && (x == y || (std::isnan(x) && std::isnan(y)));
  });
  return are;
}

// Whether a factor of scores keeps its bits when a scale joins it.
bool StaysNormal(double factor, const Exponents& q, const Exponents& k) {
  if (factor == 0) return true;
  const int exponent = std::ilogb(factor);
  return exponent + q.least + k.least > -kMost &&
         exponent + q.most + k.most < kMost;
}

bool ScoresAreExact(const AttentionForwardData& data, const Exponents& q,
                    const Exponents& k) {
  const AttentionForwardProblem& p = data.problem;
  const Range of_q = RangeOf(data.inputs.q), of_k = RangeOf(data.inputs.k);
  const int channels = std::ilogb(static_cast<double>(p.head_dim)) + 1;
  return of_q.last + of_k.last + q.least + k.least >= kLastBit &&
         of_q.end + of_k.end + channels + q.most + k.most < kMost &&
         StaysNormal(p.scale, q, k) && StaysNormal(p.scale * kLog2E, q, k) &&
         (!p.softcap || StaysNormal(p.scale / *p.softcap, q, k));
}

Status Take(const LaneView& numbers, Lane lane, LaneTensor* tensor,
            LaneView* view) {
  ASSIGN_OR_RETURN(
      LaneTensor own,
      AllocateLaneTensor(lane, numbers.shape, DenseStrides(numbers.shape), 0));
  ForElements(numbers.shape, [&](const At& at) {
    const double x = double{numbers.Float(at[0], at[1], at[2], at[3])};
    SetElement(own.view, at, BitsOf(lane, x));
  });
  *tensor = std::move(own);
  *view = tensor->const_view();
  return {};
}

}  // namespace

bool HasPlainNumbers(const AttentionForwardData& data, double spread) {
  const AttentionForwardProblem& p = data.problem;
  const Exponents q = ExponentsOf(data.inputs.q_scale);
  const Exponents k = ExponentsOf(data.inputs.k_scale);
  const Exponents v = ExponentsOf(data.inputs.v_scale);
  if (!q.powers || !k.powers || !v.powers) return false;
  const bool scaled = v.least != 0 || v.most != 0;
  const bool tame =
      spread <= kMostSpread && v.least >= -kValueScale && v.most <= kValueScale;
  if (scaled && !tame) return false;
  if (!ScoresAreExact(data, q, k)) return false;
  const KeyNumbers numbers = MakeNumbers(data);
  return AreOf(p.lane, numbers.data.inputs.q) &&
         AreOf(p.lane, numbers.data.inputs.k) &&
         AreOf(p.lane, numbers.data.inputs.v);
}

Status TakePlainNumbers(AttentionForwardData* data) {
  const KeyNumbers numbers = MakeNumbers(*data);
  const AttentionForwardInputs& from = numbers.data.inputs;
  AttentionForwardProblem& p = data->problem;
  AttentionForwardInputs& in = data->inputs;
  if (p.q_lane) RETURN_IF_ERROR(Take(from.q, p.lane, &data->q, &in.q));
  RETURN_IF_ERROR(Take(from.k, p.lane, &data->k, &in.k));
  RETURN_IF_ERROR(Take(from.v, p.lane, &data->v, &in.v));
  p.kv_lane = p.q_lane = {};
  p.q_scales = p.k_scales = p.v_scales = {};
  in.q_scale = in.k_scale = in.v_scale = {};
  data->q_scale = {};
  data->k_scale = {};
  data->v_scale = {};
  return {};
}

}  // namespace lockstep::verify
