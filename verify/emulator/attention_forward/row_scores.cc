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
  tiles_.reserve(task_.schedule.size());
  for (const VisitedTile& tile : task_.schedule) {
    tiles_.push_back(ScoreTile(tile));
  }
}

const float* EmulatedRow::KeyRow(int64_t row) const {
  const auto& problem = task_.problem;
  if (row >= problem.kv_len) return zeros_.data();
  return &task_.head.k[static_cast<size_t>(row * problem.head_dim)];
}

std::vector<EmulatedRow::Scored> EmulatedRow::ScoreTile(
    const VisitedTile& tile) {
  const FaultDial& dial = task_.dial;
  const bool select =
      task_.variant.numeric.mask == MaskApplication::kSelectNegInf &&
      !dial.Is(Fault::kF16MaskFinite);
  const bool multiplies = dial.Is(Fault::kMaskMultipliesP);
  const bool all_capped = dial.Is(Fault::kMaskBeforeCap) && a_.capped();
  const bool padding_capped = dial.Is(Fault::kPaddingBeforeCap) && a_.capped();
  // Values of guarded keys are 0 by now (kernel.cc).
  const bool reads_values =
      dial.Is(Fault::kMaskedValuesRead) ||
      task_.variant.numeric.masked_nan_safe == MaskedNan::kPadding;
  std::vector<Scored> scored;
  scored.reserve(tile.keys.size());
  asked_.clear();
  for (TileKey key : tile.keys) {
    if (!key.visible && dial.Is(Fault::kMaskedKeysInL)) {
      key.visible = true;
      key.value = task_.problem.kv_len;  // masked out of V only
    }
    const bool through_cap =
        all_capped || (padding_capped && key.key >= task_.problem.kv_len);
    if (!key.visible && reads_values) {
      scored.push_back({-kFloatInf, key.key, key.value, true, false});
      continue;
    }
    if (!key.visible && select && !multiplies && !through_cap) continue;
    asked_.push_back({key, scored.size()});
    scored.push_back({0.0f, key.key, key.value, !key.visible && multiplies,
                      key.visible || through_cap});
  }
  rows_.clear();
  for (const Asked& one : asked_) rows_.push_back(KeyRow(one.key.score_key));
  dots_.resize(rows_.size());
  a_.Dots(task_.q.data(), rows_, dots_.data());
  for (size_t n = 0; n < asked_.size(); ++n) {
    Scored& item = scored[asked_[n].place];
    item.s = ScoreKey(tile, asked_[n].key, dots_[n]);
    if (item.visible) SeeScore(item.s, dots_[n]);
  }
  return scored;
}

float EmulatedRow::ScoreKey(const VisitedTile& tile, const TileKey& key,
                            float& dot) const {
  const FaultDial& dial = task_.dial;
  const double scale = task_.problem.scale;
  const float own = HeadTensors::ScaleAt(task_.head.k_scale, key.score_key);
  const bool late = dial.Is(Fault::kFp8KeyScaleAfterCap);
  const bool late_q = dial.Is(Fault::kFp8QueryScaleAfterCap);
  if (!late) dot *= own;
  if (!late_q) dot *= task_.q_scale;
  if (dial.Is(Fault::kScaleTwiceLastTile) && &tile == &task_.schedule.back()) {
    dot *= static_cast<float>(scale);
  }
  if (dial.Is(Fault::kAlibiLeftOver)) {
    dot +=
        static_cast<float>(static_cast<double>(key.key) / (kAlibiKeys * scale));
  }
  float s =
      a_.Score(dot, dial.Is(Fault::kCapEverySecondVector) ? key.key / 8 % 2 == 0
                                                          : tile.partial);
  if (late) s *= own;
  if (late_q) s *= task_.q_scale;
  if (!key.visible && !dial.Is(Fault::kMaskMultipliesP)) s = a_.MaskedScore(s);
  return dial.Is(Fault::kNanSwallowed) && s != s ? -kFloatInf : s;
}

// What the row keeps of a score that counts.
void EmulatedRow::SeeScore(float s, float dot) {
  any_visible_ = true;
  const float n = a_.contract() ? std::nearbyint(s) : s;
  top_ = std::max(top_, n);
  least_ = std::min(least_, n);
  if (!task_.dial.Is(Fault::kCapNotInLse)) return;
  uncapped_sum_ += ExpDouble(static_cast<double>(dot) * task_.problem.scale);
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
