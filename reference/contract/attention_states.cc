#include "reference/contract/attention_states.h"

#include <array>
#include <cstdint>
#include <string>

#include "reference/contract/attention_checks.h"
#include "reference/contract/checks.h"

namespace lockstep {
namespace {

using checks::Text;

template <size_t kRank>
Status CheckState(const char* name, const TensorView<float, kRank>& view,
                  const std::array<int64_t, kRank>& want) {
  if (view.data != nullptr && view.shape == want) {
    return checks::CheckNoOverlap(name, view.shape, view.strides);
  }
  return Status::Error(std::string(name) + " is missing or has shape " +
                       Text(view.shape) + "; want " + Text(want));
}

}  // namespace

Status CheckStates(const AttentionForwardProblem& p,
                   const AttentionStates& states) {
  const std::array<int64_t, 3> rows{p.batch, p.q_heads, p.q_len};
  Status status = CheckState("m", states.m, rows);
  if (status.ok()) status = CheckState("l", states.l, rows);
  if (!status.ok()) return status;
  return CheckState("acc", states.acc,
                    {p.batch, p.q_heads, p.q_len, p.value_dim});
}

Status Validate(const AttentionForwardProblem& p,
                const AttentionForwardInputs& inputs,
                const AttentionStates& states) {
  const Status status = checks::CheckAttentionInputs(p, inputs);
  if (!status.ok()) return status;
  if (p.split != 1) {
    return Status::Error("split=" + Text(p.split) +
                         ": a state is of one part of the keys; want split=1");
  }
  if (p.kv_lane) {
    return Status::Error(std::string("kvlane=") + LaneName(*p.kv_lane) +
                         ": there are no states of keys in fp8; want k and v "
                         "in the lane of q");
  }
  return CheckStates(p, states);
}

}  // namespace lockstep
