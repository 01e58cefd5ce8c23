// The scores of one row, tile by tile, and what a row answers that has none.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "verify/base/binary64.h"
#include "verify/emulator/attention_forward/row.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

// Keys over which a bias that does not belong there rises by 1.
constexpr double kAlibiKeys = 16;

}  // namespace

void EmulatedRow::ScoreTiles() {
  const auto& problem = task_.problem;
  const bool select =
      task_.variant.numeric.mask == MaskApplication::kSelectNegInf;
  const bool multiplies = task_.dial.Is(Fault::kMaskMultipliesP);
  const bool all_capped = task_.dial.Is(Fault::kMaskBeforeCap) && a_.capped();
  const bool padding_capped =
      task_.dial.Is(Fault::kPaddingBeforeCap) && a_.capped();
  // Values of guarded keys are 0 by now (kernel.cc).
  const bool reads_values =
      task_.dial.Is(Fault::kMaskedValuesRead) ||
      task_.variant.numeric.masked_nan_safe == MaskedNan::kPadding;
  for (const VisitedTile& tile : task_.schedule) {
    std::vector<Scored> scored;
    for (TileKey key : tile.keys) {
      if (!key.visible && task_.dial.Is(Fault::kMaskedKeysInL)) {
        key.visible = true;
        key.value = problem.kv_len;  // masked out of V only
      }
      const bool through_cap =
          all_capped || (padding_capped && key.key >= problem.kv_len);
      if (!key.visible && reads_values) {
        scored.push_back({-kFloatInf, key.key, key.value, true, false});
        continue;
      }
      if (!key.visible && select && !multiplies && !through_cap) continue;
      const bool inside = key.score_key < problem.kv_len;
      const float* k =
          inside
              ? &task_.head
                     .k[static_cast<size_t>(key.score_key * problem.head_dim)]
              : zeros_.data();
      float dot = a_.Dot(task_.q.data(), k);
      if (task_.dial.Is(Fault::kScaleTwiceLastTile) &&
          &tile == &task_.schedule.back()) {
        dot *= static_cast<float>(problem.scale);
      }
      if (task_.dial.Is(Fault::kAlibiLeftOver)) {
        dot += static_cast<float>(static_cast<double>(key.key) /
                                  (kAlibiKeys * problem.scale));
      }
      float s = a_.Score(dot, task_.dial.Is(Fault::kCapEverySecondVector)
                                  ? key.key / 8 % 2 == 0
                                  : tile.partial);
      if (!key.visible && !multiplies) s = a_.MaskedScore(s);
      if (task_.dial.Is(Fault::kNanSwallowed) && s != s) s = -kFloatInf;
      const bool visible = key.visible || through_cap;
      scored.push_back(
          {s, key.key, key.value, !key.visible && multiplies, visible});
      if (!visible) continue;
      any_visible_ = true;
      const float n = a_.contract() ? std::nearbyint(s) : s;
      top_ = std::max(top_, n);
      least_ = std::min(least_, n);
      uncapped_sum_ += ExpDouble(static_cast<double>(dot) * problem.scale);
    }
    tiles_.push_back(std::move(scored));
  }
}

// N13, on the scores that the row sees.
bool EmulatedRow::IsNaN() const {
  if (task_.has_sink && !(sink_ < kFloatInf)) return true;
  for (const auto& tile : tiles_) {
    for (const Scored& item : tile) {
      if (item.visible && !(item.s < kFloatInf)) return true;
    }
  }
  return any_visible_ && top_ == -kFloatInf;
}

std::vector<float> EmulatedRow::MeanOfV() const {
  std::vector<float> mean;
  for (size_t c = 0; c < value_dim_; ++c) {
    double sum = 0;
    for (int64_t j = 0; j < task_.problem.kv_len; ++j) {
      sum += double{ValueRow(j)[c]};
    }
    mean.push_back(a_.Output(
        static_cast<float>(sum / static_cast<double>(task_.problem.kv_len))));
  }
  return mean;
}

RowResult EmulatedRow::EmptyRow() const {
  const FaultDial& dial = task_.dial;
  RowResult result{std::vector<float>(value_dim_, 0.0f), -kFloatInf};
  if (dial.Is(Fault::kEmptyRowMean)) result.o = MeanOfV();
  if (dial.Is(Fault::kEmptyRowNan)) result.o.assign(value_dim_, kFloatNaN);
  if (dial.Is(Fault::kEmptyRowNan)) result.lse = kFloatNaN;
  if (task_.has_sink && sink_ != -kFloatInf &&
      !dial.Is(Fault::kSinkDroppedEmptyRow)) {
    const float m = a_.contract() ? std::nearbyint(sink_) : sink_;
    result.lse = a_.LogSumExp(a_.Weight(sink_, m, shift_), m, shift_);
  } else if (dial.Is(Fault::kLsePlusInf) ||
             task_.variant.numeric.empty_row == EmptyRow::kZeroPosInf) {
    result.lse = kFloatInf;
  } else if (task_.variant.numeric.empty_row == EmptyRow::kZeroZero) {
    result.lse = 0.0f;
  }
  return result;
}

}  // namespace lockstep::verify
