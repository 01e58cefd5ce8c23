#include "verify/inputs/attention_backward/probe.h"

#include <algorithm>
#include <cmath>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/mixing.h"
#include "verify/base/status_macros.h"

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

// A bit of the word that is the sign of what a row holds; kPlus: none is.
constexpr int kPlus = -1;

// One channel of every row holds +-size, all others 0. Which one is the word's
// choice, and a bit of it is the sign.
void FillOneHot(uint64_t seed, uint64_t tensor, double size,
                const LaneTensor& x, int sign = 32) {
  const auto channels = static_cast<uint64_t>(x.view.shape[3]);
  ForElements(x.view.shape, [&](const At& at) {
    const uint64_t word = WordOf(seed, tensor, at);
    const bool hot = static_cast<uint64_t>(at[3]) == word % channels;
    const double value = sign == kPlus ? size : size * SignOf(word, sign);
    SetElement(x.view, at, BitsOf(x.view.lane, hot ? value : 0.0));
  });
}

void FillZero(const LaneTensor& x) {
  ForElements(x.view.shape, [&](const At& at) { SetElement(x.view, at, 0); });
}

enum : uint64_t { kQ, kK, kV, kDo, kDlse };

// D is +-2, or with dlse +-2 +-4, and dP 0 or +-1.
void FillIntegers(uint64_t seed, const AttentionBackwardData& data) {
  FillOneHot(seed, kV, 1, data.forward.v);
  FillOneHot(seed, kDo, 1, data.d_o);
  FillOneHot(seed, kDo, 2, data.o, 33);
  if (data.problem.dlse) FillOneHot(seed, kDlse, 4, data.dlse);
}

// With s the sign of a query's do: D is -s, and dP 0 or s.
void FillPowers(uint64_t seed, const AttentionBackwardData& data) {
  FillOneHot(seed, kV, 1, data.forward.v, kPlus);
  FillOneHot(seed, kDo, 1, data.d_o);
  FillOneHot(seed, kDo, data.problem.dlse ? 3 : -1, data.o, kPlus);
  if (!data.problem.dlse) return;
  ForElements(data.dlse.view.shape, [&](const At& at) {
    const double sign = SignOf(WordOf(seed, kDo, at), 32);
    SetElement(data.dlse.view, at, BitsOf(data.dlse.view.lane, 4 * sign));
  });
}

// +-1 in every channel.
void FillSigns(uint64_t seed, uint64_t tensor, const LaneTensor& x) {
  ForElements(x.view.shape, [&](const At& at) {
    const uint64_t word =
        Mix(WordOf(seed, tensor, at) + static_cast<uint64_t>(at[3] / 64));
    const double value = SignOf(word, static_cast<int>(at[3] % 64));
    SetElement(x.view, at, BitsOf(x.view.lane, value));
  });
}

// The logarithm in base 2 of the largest cotangent: in f16 sums stay finite.
constexpr int kMostPower = 13;

// The power of two next to the sum of a query's weights, all of them 1 beside
// its largest: a weight times it is about 1.
double WeightSum(const LaneTensor& lse, const At& at) {
  const double x = ElementValue(
      Lane::kF32, ElementBits(lse.const_view(), {at[0], at[1], at[2], 0}));
  if (!(x > 0)) return 1;  // nothing is visible
  const auto power = static_cast<int>(std::lround(x * 1.4426950408889634));
  return std::ldexp(1.0, std::min(power, kMostPower));
}

// One channel of every row holds +-factor times the sum of its weights.
void FillWeighed(uint64_t seed, uint64_t tensor, double factor,
                 const LaneTensor& lse, const LaneTensor& x) {
  const auto channels = static_cast<uint64_t>(x.view.shape[3]);
  ForElements(x.view.shape, [&](const At& at) {
    const uint64_t word = WordOf(seed, tensor, at);
    const bool hot = static_cast<uint64_t>(at[3]) == word % channels;
    const double value =
        hot ? factor * WeightSum(lse, at) * SignOf(word, 32) : 0.0;
    SetElement(x.view, at, BitsOf(x.view.lane, value));
  });
}

Status FillOwn(uint64_t seed, AttentionBackwardData* data) {
  FillSigns(seed, kV, data->forward.v);
  RETURN_IF_ERROR(RunForward(data));
  FillWeighed(seed, kDo, 1, data->lse, data->d_o);
  if (data->problem.dlse) FillWeighed(seed, kDlse, 3, data->lse, data->dlse);
  return {};
}

bool IsOwn(ProbeKind kind) {
  return kind == ProbeKind::kGradOwnKeys || kind == ProbeKind::kGradOwnQueries;
}

}  // namespace

Status FillGradProbe(ProbeKind kind, uint64_t seed,
                     AttentionBackwardData* data) {
  const bool powers = kind == ProbeKind::kGradKeysPowers ||
                      kind == ProbeKind::kGradQueriesPowers;
  const bool keys = kind == ProbeKind::kGradKeys ||
                    kind == ProbeKind::kGradKeysPowers ||
                    kind == ProbeKind::kGradOwnKeys;
  FillOneHot(seed, kQ, keys ? 1 : 0, data->forward.q);
  FillOneHot(seed, kK, keys ? 0 : 1, data->forward.k);
  auto* sinks = reinterpret_cast<float*>(data->forward.sink.data());
  for (int64_t h = 0; sinks != nullptr && h < data->problem.forward.q_heads;
       ++h) {
    sinks[h] = 0.0f;
  }
  if (IsOwn(kind)) return FillOwn(seed, data);
  (powers ? FillPowers : FillIntegers)(seed, *data);
  FillZero(data->lse);
  // The forward pass leaves 0 there, so D may be a sum over it.
  for (const auto& [b, h, i] : EmptyQueries(*data)) {
    for (int64_t c = 0; c < data->o.view.shape[3]; ++c) {
      SetElement(data->o.view, {b, h, i, c}, 0);
    }
  }
  return {};
}

}  // namespace lockstep::verify
