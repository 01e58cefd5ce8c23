// Faults of one row's state that need more than a switch: where the maximum
// starts, how parts are merged, what the lse is made of.
#include <algorithm>
#include <cmath>
#include <utility>

#include "verify/base/binary64.h"
#include "verify/emulator/attention_forward/row.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

// Far below every score that its author has met, in the kernel's own units.
constexpr float kLowestScoreMet = -5e4f;

}  // namespace

// What the online maximum starts at.
float EmulatedRow::FirstMax() const {
  if (task_.dial.Is(Fault::kMaxInitZero)) return 0.0f;
  float m = -kFloatInf;
  const bool above = task_.has_sink && !task_.dial.Is(Fault::kSinkNotInMax);
  if (above) m = a_.contract() ? std::nearbyint(sink_) : sink_;
  if (task_.dial.Is(Fault::kMaxFiniteSentinel)) {
    m = std::max(m, kLowestScoreMet);
  }
  const float other = task_.first_max;
  return std::max(m, a_.contract() ? std::nearbyint(other) : other);
}

size_t EmulatedRow::LastGrowth(size_t begin, size_t end) const {
  size_t last = end;
  float m = FirstMax();
  for (size_t t = begin; t < end; ++t) {
    float top = -kFloatInf;
    for (const Scored& item : tiles_[t]) {
      top = std::max(top, a_.contract() ? std::nearbyint(item.s) : item.s);
    }
    const float next = tiles_[t].empty() ? m : a_.NextMax(m, top);
    if (next != m && m != -kFloatInf) last = t;
    m = next;
  }
  return last;
}

void EmulatedRow::BreakFactors(const std::vector<Part>& parts,
                               std::vector<float>* factors, Part* all) const {
  const FaultDial& dial = task_.dial;
  if (dial.Is(Fault::kMergeSwapped)) std::swap((*factors)[0], (*factors)[1]);
  if (dial.Is(Fault::kSplitOffByTwo)) (*factors)[1] *= 2;
  for (const Part& part : parts) {
    // exp(0) in place of exp(-inf).
    if (dial.Is(Fault::kEmptySplitCounted) && part.m == -kFloatInf)
      all->l[0] += 1;
  }
  if (dial.Is(Fault::kLseLastSplit)) {
    all->lse_l = Fold(parts.back());
    all->lse_m = parts.back().m;
  }
}

float EmulatedRow::LastWeights(const Part& part) const {
  auto count = static_cast<int64_t>(task_.dial.SeverityOf(Fault::kLseDropsKey));
  float sum = 0;
  for (auto tile = tiles_.rbegin(); tile != tiles_.rend(); ++tile) {
    for (auto item = tile->rbegin(); item != tile->rend() && count > 0;
         ++item) {
      if (!item->visible) continue;
      sum += a_.SummedWeight(a_.Weight(item->s, part.m, shift_));
      --count;
    }
  }
  return sum;
}

float EmulatedRow::WrongL(const Part& part, float l, float* m) const {
  const FaultDial& dial = task_.dial;
  if (dial.Is(Fault::kLseLastSplit) && part.lse_l >= 0) {
    *m = part.lse_m;
    l = part.lse_l;
  }
  if (dial.Is(Fault::kLseBeforeLastTile) && part.lse_l >= 0) {
    *m = part.lse_m;
    l = part.lse_l;
  }
  if (dial.Is(Fault::kLseUnrescaledL)) l = l - Fold(part) + part.raw_l;
  if (dial.Is(Fault::kLseDropsKey)) l -= LastWeights(part);
  return dial.Is(Fault::kLseFromBf16L) ? RoundTo(l, NumberType::kBf16) : l;
}

// `l` and the lse that is right for it, in base e.
float EmulatedRow::WrongLse(float l, float lse) const {
  const FaultDial& dial = task_.dial;
  const double log =
      LogDouble(std::ldexp(double{l}, -static_cast<int>(shift_)));
  if (dial.Is(Fault::kLseWithoutMax)) return static_cast<float>(log);
  if (dial.Is(Fault::kLseLogBase2)) {
    return static_cast<float>(lse + (kLog2E - 1) * log);
  }
  if (dial.Is(Fault::kLseMaxBase2)) {
    return static_cast<float>(log + kLog2E * (lse - log));
  }
  return lse;
}

}  // namespace lockstep::verify
