#include "verify/emulator/attention_forward/row.h"

#include <algorithm>
#include <cmath>

#include "verify/base/binary64.h"
#include "verify/emulator/attention_forward/fp8/taken_numbers.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

// How often a key's weight is in l.
float TimesInSum(const FaultDial& dial, int64_t key) {
  if (dial.Is(Fault::kSumMissesLanes) && key % 4 == 3) return 0.0f;
  return dial.Is(Fault::kSumLaneTwice) && key % 8 == 7 ? 2.0f : 1.0f;
}

}  // namespace

EmulatedRow::EmulatedRow(const RowTask& task)
    : task_(task),
      a_(task.arithmetic),
      value_dim_(static_cast<size_t>(task.problem.value_dim)),
      zeros_(std::max(value_dim_, static_cast<size_t>(task.problem.head_dim))) {
  if (task_.has_sink) sink_ = a_.SinkScore(task_.sink);
  ScoreTiles();
  if (InParts()) CutTiles();
  const float sink_n = a_.contract() ? std::nearbyint(sink_) : sink_;
  if (!task_.dial.Is(Fault::kSinkNotInMax)) top_ = std::max(top_, sink_n);
  if (task_.has_sink) least_ = std::min(least_, sink_n);
  fixed_ = a_.contract() && a_.BoundedByCap() && any_visible_ &&
           !task_.problem.v_scales.by_key() &&
           (!task_.has_sink || sink_n <= kFixedPathBound);
  const bool unshifted =
      fixed_ || !a_.contract() || task_.dial.Is(Fault::kFixedMax);
  shift_ = unshifted ? 0.0f : kWeightShift;
}

const float* EmulatedRow::ValueRow(int64_t row) const {
  if (row >= task_.problem.kv_len) return zeros_.data();
  return &task_.head.v[static_cast<size_t>(row) * value_dim_];
}

float EmulatedRow::NumeratorWeight(float p, int64_t value) const {
  p = WeightInFp8(p, std::ldexp(1.0f, static_cast<int>(shift_)), task_.dial);
  if (task_.head.scales_sums) return a_.RoundWeight(p);
  return a_.RoundWeight(p * HeadTensors::ScaleAt(task_.head.v_scale, value));
}

// r15
void EmulatedRow::Rescale(float m, Part* part) const {
  const float old = part->m;
  part->previous_m = old;
  part->m = m;
  // An inexact exp(0) shows where a kernel multiplies by it.
  const bool always = task_.variant.numeric.exp_zero == ExpZero::kRel;
  if (old == -kFloatInf || (old == m && !always)) return;
  const FaultDial& dial = task_.dial;
  const auto rescales = static_cast<double>(part->rescales++);
  const auto lacks = [&](Fault fault) {
    return dial.Is(fault) && rescales < dial.SeverityOf(fault);
  };
  if (dial.Is(Fault::kLazyStaleMax) &&
      double{m - old} <= dial.SeverityOf(Fault::kLazyStaleMax)) {
    return;
  }
  const bool inverted = dial.Is(Fault::kRescaleInverted);
  float a =
      a_.contract()
          ? std::ldexp(1.0f, static_cast<int>(std::max(old - m, -2000.0f)))
      : inverted ? a_.Weight(m, old, 0)
                 : a_.Weight(old, m, 0);
  a = a_.HalfBy(Fault::kF16RescaleF16, a);
  const bool stale = dial.Is(Fault::kRescaleStale);
  if (stale) std::swap(a, part->old_rescale);
  const auto scale = [&](float& x) {
    if (!a_.contract() || stale) {
      x *= a;
    } else {
      x = inverted ? std::ldexp(x, static_cast<int>(std::min(m - old, 1e3f)))
                   : Shrink(x, old - m);
    }
  };
  if (!lacks(Fault::kLNotRescaled)) {
    for (float& l : part->l) scale(l);
  }
  // A normalised accumulator does not depend on m.
  const bool eager = task_.variant.numeric.normalise == Normalise::kEager;
  if (!eager && !lacks(Fault::kAccNotRescaled) && !part->keeps_acc) {
    const float kept = part->acc[0];
    for (float& x : part->acc) scale(x);
    if (dial.Is(Fault::kAccColumnNotRescaled)) part->acc[0] = kept;
  }
}

void EmulatedRow::AddTile(const std::vector<Scored>& tile, Part* part) const {
  const bool eager = task_.variant.numeric.normalise == Normalise::kEager;
  const float l_before = eager ? Fold(*part) : 0.0f;
  const int64_t lanes = a_.contract() ? kStripes : task_.variant.l_lanes;
  std::vector<float> weights;
  weights.reserve(tile.size());
  part->last_sum = 0;
  for (const Scored& item : tile) {
    float p = a_.WeightOfKey(item.s, part->m, shift_, item.key);
    if (item.multiplied) p *= 0.0f;
    float& l = part->l[item.key % lanes];
    float summed = a_.SummedWeight(p) * TimesInSum(task_.dial, item.key);
    if (task_.dial.Is(Fault::kFp8ValueScaleInSum)) {
      summed *= HeadTensors::ScaleAt(task_.head.v_scale, item.value);
    }
    l = a_.AddWeight(l, summed);
    part->last_sum += p;
    part->raw_l += p;
    weights.push_back(NumeratorWeight(p, item.value));
  }
  if (task_.dial.Is(Fault::kPOfPreviousTile)) {
    if (part->old_weight >= 0) std::swap(weights.back(), part->old_weight);
    if (part->old_weight < 0) part->old_weight = weights.back();
  }
  std::vector<float> fresh(eager ? value_dim_ : 0, 0.0f);
  std::vector<float>& acc = eager ? fresh : part->acc;
  if (a_.grouped()) {
    part->weights.insert(part->weights.end(), weights.begin(), weights.end());
  } else {
    AddTileValues(tile, weights, &acc);
  }
  if (eager) {
    const float l = Fold(*part);
    const float keep = l == 0 ? 0.0f : a_.Divide(l_before, l);
    for (size_t c = 0; c < value_dim_; ++c) {
      const float kept = part->acc[c] * keep;
      part->acc[c] = kept + (l == 0 ? 0.0f : a_.Divide(fresh[c], l));
    }
  }
  for (float& x : part->acc) x = a_.StateBetweenTiles(x);
  if (task_.dial.Is(Fault::kFp8ValueScalePerTile)) {
    for (float& x : part->acc) x *= task_.head.output_scale;
  }
}

void EmulatedRow::AddValues(const std::vector<Scored>& tile,
                            const std::vector<float>& weights,
                            std::vector<float>* sums) const {
  std::vector<float>& acc = *sums;
  const Accumulator how = a_.ValueAccumulator();
  if (how.kind == Accumulator::Kind::kMma) {
    std::vector<float> column(tile.size());
    for (size_t c = 0; c < value_dim_; ++c) {
      for (size_t t = 0; t < tile.size(); ++t) {
        column[t] = ValueRow(tile[t].value)[c];
      }
      acc[c] = a_.AddProducts({weights.data(), 1, column.data(), 1,
                               static_cast<int64_t>(tile.size())},
                              acc[c]);
    }
  } else {
    for (size_t t = 0; t < tile.size(); ++t) {
      const float* v = ValueRow(tile[t].value);
      if (how.kind == Accumulator::Kind::kRn32) {
        AddScaled(weights[t], v, task_.problem.value_dim, acc.data());
        continue;
      }
      for (size_t c = 0; c < value_dim_; ++c) {
        acc[c] = Accumulate({&weights[t], 1, v + c, 1, 1}, acc[c], how);
      }
    }
  }
}

void EmulatedRow::Step(const std::vector<Scored>& tile, Part* part) const {
  float top = -kFloatInf;
  for (const Scored& item : tile) {
    if (item.multiplied) continue;
    top = std::max(top, a_.contract() ? std::nearbyint(item.s) : item.s);
  }
  if (task_.dial.Is(Fault::kEmptyTileNan) && top == -kFloatInf &&
      part->m == -kFloatInf) {
    part->l[0] = kFloatNaN;
    std::fill(part->acc.begin(), part->acc.end(), kFloatNaN);
  }
  if (tile.empty()) return;
  if (!part->preset) Rescale(a_.NextMax(part->m, top), part);
  AddTile(tile, part);
}

EmulatedRow::Part EmulatedRow::RunPart(size_t begin, size_t end,
                                       bool preset) const {
  Part part;
  part.acc.assign(value_dim_, 0.0f);
  part.preset = preset;
  if (preset) {
    part.m = fixed_ ? 0.0f : TopOf(begin, end);
  } else {
    part.m = FirstMax();
  }
  const size_t forgotten = task_.dial.Is(Fault::kLastRescaleForgotten)
                               ? LastGrowth(begin, end)
                               : end;
  for (size_t t = begin; t < end; ++t) {
    const float kept = part.acc.back();
    part.keeps_acc = t == forgotten;
    if (task_.dial.Is(Fault::kLseBeforeLastTile) && t > begin && t + 1 == end) {
      part.lse_l = Fold(part);
      part.lse_m = part.m;
    }
    Step(tiles_[t], &part);
    if (task_.dial.Is(Fault::kAccColumnStale) && t > begin && t + 1 == end) {
      part.acc.back() = kept;
    }
  }
  if (a_.grouped()) {
    AddGroups(begin, end, &part);
    return part;
  }
  if (task_.dial.Is(Fault::kSplitEdgeKeyTwice) && end < tiles_.size() &&
      !tiles_[end].empty()) {
    Step({tiles_[end].front()}, &part);
  }
  return part;
}

float EmulatedRow::Fold(const Part& part) const {
  float l[kStripes];
  std::copy(std::begin(part.l), std::end(part.l), l);
  for (int w = kStripes / 2; w >= 1; w /= 2) {
    for (int r = 0; r < w; ++r) l[r] = a_.AddWeight(l[r], l[r + w]);
  }
  return l[0];
}

float EmulatedRow::WithSink(float l, float m) const {
  if (!task_.has_sink || task_.dial.Is(Fault::kSinkDropped)) return l;
  const float weight = a_.Weight(sink_, m, shift_);
  if (task_.dial.Is(Fault::kSinkPerTile)) {
    return l + weight * static_cast<float>(tiles_.size());
  }
  if (task_.dial.Is(Fault::kSinkPerSplit)) {
    return l + weight * static_cast<float>(parts_);
  }
  return l + weight;
}

EmulatedRow::Part EmulatedRow::Merge(std::vector<Part>* parts) const {
  if (parts->size() == 1) return std::move(parts->front());
  const FaultDial& dial = task_.dial;
  if (dial.Is(Fault::kMergeDropsPart)) parts->pop_back();
  Part all;
  all.acc.assign(value_dim_, 0.0f);
  for (const Part& part : *parts) all.m = std::max(all.m, part.m);
  all.previous_m = all.m;
  std::vector<float> factors;
  for (const Part& part : *parts) {
    factors.push_back(
        dial.Is(Fault::kMergeUnweighted) ? 1.0f : a_.Weight(part.m, all.m, 0));
  }
  BreakFactors(*parts, &factors, &all);
  const bool eager = task_.variant.numeric.normalise == Normalise::kEager;
  for (size_t s = 0; s < parts->size(); ++s) {
    const Part& part = (*parts)[s];
    const float l = Fold(part);
    const float weight = eager ? l * factors[s] : factors[s];
    all.l[0] = a_.AddWeight(all.l[0], l * factors[s]);
    all.raw_l += part.raw_l;
    for (size_t c = 0; c < value_dim_; ++c) {
      const float term = a_.HalfBy(Fault::kF16PartsF16, part.acc[c]) * weight;
      all.acc[c] += term;
    }
  }
  if (eager && all.l[0] != 0) {
    for (float& x : all.acc) x = a_.Divide(x, all.l[0]);
  }
  return all;
}

// N9: an online run equals the two-pass form.
bool EmulatedRow::GuardHolds(const Part& part) const {
  const auto finite = [](float x) { return std::isfinite(x); };
  if (!std::all_of(part.acc.begin(), part.acc.end(), finite) ||
      !finite(Fold(part))) {
    return false;
  }
  const float d = least_ - top_;
  if (!(d + kWeightShift >= kMinExponent)) return false;
  float scaled = d;
  for (const float scale : task_.head.v_scale) {
    scaled = std::min(scaled, d + static_cast<float>(std::ilogb(scale)));
  }
  if (!(scaled + kWeightShift >= kMinExponent)) return false;
  if (task_.head.smallest_v == 0) return true;
  const LaneRow& lane = LaneRowOf(task_.problem.key_lane());
  const int lp = -LaneRowOf(task_.problem.p_lane).digits;
  const int lv =
      std::max(std::ilogb(task_.head.smallest_v), lane.min_exponent) -
      (lane.digits - 1);
  return scaled + kWeightShift + static_cast<float>(lp + lv) >= -149.0f;
}

float EmulatedRow::LogSumExp(const Part& part, float l) const {
  const FaultDial& dial = task_.dial;
  float m = part.m;
  if (dial.Is(Fault::kLsePreviousMax) && part.previous_m != -kFloatInf) {
    m = part.previous_m;
  }
  if (dial.Is(Fault::kCapNotInLse) && a_.capped()) {
    return static_cast<float>(LogDouble(uncapped_sum_));
  }
  if (dial.Is(Fault::kLseWithoutSink)) l = Fold(part);
  if (dial.Is(Fault::kLseSinkTwice)) l = WithSink(l, part.m);
  l = WrongL(part, l, &m);
  return WrongLse(l, a_.LogSumExp(l, m, shift_));
}

RowResult EmulatedRow::Finish(const Part& part) {
  const float l_keys = Fold(part);
  float l = WithSink(l_keys, part.m);
  RowResult result;
  result.lse = LogSumExp(part, l);
  if (task_.dial.Is(Fault::kNormaliseLastTile)) l = part.last_sum;
  const bool eager = task_.variant.numeric.normalise == Normalise::kEager;
  std::vector<float> redo;
  float redo_l = 0;
  result.o.reserve(value_dim_);
  for (size_t c = 0; c < value_dim_; ++c) {
    float x = part.acc[c];
    if (eager) {
      if (task_.has_sink) x *= a_.Divide(l_keys, l);
    } else {
      x = a_.Divide(x, l);
    }
    if (a_.contract() && !std::isfinite(part.acc[c]) &&
        !task_.dial.Is(Fault::kFixedMax)) {
      if (redo.empty()) {  // N9: smaller weights cannot overflow
        const bool fixed = fixed_;
        const float shift = shift_;
        fixed_ = false;
        shift_ = kRedoShift;
        const Part again = RunParts();
        redo = again.acc;
        redo_l = WithSink(Fold(again), again.m);
        fixed_ = fixed;
        shift_ = shift;
      }
      x = a_.Divide(redo[c], redo_l);
    }
    result.o.push_back(a_.Output(a_.Unscaled(x) * OutputScale()));
  }
  return result;
}

RowResult EmulatedRow::Run() {
  if (task_.dial.Is(Fault::kMeanOfV)) return {MeanOfV(), 0.0f};
  if (IsNaN() && !task_.dial.Is(Fault::kNanSwallowed)) {
    return {std::vector<float>(value_dim_, kFloatNaN), kFloatNaN};
  }
  if (!any_visible_ && !task_.dial.Is(Fault::kEmptyTileNan)) return EmptyRow();
  const MaxPolicy::Kind policy = task_.variant.numeric.max.kind;
  if (task_.variant.numeric.normalise == Normalise::kBefore) {
    return RunNormalised();
  }
  if (InParts()) {
    parts_ = cuts_.size() - 1;
    return Finish(RunParts());
  }
  const bool preset = fixed_ || a_.grouped() ||
                      (policy == MaxPolicy::Kind::kTwoPass && !a_.contract());
  const size_t splits = std::max<size_t>(
      1, std::min<size_t>(static_cast<size_t>(task_.variant.splits),
                          tiles_.size()));
  parts_ = splits;
  std::vector<Part> parts;
  for (size_t s = 0; s < splits; ++s) {
    parts.push_back(RunPart(tiles_.size() * s / splits,
                            tiles_.size() * (s + 1) / splits, preset));
  }
  Part part = Merge(&parts);
  if (a_.contract() && !preset && !GuardHolds(part) &&
      !task_.dial.Is(Fault::kFixedMax) &&
      !task_.dial.Is(Fault::kEmptyTileNan)) {
    part = RunPart(0, tiles_.size(), true);
  }
  return Finish(part);
}

}  // namespace lockstep::verify
