#include "verify/allowed/attention_forward/probe_sums.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "verify/inputs/attention_forward_probe.h"

namespace lockstep::verify {

ProbeSums::ProbeSums(ProbeKind kind, const AttentionForwardProblem& problem,
                     uint64_t seed, int64_t b, int64_t kv_head)
    : channels_(static_cast<size_t>(problem.value_dim)),
      labels_(static_cast<size_t>(ProbeLabels(kind, problem))) {
  for (Labelled& labelled : labels_) {
    labelled.sum.resize(channels_);
    labelled.abs_sum.resize(channels_);
  }
  for (int64_t j = 0; j < problem.kv_len; ++j) {
    const std::array<int64_t, 3> place = {b, kv_head, j};
    const int64_t label = ProbeKeyLabel(kind, problem, seed, place);
    Labelled& to = labels_[static_cast<size_t>(label)];
    const ProbeValueRow value(kind, problem, seed, place);
    to.keys.push_back(j);
    const size_t before = to.sum.size() - channels_;
    for (size_t c = 0; c < channels_; ++c) {
      const int v = value(static_cast<int64_t>(c));
      to.sum.push_back(to.sum[before + c] + v);
      to.abs_sum.push_back(to.abs_sum[before + c] + std::abs(v));
    }
  }
}

void ProbeSums::Add(const Labelled& labelled, const oracle::KeyInterval& run,
                    ProbeTotal* total) const {
  const auto& keys = labelled.keys;
  const auto first = std::lower_bound(keys.begin(), keys.end(), run.begin);
  const auto last = std::lower_bound(first, keys.end(), run.end);
  if (first == last) return;
  total->count += last - first;
  const size_t from = static_cast<size_t>(first - keys.begin()) * channels_;
  const size_t to = static_cast<size_t>(last - keys.begin()) * channels_;
  for (size_t c = 0; c < channels_; ++c) {
    total->sum[c] += labelled.sum[to + c] - labelled.sum[from + c];
    total->abs_sum[c] += labelled.abs_sum[to + c] - labelled.abs_sum[from + c];
  }
}

ProbeTotal ProbeSums::Over(const oracle::KeySet& keys, int64_t label) const {
  ProbeTotal total;
  total.sum.resize(channels_);
  total.abs_sum.resize(channels_);
  for (const oracle::KeyInterval& run : keys) {
    if (label != kNoLabel) {
      Add(labels_[static_cast<size_t>(label)], run, &total);
      continue;
    }
    for (const Labelled& labelled : labels_) Add(labelled, run, &total);
  }
  return total;
}

}  // namespace lockstep::verify
