// Gradients of softcap attention as in the textbook: 1 weights and their
// gradients, 2 chains of dv, dk and dq, 3 the sink's gradient, 4 the scale and
// rounding. Every element of an output is one chain, its terms in the order of
// the loops. Scores: attention_row.h; clause N18: docs/numerics.md.
#include "reference/attention_backward.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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

// One step of every channel's chain.
void AddTimes(float x, const std::vector<float>& y, std::vector<float>& sums) {
  for (size_t c = 0; c < y.size(); ++c) sums[c] = std::fma(x, y[c], sums[c]);
}

// One query of one head, and what all of its keys share.
struct Row {
  int64_t b, h, i;
  std::vector<int64_t> keys;  // visible, ascending
  std::vector<float> q, d_o;  // read where a key is visible
  bool counts = false;        // lse is not -inf
  bool is_nan = false;        // lse is NaN or +inf
  float l = 0.0f;             // lse in units of log2
  float delta = 0.0f;         // the D of N18

  // 2^(u - l) for the score of a key or for the sink's.
  float Weight(float u) const { return is_nan ? kNaN : Exp2(u - l); }
};

Row MakeRow(const Problem& problem, const Inputs& inputs, int64_t b, int64_t h,
            int64_t i) {
  Row row{b, h, i, {}, {}, {}};
  const float lse = inputs.lse(b, h, i);
  row.counts = lse != -kInfinity;
  row.is_nan = !(lse < kInfinity);
  row.l = lse * static_cast<float>(kLog2E);
  for (int64_t j = 0; j < problem.forward.kv_len; ++j) {
    if (IsVisible(problem.forward, inputs.forward, b, h, i, j)) {
      row.keys.push_back(j);
    }
  }
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

Pair MakePair(const Problem& problem, const Row& row,
              const std::vector<float>& k, const std::vector<float>& v) {
  const Score score = ScoreOf(problem.forward, Dot(row.q, k));
  const float p = row.Weight(score.u);
  const float ds = p * (Dot(row.d_o, v) - row.delta);
  const Pair pair{p, ds * std::fma(-score.y, score.y, 1.0f)};
  if (problem.forward.p_lane == Lane::kF32) return pair;
  return {RoundToBf16Lane(pair.p), RoundToBf16Lane(pair.ds)};
}

// 4: the sums of one head, finished and written.
void Store(const Sums& sums, float scale, int64_t b, int64_t h,
           const MutableLaneView& out) {
  for (size_t i = 0; i < sums.size(); ++i) {
    for (size_t c = 0; c < sums[i].size(); ++c) {
      const float x = FinishOutput(sums[i][c] * scale, out.lane);
      if (out.lane == Lane::kF32) {
        out.As<float>()(b, h, i, c) = x;
      } else {
        out.As<Bf16>()(b, h, i, c) = RoundToBf16(x);
      }
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
  for (int64_t h = kv_head * p.group(); h < (kv_head + 1) * p.group(); ++h) {
    Sums dq = ZeroSums(p.q_len, p.head_dim);
    for (int64_t i = 0; i < p.q_len; ++i) {
      const Row row = MakeRow(problem, inputs, b, h, i);
      if (!row.counts) continue;
      for (const int64_t j : row.keys) {
        const std::vector<float> k = LoadRow(inputs.forward.k, b, kv_head, j);
        const std::vector<float> v = LoadRow(inputs.forward.v, b, kv_head, j);
        const Pair pair = MakePair(problem, row, k, v);         // 1
        AddTimes(pair.p, row.d_o, dv[static_cast<size_t>(j)]);  // 2
        AddTimes(pair.ds, row.q, dk[static_cast<size_t>(j)]);
        AddTimes(pair.ds, k, dq[static_cast<size_t>(i)]);
      }
      if (!p.sink) continue;
      float& sum = dsink[static_cast<size_t>(h)];  // 3
      const float u = inputs.forward.sink(h) * static_cast<float>(kLog2E);
      sum = std::fma(-row.Weight(u), row.delta, sum);
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
    outputs.dsink(h) = FinishOutput(dsink[static_cast<size_t>(h)], Lane::kF32);
  }
  return valid;
}

}  // namespace lockstep::reference
