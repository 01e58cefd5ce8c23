#include "verify/ops/attention_backward/wild_queries.h"

#include <algorithm>
#include <cmath>

#include "verify/base/compare.h"
#include "verify/base/elements.h"

namespace lockstep::verify {
namespace {

bool IsFinite(const LaneView& x, int64_t b, int64_t h, int64_t i) {
  for (int64_t c = 0; c < x.shape[3]; ++c) {
    if (!std::isfinite(ElementValue(x.lane, ElementBits(x, {b, h, i, c})))) {
      return false;
    }
  }
  return true;
}

}  // namespace

WildQueries::WildQueries(const AttentionBackwardData& data,
                         const oracle::Gradients& gradients)
    : data_(data),
      gradients_(gradients),
      heads_(data.problem.forward.q_heads),
      wild_(static_cast<size_t>(data.problem.forward.batch * heads_)) {
  const AttentionForwardProblem& p = data.problem.forward;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < heads_; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        if (!IsWild(b, h, i)) continue;
        wild_[static_cast<size_t>(b * heads_ + h)].push_back(i);
      }
    }
  }
}

bool WildQueries::IsWild(int64_t b, int64_t h, int64_t i) const {
  const AttentionBackwardInputs& in = data_.inputs;
  if (data_.problem.dlse && !std::isfinite(in.dlse(b, h, i))) return true;
  return HasWildWeight(b, h, i) || !IsFinite(in.o, b, h, i) ||
         !IsFinite(in.d_o, b, h, i);
}

// An lse of -inf is what a query without a key has.
bool WildQueries::HasWildWeight(int64_t b, int64_t h, int64_t i) const {
  const float lse = data_.inputs.lse(b, h, i);
  const bool empty = lse == -HUGE_VALF && !gradients_.SeesAny(b, h, i);
  return (!std::isfinite(lse) && !empty) ||
         !IsFinite(data_.inputs.forward.q, b, h, i);
}

std::vector<bool> WildQueries::ReachedChannels(const BackwardRow& key) const {
  const AttentionForwardProblem& p = data_.problem.forward;
  const LaneView& d_o = data_.inputs.d_o;
  std::vector<bool> reached(static_cast<size_t>(p.value_dim));
  for (int64_t n = 0; n < p.group(); ++n) {
    const int64_t h = key.head * p.group() + n;
    for (const int64_t i : Of(key.b, h)) {
      if (gradients_.Sees(key.b, h, i, key.position)) continue;
      const bool all = HasWildWeight(key.b, h, i);
      for (size_t c = 0; c < reached.size(); ++c) {
        const At at = {key.b, h, i, static_cast<int64_t>(c)};
        reached[c] =
            reached[c] || all ||
            !std::isfinite(ElementValue(d_o.lane, ElementBits(d_o, at)));
      }
    }
  }
  return reached;
}

bool WildQueries::Reach(const BackwardRow& row) const {
  const AttentionForwardProblem& p = data_.problem.forward;
  switch (row.kind) {
    case BackwardRow::Kind::kQuery: {
      const auto& wild = Of(row.b, row.head);
      return !gradients_.SeesAny(row.b, row.head, row.position) &&
             std::binary_search(wild.begin(), wild.end(), row.position);
    }
    case BackwardRow::Kind::kKey:
      for (int64_t n = 0; n < p.group(); ++n) {
        const int64_t h = row.head * p.group() + n;
        for (const int64_t i : Of(row.b, h)) {
          if (!gradients_.Sees(row.b, h, i, row.position)) return true;
        }
      }
      return false;
    case BackwardRow::Kind::kSink:
      break;
  }
  for (int64_t b = 0; b < p.batch; ++b) {
    for (const int64_t i : Of(b, row.head)) {
      if (!gradients_.SeesAny(b, row.head, i)) return true;
    }
  }
  return false;
}

}  // namespace lockstep::verify
