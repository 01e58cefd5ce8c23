// What pictures of attention's answers show beside elements: segments, and the
// keys that a row's error can be blamed on.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/mask.h"
#include "verify/base/compare.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {
namespace {

// Of a row's weight, from which on a key is heavy.
constexpr double kHeavy = 0.25;

}  // namespace

std::vector<int64_t> SegmentStartsOf(const AttentionForwardProblem& problem,
                                     const TensorView<const int32_t, 2>& ids,
                                     int64_t batch) {
  std::vector<int64_t> starts;
  if (!problem.segments) return starts;
  for (int64_t t = 1; t < ids.shape[1]; ++t) {
    if (ids(batch, t) != ids(batch, t - 1)) starts.push_back(t);
  }
  return starts;
}

std::vector<int64_t> AttentionForwardTrial::SegmentStarts(
    size_t, const std::array<int64_t, 4>& at) const {
  return SegmentStartsOf(data_.problem, data_.inputs.q_seg, at[0]);
}

// o is a weighted mean of values: whatever weight key j is given for its right
// one, o moves along v_j - o. The share of an error that lies in this direction
// is the squared cosine between the two. Where o is next to v_j, as of a probe
// that aims at the key, what was produced lies on the same line, further off.
KeyErrors AttentionForwardTrial::ErrorByKey(
    size_t output, const std::array<int64_t, 4>& at,
    std::span<const double> error, std::span<const double> truth) const {
  if (output != 0) return {};
  const AttentionForwardProblem& p = data_.problem;
  const LaneView& v = numbers().inputs.v;
  double whole = 0;
  for (const double e : error) whole += e * e;
  if (!(whole > 0 && whole < HUGE_VAL)) return {};
  KeyErrors keys;
  for (int64_t j = 0; j < p.kv_len; ++j) {
    double along = 0, length = 0, from_produced = 0, length_produced = 0;
    double in_truth = 0, squared = 0;
    for (size_t c = 0; c < error.size(); ++c) {
      const double value =
          ElementValue(v.lane, ElementBits(v, {at[0], at[1] / p.group(), j,
                                               static_cast<int64_t>(c)}));
      const double step = value - truth[c];
      in_truth += value * truth[c];
      squared += value * value;
      along += step * error[c];
      length += step * step;
      from_produced += (step - error[c]) * error[c];
      length_produced += (step - error[c]) * (step - error[c]);
    }
    keys.alone.push_back(std::min(length, length_produced) < whole / 4);
    // Values of other keys are as often against v_j as along it.
    keys.heavy.push_back(in_truth > kHeavy * squared);
    if (length_produced > length) {
      along = from_produced;
      length = length_produced;
    }
    const double share = along * along / (length * whole);
    keys.share.push_back(share >= 0 ? std::min(share, 1.0) : 0.0);
    keys.visible.push_back(
        reference::IsVisible(p, data_.inputs, at[0], at[1], at[2], j));
  }
  return keys;
}

}  // namespace lockstep::verify
