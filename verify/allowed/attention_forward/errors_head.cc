#include "verify/allowed/attention_forward/errors_head.h"

#include <algorithm>

#include "verify/base/binary64.h"

namespace lockstep::verify {
namespace {

size_t Extent(int64_t n) { return static_cast<size_t>(n); }

float At(const LaneView& x, int64_t b, int64_t h, int64_t i, int64_t c) {
  return x.Float(b, h, i, c);
}

// [channel][position] of one head.
std::vector<float> Transposed(const LaneView& x, int64_t b, int64_t h) {
  std::vector<float> to(Extent(x.shape[2] * x.shape[3]));
  for (int64_t i = 0; i < x.shape[2]; ++i) {
    for (int64_t c = 0; c < x.shape[3]; ++c) {
      to[Extent(c * x.shape[2] + i)] = At(x, b, h, i, c);
    }
  }
  return to;
}

// to[n] += a * x[n]: one product and one sum per element, whatever the machine.
void AddTimes(float a, const float* x, size_t count, float* to) {
  for (size_t n = 0; n < count; ++n) to[n] += a * x[n];
}

}  // namespace

HeadOfValues::HeadOfValues(const AttentionForwardProblem& problem,
                           const AttentionForwardInputs& inputs,
                           const oracle::Visibility& visibility, int64_t row)
    : p_(problem), in_(inputs), visibility_(visibility) {
  const auto [b, h, i] = Place(row);
  b_ = b;
  kv_ = h / p_.group();
  keys_ = Transposed(in_.k, b_, kv_);
  values_ = Transposed(in_.v, b_, kv_);
}

std::array<int64_t, 3> HeadOfValues::Place(int64_t row) const {
  const int64_t flat = row / p_.q_len;
  return {flat / p_.q_heads, flat % p_.q_heads, row % p_.q_len};
}

bool HeadOfValues::Holds(int64_t row) const {
  const auto [b, h, i] = Place(row);
  return b == b_ && h / p_.group() == kv_;
}

void HeadOfValues::Weigh(int64_t row, const oracle::RowTruth& truth,
                         Weights* to) const {
  const auto [b, h, i] = Place(row);
  to->runs = visibility_.VisibleKeys(b, h, i);
  const auto count = Extent(oracle::CountKeys(to->runs));
  to->score.assign(count, 0.0f);
  to->slope.assign(count, 0.0f);
  to->weight.resize(count);
  size_t at = 0;
  for (const Run& run : to->runs) {
    const auto length = Extent(run.end - run.begin);
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      const auto q = static_cast<float>(At(in_.q, b, h, i, c) * p_.scale);
      AddTimes(q, &keys_[Extent(c * p_.kv_len + run.begin)], length,
               &to->score[at]);
    }
    at += length;
  }
  to->mean_score = to->mean_slope = 0;
  for (size_t j = 0; j < count; ++j) {
    double s = to->score[j];
    if (p_.softcap) {
      const double cap = *p_.softcap;
      const double x = s;
      const double t = TanhDouble(x / cap);
      s = cap * t;
      to->score[j] = static_cast<float>(s);
      to->slope[j] = static_cast<float>(s - x * (1 - t * t));
    }
    const double w = ExpDouble(s - truth.max) / truth.weight_sum;
    to->weight[j] = static_cast<float>(w);
    to->mean_score += w * s;
    to->mean_slope += w * double{to->slope[j]};
  }
}

void HeadOfValues::Slopes(const Weights& weights, std::vector<double>* scale,
                          std::vector<double>* cap) const {
  const auto channels = Extent(p_.value_dim);
  scale->assign(channels, 0.0);
  cap->assign(channels, 0.0);
  // Four sums side by side, of each kind: one alone would wait for itself.
  constexpr size_t kSums = 8;
  std::vector<float> by_score(weights.weight.size());
  std::vector<float> by_slope(weights.weight.size());
  for (size_t j = 0; j < by_score.size(); ++j) {
    by_score[j] = weights.weight[j] * weights.score[j];
    by_slope[j] = weights.weight[j] * weights.slope[j];
  }
  for (size_t c = 0; c < channels; ++c) {
    float scores[kSums] = {}, slopes[kSums] = {};
    size_t at = 0;
    for (const Run& run : weights.runs) {
      const float* v = &values_[c * Extent(p_.kv_len) + Extent(run.begin)];
      const auto length = Extent(run.end - run.begin);
      for (size_t j = 0; j < length; j += kSums) {
        const size_t most = std::min(kSums, length - j);
        for (size_t n = 0; n < most; ++n) {
          scores[n] += by_score[at + j + n] * v[j + n];
          slopes[n] += by_slope[at + j + n] * v[j + n];
        }
      }
      at += length;
    }
    for (size_t n = 0; n < kSums; ++n) {
      (*scale)[c] += double{scores[n]};
      (*cap)[c] += double{slopes[n]};
    }
  }
}

void HeadOfValues::Along(const Weights& weights, const Directions& directions,
                         Directions* products) const {
  for (size_t d = 0; d < directions.size(); ++d) {
    (*products)[d].assign(weights.weight.size(), 0.0f);
  }
  size_t at = 0;
  for (const Run& run : weights.runs) {
    // Keys in chunks whose products stay near the processor.
    constexpr int64_t kChunk = 512;
    for (int64_t first = run.begin; first < run.end; first += kChunk) {
      const auto length = Extent(std::min(kChunk, run.end - first));
      for (int64_t c = 0; c < p_.value_dim; ++c) {
        const float* v = &values_[Extent(c * p_.kv_len + first)];
        for (size_t d = 0; d < directions.size(); ++d) {
          AddTimes(directions[d][Extent(c)], v, length, &(*products)[d][at]);
        }
      }
      at += length;
    }
  }
}

}  // namespace lockstep::verify
