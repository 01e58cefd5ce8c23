// Gradients of softcap attention as in the textbook: 1 weights and their
// gradients, 2 chains of dv, dk and dq, 3 the sink's gradient, 4 the scale and
// rounding. Every element of an output is one chain, its terms in the order of
// the loops. Scores: attention_row.h; clause N18: docs/numerics.md.
#include "reference/attention_backward.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "reference/attention_row.h"
#include "reference/contract/attention_backward.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "reference/elementary.h"
#include "reference/mask.h"

namespace lockstep::reference {
namespace {

using Problem = AttentionBackwardProblem;
using Inputs = AttentionBackwardInputs;
using Outputs = AttentionBackwardOutputs;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Positions of one head, each with the sums of its channels.
using Sums = std::vector<std::vector<float>>;

Sums ZeroSums(int64_t positions, int64_t channels) {
  return Sums(static_cast<size_t>(positions),
              std::vector<float>(static_cast<size_t>(channels), 0.0f));
}

// One query of one head, and what all of its keys share.
struct Row {
  int64_t b, h, i;
  std::vector<int64_t> keys;  // visible, ascending: all, or those asked about
  std::vector<float> q, d_o;  // read where a key is visible
  bool counts = false;        // lse is not -inf
  bool is_nan = false;        // lse is NaN or +inf
  float l = 0.0f;             // lse in units of log2
  float delta = 0.0f;         // the D of N18

  // 2^(u - l) for the score of the sink.
  float SinkWeight(float u) const { return is_nan ? kNaN : Exp2(u - l); }
  // The same for the score of a key, where what would be subnormal is zero.
  float Weight(float u) const {
    return u - l < kLeastWeightLog2 && !is_nan ? 0.0f : SinkWeight(u);
  }
};

std::vector<int64_t> VisibleKeys(const AttentionForwardProblem& p,
                                 const AttentionForwardInputs& inputs,
                                 int64_t b, int64_t h, int64_t i) {
  std::vector<int64_t> keys;
  for (int64_t j = 0; j < p.kv_len; ++j) {
    if (IsVisible(p, inputs, b, h, i, j)) keys.push_back(j);
  }
  return keys;
}

// `keys`: those that are asked about; none only if the query sees none.
Row MakeRow(const Problem& problem, const Inputs& inputs, int64_t b, int64_t h,
            int64_t i, std::vector<int64_t> keys) {
  Row row{b, h, i, std::move(keys), {}, {}};
  const float lse = inputs.lse(b, h, i);
  row.counts = lse != -kInfinity;
  row.is_nan = !(lse < kInfinity);
  row.l = lse * static_cast<float>(kLog2E);
  if (!row.keys.empty()) {
    row.q = LoadRow(inputs.forward.q, b, h, i);
    row.d_o = LoadRow(inputs.d_o, b, h, i);
    row.delta = Dot(row.d_o, LoadRow(inputs.o, b, h, i));
  }
  if (problem.dlse) row.delta -= inputs.dlse(b, h, i);
  return row;
}

// The weight of a visible pair and the gradient of its score before the scale.
struct Pair {
  float p, ds;
};

float SubnormalAsZero(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? 0.0f : x;
}

Pair MakePair(const Problem& problem, const Row& row,
              const std::vector<float>& k, const std::vector<float>& v) {
  const Score score = ScoreOf(problem.forward, Dot(row.q, k));
  const float p = row.Weight(score.u);
  const float ds = p * (Dot(row.d_o, v) - row.delta);
  const Pair pair{p, SubnormalAsZero(ds * std::fma(-score.y, score.y, 1.0f))};
  const Lane lane = problem.forward.p_lane;
  return {RoundWeight(pair.p, lane), RoundWeight(pair.ds, lane)};
}

// The sink of the row's head as one more key.
void AddSink(const Inputs& inputs, const Row& row, float& sum) {
  const float u = inputs.forward.sink(row.h) * static_cast<float>(kLog2E);
  sum = std::fma(-row.SinkWeight(u), row.delta, sum);
}

// One line of 4.
std::vector<float> Finish(const std::vector<float>& sums, float scale,
                          Lane lane) {
  std::vector<float> line;
  for (const float x : sums) line.push_back(FinishElement(x * scale, lane));
  return line;
}

// 4: the sums of one head, finished and written.
void Store(const Sums& sums, float scale, int64_t b, int64_t h,
           const MutableLaneView& out) {
  for (size_t i = 0; i < sums.size(); ++i) {
    const std::vector<float> line = Finish(sums[i], scale, out.lane);
    for (size_t c = 0; c < line.size(); ++c) {
      StoreElement(out, line[c], b, h, i, c);
    }
  }
}

// One key head of one batch row, and the query heads that read it.
void ComputeGroup(const Problem& problem, const Inputs& inputs,
                  const Outputs& outputs, int64_t b, int64_t kv_head,
                  std::vector<float>& dsink) {
  const AttentionForwardProblem& p = problem.forward;
  const auto scale = static_cast<float>(p.scale);
  Sums dk = ZeroSums(p.kv_len, p.head_dim);
  Sums dv = ZeroSums(p.kv_len, p.value_dim);
  std::vector<float> k, v;
  for (int64_t h = kv_head * p.group(); h < (kv_head + 1) * p.group(); ++h) {
    Sums dq = ZeroSums(p.q_len, p.head_dim);
    for (int64_t i = 0; i < p.q_len; ++i) {
      const Row row = MakeRow(problem, inputs, b, h, i,
                              VisibleKeys(p, inputs.forward, b, h, i));
      if (!row.counts) continue;
      for (const int64_t j : row.keys) {
        LoadRow(inputs.forward.k, b, kv_head, j, k);
        LoadRow(inputs.forward.v, b, kv_head, j, v);
        const Pair pair = MakePair(problem, row, k, v);         // 1
        AddTimes(pair.p, row.d_o, dv[static_cast<size_t>(j)]);  // 2
        AddTimes(pair.ds, row.q, dk[static_cast<size_t>(j)]);
        AddTimes(pair.ds, k, dq[static_cast<size_t>(i)]);
      }
      if (!p.sink) continue;
      AddSink(inputs, row, dsink[static_cast<size_t>(h)]);  // 3
    }
    Store(dq, scale, b, h, outputs.dq);
  }
  Store(dk, scale, b, kv_head, outputs.dk);
  Store(dv, 1.0f, b, kv_head, outputs.dv);
}

}  // namespace

Status AttentionBackward(const Problem& problem, const Inputs& inputs,
                         const Outputs& outputs) {
  Status valid = Validate(problem, inputs, outputs);
  if (!valid.ok()) return valid;
  const AttentionForwardProblem& p = problem.forward;
  std::vector<float> dsink(static_cast<size_t>(p.q_heads), 0.0f);
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t kv_head = 0; kv_head < p.kv_heads; ++kv_head) {
      ComputeGroup(problem, inputs, outputs, b, kv_head, dsink);
    }
  }
  for (int64_t h = 0; p.sink && h < p.q_heads; ++h) {
    outputs.dsink(h) = FinishElement(dsink[static_cast<size_t>(h)], Lane::kF32);
  }
  return valid;
}

std::vector<float> AttentionBackwardQuery(const Problem& problem,
                                          const Inputs& inputs, int64_t b,
                                          int64_t h, int64_t i) {
  const AttentionForwardProblem& p = problem.forward;
  const int64_t kv_head = h / p.group();
  const Row row = MakeRow(problem, inputs, b, h, i,
                          VisibleKeys(p, inputs.forward, b, h, i));
  std::vector<float> dq(static_cast<size_t>(p.head_dim), 0.0f);
  std::vector<float> k, v;
  for (const int64_t j : row.keys) {
    if (!row.counts) break;
    LoadRow(inputs.forward.k, b, kv_head, j, k);
    LoadRow(inputs.forward.v, b, kv_head, j, v);
    AddTimes(MakePair(problem, row, k, v).ds, k, dq);
  }
  return Finish(dq, static_cast<float>(p.scale), problem.grad_lane);
}

KeyGradients AttentionBackwardKey(const Problem& problem, const Inputs& inputs,
                                  int64_t b, int64_t kv_head, int64_t j) {
  const AttentionForwardProblem& p = problem.forward;
  std::vector<float> dk(static_cast<size_t>(p.head_dim), 0.0f);
  std::vector<float> dv(static_cast<size_t>(p.value_dim), 0.0f);
  const std::vector<float> k = LoadRow(inputs.forward.k, b, kv_head, j);
  const std::vector<float> v = LoadRow(inputs.forward.v, b, kv_head, j);
  for (int64_t h = kv_head * p.group(); h < (kv_head + 1) * p.group(); ++h) {
    for (int64_t i = 0; i < p.q_len; ++i) {
      if (!IsVisible(p, inputs.forward, b, h, i, j)) continue;
      const Row row = MakeRow(problem, inputs, b, h, i, {j});
      if (!row.counts) continue;
      const Pair pair = MakePair(problem, row, k, v);
      AddTimes(pair.p, row.d_o, dv);
      AddTimes(pair.ds, row.q, dk);
    }
  }
  return {Finish(dk, static_cast<float>(p.scale), problem.grad_lane),
          Finish(dv, 1.0f, problem.grad_lane)};
}

float AttentionBackwardSink(const Problem& problem, const Inputs& inputs,
                            int64_t h) {
  const AttentionForwardProblem& p = problem.forward;
  float sum = 0.0f;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t i = 0; i < p.q_len; ++i) {
      std::vector<int64_t> first;
      for (int64_t j = 0; j < p.kv_len && first.empty(); ++j) {
        if (IsVisible(p, inputs.forward, b, h, i, j)) first = {j};
      }
      const Row row = MakeRow(problem, inputs, b, h, i, std::move(first));
      if (row.counts) AddSink(inputs, row, sum);
    }
  }
  return FinishElement(sum, Lane::kF32);
}

}  // namespace lockstep::reference
