// What an emulated kernel answers where a row sees no key.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "verify/emulator/attention_forward/row.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
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
