#include "reference/contract/attention_merge.h"

#include <array>
#include <cstdint>

#include "reference/contract/checks.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {
namespace {

using checks::CheckExtent;
using checks::CheckLaneTensor;
using checks::CheckNoOverlap;
using checks::CheckTensor;

std::array<int64_t, 4> PartsShape(const AttentionMergeProblem& p) {
  return {p.parts, p.heads, p.rows, p.value_dim};
}

}  // namespace

Status Validate(const AttentionMergeProblem& p) {
  return checks::FirstError(
      {CheckExtent("s", p.parts, kMaxParts),
       CheckExtent("h", p.heads, kMaxHeads),
       CheckExtent("n", p.rows, kMaxLength),
       CheckExtent("dv", p.value_dim, kMaxChannels),
       checks::CheckTensorSize("o_parts", PartsShape(p))});
}

Status Validate(const AttentionMergeProblem& p, const AttentionMergeInputs& in,
                const AttentionMergeOutputs& out) {
  const Status valid = Validate(p);
  if (!valid.ok()) return valid;
  const std::array<int64_t, 3> part_rows{p.parts, p.heads, p.rows};
  const std::array<int64_t, 3> merged{p.heads, p.rows, p.value_dim};
  const std::array<int64_t, 2> rows{p.heads, p.rows};
  return checks::FirstError(
      {CheckLaneTensor("o_parts", in.o, PartsShape(p), p.lane),
       CheckTensor("lse_parts", in.lse, part_rows),
       CheckLaneTensor("o", out.o, merged, p.out_lane),
       CheckNoOverlap("o", merged, out.o.strides),
       CheckTensor("lse", out.lse, rows),
       CheckNoOverlap("lse", rows, out.lse.strides)});
}

}  // namespace lockstep
