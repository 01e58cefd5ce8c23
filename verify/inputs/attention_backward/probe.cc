#include "verify/inputs/attention_backward/probe.h"

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/mixing.h"

namespace lockstep::verify {
namespace {

// A word of one position of one head.
uint64_t WordOf(uint64_t seed, uint64_t tensor, const At& at) {
  uint64_t word = Mix(seed * 8 + tensor);
  for (size_t axis = 0; axis < 3; ++axis) {
    word = Mix(word ^ static_cast<uint64_t>(at[axis]));
  }
  return word;
}

double SignOf(uint64_t word, int bit) {
  return (word >> bit & 1) != 0 ? -1 : 1;
}

// One channel of every row holds +-size, all others 0. Which one is the word's
// choice, and a bit of it is the sign.
void FillOneHot(uint64_t seed, uint64_t tensor, double size,
                const LaneTensor& x, int sign = 32) {
  const auto channels = static_cast<uint64_t>(x.view.shape[3]);
  ForElements(x.view.shape, [&](const At& at) {
    const uint64_t word = WordOf(seed, tensor, at);
    const bool hot = static_cast<uint64_t>(at[3]) == word % channels;
    SetElement(x.view, at,
               BitsOf(x.view.lane, hot ? size * SignOf(word, sign) : 0.0));
  });
}

void FillZero(const LaneTensor& x) {
  ForElements(x.view.shape, [&](const At& at) { SetElement(x.view, at, 0); });
}

}  // namespace

void FillGradProbe(ProbeKind kind, uint64_t seed, AttentionBackwardData* data) {
  enum : uint64_t { kQ, kK, kV, kDo, kDlse };
  const bool keys = kind == ProbeKind::kGradKeys;
  FillOneHot(seed, kQ, keys ? 1 : 0, data->forward.q);
  FillOneHot(seed, kK, keys ? 0 : 1, data->forward.k);
  FillOneHot(seed, kV, 1, data->forward.v);
  FillOneHot(seed, kDo, 1, data->d_o);
  FillOneHot(seed, kDo, 2, data->o, 33);
  FillZero(data->lse);
  if (data->problem.dlse) FillOneHot(seed, kDlse, 4, data->dlse);
  auto* sinks = reinterpret_cast<float*>(data->forward.sink.data());
  for (int64_t h = 0; sinks != nullptr && h < data->problem.forward.q_heads;
       ++h) {
    sinks[h] = 0.0f;
  }
}

}  // namespace lockstep::verify
