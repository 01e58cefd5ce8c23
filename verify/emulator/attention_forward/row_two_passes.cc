// Rows whose values are summed when all weights are known: unfused attention, a
// whole softmax, rounded, then its product with V; blocks (N20) or steps (N21)
// of keys; and the contract's parts of the keys (N22). And tiles whose sums are
// scaled before they are added.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "verify/emulator/attention_forward/row.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {

RowResult EmulatedRow::RunNormalised() const {
  Part part;
  part.acc.assign(value_dim_, 0.0f);
  const bool two_pass =
      task_.variant.numeric.max.kind == MaxPolicy::Kind::kTwoPass;
  part.m = two_pass ? top_ : a_.NextMax(-kFloatInf, top_);
  const auto weight = [&](const Scored& item) {
    const float p = a_.WeightOfKey(item.s, part.m, shift_, item.key);
    return item.multiplied ? p * 0.0f : p;
  };
  for (const std::vector<Scored>& tile : tiles_) {
    for (const Scored& item : tile) {
      float& l = part.l[item.key % task_.variant.l_lanes];
      l = a_.AddWeight(l, weight(item));
    }
  }
  const float l = WithSink(Fold(part), part.m);
  for (const std::vector<Scored>& tile : tiles_) {
    std::vector<float> weights;
    for (const Scored& item : tile) {
      weights.push_back(
          NumeratorWeight(a_.Divide(weight(item), l), item.value));
    }
    AddTileValues(tile, weights, &part.acc);
  }
  RowResult result;
  result.lse = LogSumExp(part, l);
  for (const float x : part.acc) {
    result.o.push_back(a_.Output(a_.Unscaled(x) * OutputScale()));
  }
  return result;
}

// N25, vscale_at = acc: every run of values that share a scale is summed for
// itself, and its sums times the scale are added.
void EmulatedRow::AddScaledSums(const std::vector<Scored>& tile,
                                const std::vector<float>& weights,
                                std::vector<float>* sums) const {
  const bool first = task_.dial.Is(Fault::kFp8ValueScaleOfTile);
  const auto scale_of = [&](size_t t) {
    if (first) t = 0;
    return HeadTensors::ScaleAt(task_.head.v_scale, tile[t].value);
  };
  for (size_t begin = 0, end = 0; begin < tile.size(); begin = end) {
    while (end < tile.size() && scale_of(end) == scale_of(begin)) ++end;
    const auto from = static_cast<std::ptrdiff_t>(begin);
    const auto to = static_cast<std::ptrdiff_t>(end);
    std::vector<float> run(value_dim_, 0.0f);
    AddValues({tile.begin() + from, tile.begin() + to},
              {weights.begin() + from, weights.begin() + to}, &run);
    for (size_t c = 0; c < value_dim_; ++c) {
      (*sums)[c] += run[c] * scale_of(begin);
    }
  }
}

void EmulatedRow::AddGroups(size_t begin, size_t end, Part* part) const {
  std::vector<Scored> items;
  for (size_t t = begin; t < end; ++t) {
    items.insert(items.end(), tiles_[t].begin(), tiles_[t].end());
  }
  const auto of_column = [&](auto sum, size_t c) {
    for (size_t n = 0; n < items.size(); ++n) {
      sum.Add(items[n].key, part->weights[n], ValueRow(items[n].value)[c]);
    }
    return sum.Result();
  };
  for (size_t c = 0; c < value_dim_; ++c) {
    part->acc[c] = a_.blocks() ? of_column(BlockSum(a_.block_rules()), c)
                               : of_column(StepSum(*a_.unit_rules()), c);
  }
}

bool EmulatedRow::InParts() const {
  return a_.contract() && task_.problem.parts() > 1;
}

// Tiles end where parts do, and stand part by part, whatever their order was.
void EmulatedRow::CutTiles() {
  const int64_t last = task_.problem.parts() - 1;
  std::vector<std::vector<std::vector<Scored>>> parts(
      static_cast<size_t>(last + 1));
  for (const std::vector<Scored>& tile : tiles_) {
    int64_t of = -1;
    for (const Scored& item : tile) {
      // Padding, which only a faulty kernel has, belongs to the last part.
      const int64_t part =
          std::min(item.key / task_.problem.part_width(), last);
      auto& pieces = parts[static_cast<size_t>(part)];
      if (part != of) pieces.emplace_back();
      of = part;
      pieces.back().push_back(item);
    }
  }
  tiles_.clear();
  for (auto& pieces : parts) {
    cuts_.push_back(tiles_.size());
    std::move(pieces.begin(), pieces.end(), std::back_inserter(tiles_));
  }
  cuts_.push_back(tiles_.size());
}

// The maximum of the tiles' visible keys and the sink; of all tiles, top_.
float EmulatedRow::TopOf(size_t begin, size_t end) const {
  if (!InParts()) return top_;
  const bool with_sink = task_.has_sink && !task_.dial.Is(Fault::kSinkNotInMax);
  float top = with_sink ? std::nearbyint(sink_) : -kFloatInf;
  for (size_t t = begin; t < end; ++t) {
    for (const Scored& item : tiles_[t]) {
      if (item.visible) top = std::max(top, std::nearbyint(item.s));
    }
  }
  return top;
}

EmulatedRow::Part EmulatedRow::RunParts() const {
  if (!InParts()) return RunPart(0, tiles_.size(), true);
  std::vector<Part> parts;
  for (size_t s = 0; s + 1 < cuts_.size(); ++s) {
    parts.push_back(RunPart(cuts_[s], cuts_[s + 1], true));
  }
  return AddParts(&parts);
}

EmulatedRow::Part EmulatedRow::AddParts(std::vector<Part>* parts) const {
  const FaultDial& dial = task_.dial;
  if (dial.Is(Fault::kMergeDropsPart)) parts->pop_back();
  Part all;
  all.acc.assign(value_dim_, 0.0f);
  for (const Part& part : *parts) all.m = std::max(all.m, part.m);
  for (const Part& part : *parts) {
    const float d = dial.Is(Fault::kMergeUnweighted) ? 0.0f : part.m - all.m;
    if (std::isnan(d)) continue;  // no part has a number
    all.l[0] += Shrink(Fold(part), d);
    all.raw_l += part.raw_l;
    all.last_sum = part.last_sum;
    for (size_t c = 0; c < value_dim_; ++c) {
      all.acc[c] += Shrink(part.acc[c], d);
    }
  }
  all.previous_m = all.m;
  return all;
}

}  // namespace lockstep::verify
