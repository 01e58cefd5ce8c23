#include "verify/ops/varlen/answer_digests.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "verify/base/digest.h"
#include "verify/base/status_macros.h"
#include "verify/base/tensor.h"
#include "verify/ops/wants.h"

namespace lockstep::verify {
namespace {

int64_t OffsetOf(const MutableLaneView& view,
                 const std::array<int64_t, 4>& at) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < at.size(); ++axis) {
    offset += at[axis] * view.strides[axis];
  }
  return offset * static_cast<int64_t>(LaneBytes(view.lane));
}

// A dense copy of output `t` that has zeros where no row of the trial lies.
Result<LaneTensor> RowsAlone(const Trial& trial, size_t t,
                             const MutableLaneView& from) {
  const OutputSpec& spec = trial.outputs()[t];
  ASSIGN_OR_RETURN(
      LaneTensor copy,
      AllocateLaneTensor(from.lane, from.shape, DenseStrides(from.shape), 0));
  const size_t bytes = LaneBytes(from.lane);
  auto* const to = static_cast<uint8_t*>(copy.view.data);
  std::memset(to, 0, static_cast<size_t>(spec.lines() * spec.shape[3]) * bytes);
  for (int64_t row = 0; row < trial.rows(); ++row) {
    for (const int64_t line : trial.Lines(t, row)) {
      for (int64_t c = 0; c < spec.shape[3]; ++c) {
        const auto at = LineIndex(spec, line, c);
        std::memcpy(to + OffsetOf(copy.view, at),
                    static_cast<const uint8_t*>(from.data) + OffsetOf(from, at),
                    bytes);
      }
    }
  }
  return copy;
}

}  // namespace

Result<std::vector<std::string>> AnswerDigests(const Trial& trial,
                                               const OutputSet& outputs) {
  const std::vector<std::string> needed = trial.wants().NeededWants();
  const bool ragged =
      std::find(needed.begin(), needed.end(), kVarlenWant) != needed.end();
  std::vector<std::string> digests;
  for (size_t t = 0; t < outputs.tensors.size(); ++t) {
    const LaneTensor& tensor = outputs.tensors[t];
    if (ragged) {
      ASSIGN_OR_RETURN(const LaneTensor rows, RowsAlone(trial, t, tensor.view));
      digests.push_back(DigestTensor(rows.const_view()));
    } else {
      digests.push_back(DigestTensor(tensor.const_view()));
    }
  }
  return digests;
}

}  // namespace lockstep::verify
