#include "verify/emulator/attention_forward/alias/taken_values.h"

#include <algorithm>
#include <cmath>

#include "reference/contract/lanes.h"
#include "verify/base/elements.h"

namespace lockstep::verify {
namespace {

// The keys per stage of kAliasStageReused.
constexpr int64_t kStage = 4;

// The place in k, [b, kv head, key, channel], where the kernel reads v's
// element.
class ValuePlaces {
 public:
  ValuePlaces(const AttentionForwardProblem& problem, const FaultDial& dial)
      : p_(problem), dial_(dial) {}

  At Of(At at) const {
    auto& [b, h, j, c] = at;
    const int64_t behind = p_.head_dim - p_.value_dim;
    if (dial_.Is(Fault::kAliasHeadZero)) h = 0;
    if (dial_.Is(Fault::kAliasBatchZero)) b = 0;
    if (dial_.Is(Fault::kAliasNextKey)) j = std::min(j + 1, p_.kv_len - 1);
    if (dial_.Is(Fault::kAliasStageReused) && j >= 2 * kStage) j -= 2 * kStage;
    if (dial_.Is(Fault::kAliasStrideOfV)) {
      const int64_t flat = j * p_.value_dim + c;
      j = flat / p_.head_dim;
      c = flat % p_.head_dim;
    }
    if (behind == 0) return at;
    if (dial_.Is(Fault::kAliasLastChannels)) c += behind;
    if (dial_.Is(Fault::kAliasOffByOne)) ++c;
    if (dial_.Is(Fault::kAliasLastChannel) && c == p_.value_dim - 1) ++c;
    if (dial_.Is(Fault::kAliasRopePart)) c = p_.value_dim + c % behind;
    return at;
  }

 private:
  const AttentionForwardProblem& p_;
  const FaultDial& dial_;
};

// A dense tensor whose elements are element(at), rounded to the lane.
template <class Element>
LaneView Make(Lane lane, const At& shape, const Element& element,
              std::vector<uint8_t>* memory) {
  MutableLaneView to{nullptr, lane, shape, DenseStrides(shape)};
  memory->resize(static_cast<size_t>(shape[0] * to.strides[0]) *
                 LaneBytes(lane));
  to.data = memory->data();
  ForElements(shape, [&](const At& at) {
    SetElement(to, at, BitsOf(lane, static_cast<double>(element(at))));
  });
  return {to.data, lane, shape, to.strides};
}

}  // namespace

bool BreaksAlias(const FaultDial& dial) {
  const auto of_alias = [](Fault f) {
    return f >= Fault::kAliasLastChannels && f <= Fault::kAliasScaledInPlace;
  };
  return of_alias(dial.fault) || of_alias(dial.second);
}

TakenValues TakeValues(const AttentionForwardProblem& problem,
                       const AttentionForwardInputs& inputs,
                       const FaultDial& dial) {
  TakenValues taken;
  taken.problem = problem;
  taken.problem.v_in_k = false;
  taken.inputs = inputs;
  const auto d = static_cast<double>(problem.head_dim);
  const auto dv = static_cast<double>(problem.value_dim);
  if (dial.Is(Fault::kAliasScaleOfV)) taken.problem.scale *= std::sqrt(d / dv);
  if (dial.Is(Fault::kAliasRopeForgotten)) {
    taken.inputs.q = Make(
        problem.lane, inputs.q.shape,
        [&](const At& at) {
          if (at[3] >= problem.value_dim) return 0.0f;
          return inputs.q.Float(at[0], at[1], at[2], at[3]);
        },
        &taken.q);
  }
  const ValuePlaces places(problem, dial);
  const bool scaled = dial.Is(Fault::kAliasScaledInPlace);
  const float factor = scaled ? static_cast<float>(problem.scale) : 1.0f;
  taken.inputs.v = Make(
      problem.lane, inputs.v.shape,
      [&](const At& at) {
        const auto [b, h, j, c] = places.Of(at);
        return inputs.k.Float(b, h, j, c) * factor;
      },
      &taken.v);
  return taken;
}

}  // namespace lockstep::verify
