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
                         const oracle::Gradients& gradients, double largest)
    : data_(data),
      gradients_(gradients),
      largest_(largest),
      heads_(data.problem.forward.q_heads),
      wild_(static_cast<size_t>(data.problem.forward.batch * heads_)),
      overflowing_(wild_.size()) {
  const AttentionForwardProblem& p = data.problem.forward;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < heads_; ++h) {
      const auto n = static_cast<size_t>(b * heads_ + h);
      const std::vector<double> most = LargestValues(b, h / p.group());
      for (int64_t i = 0; i < p.q_len; ++i) {
        if (IsWild(b, h, i)) {
          wild_[n].push_back(i);
        } else if (MayOverflow(b, h, i, most)) {
          overflowing_[n].push_back(i);
        }
      }
    }
  }
}

// |v| by channel, of all keys: NaN and infinity in V are the forward op's.
std::vector<double> WildQueries::LargestValues(int64_t b, int64_t head) const {
  const LaneView& v = data_.inputs.forward.v;
  std::vector<double> most(static_cast<size_t>(v.shape[3]));
  for (int64_t j = 0; j < v.shape[2]; ++j) {
    for (size_t c = 0; c < most.size(); ++c) {
      const At at = {b, head, j, static_cast<int64_t>(c)};
      const double size = std::fabs(ElementValue(v.lane, ElementBits(v, at)));
      if (std::isfinite(size)) most[c] = std::max(most[c], size);
    }
  }
  return most;
}

bool WildQueries::MayOverflow(int64_t b, int64_t h, int64_t i,
                              const std::vector<double>& most) const {
  const LaneView& d_o = data_.inputs.d_o;
  double sum = 0;
  for (size_t c = 0; c < most.size(); ++c) {
    const At at = {b, h, i, static_cast<int64_t>(c)};
    sum += std::fabs(ElementValue(d_o.lane, ElementBits(d_o, at))) * most[c];
  }
  return !(sum < largest_);
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

bool WildQueries::Any() const {
  const auto some = [](const Queries& queries) {
    return std::any_of(queries.begin(), queries.end(),
                       [](const auto& of_head) { return !of_head.empty(); });
  };
  return some(wild_) || some(overflowing_);
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

// Whether one of the queries does not see the key.
bool WildQueries::IsBehindMask(const Queries& queries,
                               const BackwardRow& key) const {
  const int64_t group = data_.problem.forward.group();
  for (int64_t h = key.head * group; h < (key.head + 1) * group; ++h) {
    for (const int64_t i : queries[static_cast<size_t>(key.b * heads_ + h)]) {
      if (!gradients_.Sees(key.b, h, i, key.position)) return true;
    }
  }
  return false;
}

bool WildQueries::OverflowsBehindMask(const BackwardRow& row) const {
  if (row.kind == BackwardRow::Kind::kSink) return false;
  if (row.kind == BackwardRow::Kind::kKey) {
    return IsBehindMask(overflowing_, row);
  }
  const auto& queries =
      overflowing_[static_cast<size_t>(row.b * heads_ + row.head)];
  if (!std::binary_search(queries.begin(), queries.end(), row.position)) {
    return false;
  }
  for (int64_t j = 0; j < data_.problem.forward.kv_len; ++j) {
    if (!gradients_.Sees(row.b, row.head, row.position, j)) return true;
  }
  return false;
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
      return IsBehindMask(wild_, row);
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
