// Rows whose values are summed when all weights are known: unfused attention, a
// whole softmax, rounded, then its product with V; and blocks (N20) or steps
// (N21) of keys.
#include <cstddef>
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
      weights.push_back(a_.RoundWeight(a_.Divide(weight(item), l)));
    }
    AddValues(tile, weights, &part.acc);
  }
  RowResult result;
  result.lse = LogSumExp(part, l);
  for (const float x : part.acc) result.o.push_back(a_.Output(x));
  return result;
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

}  // namespace lockstep::verify
