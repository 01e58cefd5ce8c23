// The law of scale: v times a power of two is o times it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward_clone.h"
#include "verify/ops/attention_forward/laws.h"

namespace lockstep::verify {
namespace {

// Limits under which no product of a weight and a value, and no sum of them,
// loses a bit to underflow: weights above e^-30, values above 2^-16, times
// 2^-8, have their last bit above 2^-120.
constexpr double kMostSpread = 30;
constexpr double kLeastValue = 0x1p-16;
constexpr double kMostValue = 0x1p16;

// Euclidean norm of the longest row; infinite where one is not finite.
double LongestRow(const LaneTensor& tensor) {
  double most = 0;
  double sum = 0;
  const At& shape = tensor.view.shape;
  ForElements(shape, [&](const At& at) {
    if (at[3] == 0) sum = 0;
    const double x =
        ElementValue(tensor.view.lane, ElementBits(tensor.const_view(), at));
    sum += x * x;
    if (!std::isfinite(sum)) sum = HUGE_VAL;
    most = std::max(most, sum);
  });
  return std::sqrt(most);
}

// Of keys or queries in fp8; 1 without scales.
double LargestScale(const KeyScaleView& scales) {
  double most = scales.data != nullptr ? 0 : 1;
  for (int64_t b = 0; b < scales.shape[0]; ++b) {
    for (int64_t h = 0; h < scales.shape[1]; ++h) {
      for (int64_t n = 0; n < scales.shape[2]; ++n) {
        most = std::max(most, static_cast<double>(scales(b, h, n)));
      }
    }
  }
  return most;
}

}  // namespace

bool AttentionLaws::OwnsValues() const {
  return Owned(data_.v) && !data_.problem.v_in_k;
}

double AttentionLaws::MostSpread() const {
  const AttentionForwardProblem& p = data_.problem;
  double score = std::fabs(p.scale) * LongestRow(data_.q) *
                 LongestRow(data_.k) * LargestScale(data_.inputs.k_scale) *
                 LargestScale(data_.inputs.q_scale);
  if (p.softcap && !std::isnan(score)) score = std::min(score, *p.softcap);
  double sink = 0;
  for (int64_t h = 0; p.sink && h < p.q_heads; ++h) {
    sink = std::max(sink, double{std::fabs(data_.inputs.sink(h))});
  }
  return score + std::max(score, sink);
}

bool AttentionLaws::ScalesExactly(int exponent) const {
  const AttentionForwardProblem& p = data_.problem;
  if (!(MostSpread() <= kMostSpread)) return false;
  // Nor at the ends of the lane, scaled or not.
  const LaneRow& lane = LaneRowOf(p.key_lane());
  const double normal = std::ldexp(1.0, lane.min_exponent);
  const double least =
      std::max({kLeastValue, normal, std::ldexp(normal, -exponent)});
  const double most =
      std::min({kMostValue, lane.largest, std::ldexp(lane.largest, -exponent)});
  bool plain = true;
  ForElements(data_.v.view.shape, [&](const At& at) {
    const double x = std::fabs(
        ElementValue(data_.v.view.lane, ElementBits(data_.v.const_view(), at)));
    plain &= x == 0 || (x >= least && x <= most);
  });
  return plain;
}

Result<Law> AttentionLaws::Scale() const {
  const int size = 1 + static_cast<int>(salt_ / 2 % 8);
  const int exponent = salt_ % 2 == 0 ? size : -size;
  if (!ScalesExactly(exponent)) return Of("scale", {}, {});
  ASSIGN_OR_RETURN(AttentionForwardData data, Clone(data_));
  const MutableLaneView& v = data.v.view;
  ForElements(v.shape, [&](const At& at) {
    const uint32_t bits = ElementBits(data.v.const_view(), at);
    SetElement(
        v, at,
        BitsOf(v.lane, std::ldexp(ElementValue(v.lane, bits), exponent)));
  });
  Law law = Of("scale", std::move(data), AllLines());
  law.structural = true;
  law.exponents = {exponent, 0};
  return law;
}

}  // namespace lockstep::verify
