// Softcap attention as in the textbook: 1 scores, 2 softcap, 3 mask and
// softmax, 4 weighted values. Constants: contract/numerics.h; scores:
// attention_row.h; exp2, tanh and log2: elementary.h; clause numbers (N3,
// N7..N13, N20, N21): docs/numerics.md.
#include "reference/attention_forward.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "reference/attention_row.h"
#include "reference/block_product.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"
#include "reference/contract/with_fma.h"
#include "reference/elementary.h"
#include "reference/mask.h"
#include "reference/matrix_unit.h"

namespace lockstep::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// N20, N21: `sum`, from +0, of all a[d] * b[d].
template <class Sum>
float SumOver(Sum sum, const std::vector<float>& a,
              const std::vector<float>& b) {
  for (size_t d = 0; d < a.size(); ++d) {
    sum.Add(static_cast<int64_t>(d), a[d], b[d]);
  }
  return sum.Total();
}

float DotInOrder(ProductOrder order, const std::vector<float>& a,
                 const std::vector<float>& b) {
  if (order == ProductOrder::kChain) return Dot(a, b);
  if (order == ProductOrder::kAmx) return SumOver(BlockSum(), a, b);
  return SumOver(StepSum(*StepOf(order)), a, b);
}

// One term of a row's softmax: a visible key, or the learned sink.
struct Term {
  explicit Term(float score) : u(score), n(std::nearbyint(score)) {}

  // N9: 2^(u - m) * 2^shift, as exp2 of the fraction times a power of two.
  float Weight(float m, float shift) const {
    if (u == -kInfinity) return 0.0f;
    const float e = (n - m) + shift;
    if (!(e >= kMinExponent)) return 0.0f;
    return Exp2Core(u - n) * std::ldexp(1.0f, static_cast<int>(e));
  }

  float u;  // score * log2e
  float n;  // u rounded to an integer, ties to even; integer-valued f32
};

struct Row {
  std::vector<int64_t> keys;  // visible, ascending
  std::vector<Term> terms;    // one per visible key
  bool has_sink = false;
  Term sink{-kInfinity};

  // N13: judged after the softcap. No weight is defined for NaN or +inf, nor
  // where nothing but -inf is visible.
  bool IsNaN(float m) const {
    const auto bad = [](const Term& t) { return !(t.u < kInfinity); };
    return bad(sink) || std::any_of(terms.begin(), terms.end(), bad) ||
           (!terms.empty() && m == -kInfinity);
  }

  // Largest n of the row, the sink included.
  float Max() const {
    float m = sink.n;
    for (const Term& term : terms) m = std::max(m, term.n);
    return m;
  }

  // N11: sixteen stripes by key index, one fold, then the sink.
  float Sum(float m, float shift) const {
    float l[kStripes] = {};
    for (size_t t = 0; t < terms.size(); ++t) {
      l[keys[t] % kStripes] += terms[t].Weight(m, shift);
    }
    for (int w = kStripes / 2; w >= 1; w /= 2) {
      for (int r = 0; r < w; ++r) l[r] += l[r + w];
    }
    return has_sink ? l[0] + sink.Weight(m, shift) : l[0];
  }
};

Row ScoreRow(const AttentionForwardProblem& problem,
             const AttentionForwardInputs& inputs, const AttentionRow& at) {
  const std::vector<float> q = LoadRow(inputs.q, at.batch, at.head, at.query);
  const int64_t kv_head = at.head / problem.group();
  Row row;
  std::vector<float> k;
  for (int64_t j = 0; j < problem.kv_len; ++j) {
    // N8: a masked key is never read.
    if (!IsVisible(problem, inputs, at.batch, at.head, at.query, j)) continue;
    LoadRow(inputs.k, at.batch, kv_head, j, k);
    row.keys.push_back(j);
    row.terms.emplace_back(ScoreOf(problem, DotInOrder(problem.order, q, k)).u);
  }
  if (problem.sink) {
    row.has_sink = true;
    row.sink = Term(inputs.sink(at.head) * static_cast<float>(kLog2E));
  }
  return row;
}

// N9: softcap bounds every |u| by C, so that m = 0 serves the whole row.
bool TakesFixedPath(const AttentionForwardProblem& problem, const Row& row) {
  return problem.softcap && !row.terms.empty() &&
         static_cast<float>(*problem.softcap * kLog2E) <= kFixedPathBound &&
         (!row.has_sink || row.sink.n <= kFixedPathBound);
}

// Calls add(key, p, v) for every visible key, ascending; v [value_dim].
template <class Add>
void ForWeightedRows(const AttentionForwardProblem& problem,
                     const AttentionForwardInputs& inputs,
                     const AttentionRow& at, const Row& row, float m,
                     float shift, const Add& add) {
  const int64_t kv_head = at.head / problem.group();
  std::vector<float> v;
  for (size_t t = 0; t < row.keys.size(); ++t) {
    float p = row.terms[t].Weight(m, shift);
    if (problem.p_lane == Lane::kBf16) p = RoundToBf16Lane(p);  // N10
    LoadRow(inputs.v, at.batch, kv_head, row.keys[t], v);
    add(row.keys[t], p, v);
  }
}

// N11: acc_c = sum over keys, ascending, of p * v[key, c]; in blocks by N20, in
// steps by N21.
std::vector<float> WeightedValues(const AttentionForwardProblem& problem,
                                  const AttentionForwardInputs& inputs,
                                  const AttentionRow& at, const Row& row,
                                  float m, float shift) {
  std::vector<float> acc(static_cast<size_t>(problem.value_dim), 0.0f);
  const auto each = [&](const auto& add) {
    ForWeightedRows(problem, inputs, at, row, m, shift, add);
  };
  const auto in_sums = [&](auto from) {
    std::vector sums(acc.size(), from);
    each([&](int64_t key, float p, const std::vector<float>& v) {
      for (size_t c = 0; c < sums.size(); ++c) sums[c].Add(key, p, v[c]);
    });
    for (size_t c = 0; c < acc.size(); ++c) acc[c] = sums[c].Total();
  };
  if (problem.order == ProductOrder::kChain) {
    each([&](int64_t, float p, const std::vector<float>& v) {
      WithFma([&]() LOCKSTEP_IN_BOTH {
        for (size_t c = 0; c < acc.size(); ++c)
          acc[c] = std::fma(p, v[c], acc[c]);
      });
    });
  } else if (problem.order == ProductOrder::kAmx) {
    in_sums(BlockSum());
  } else {
    in_sums(StepSum(*StepOf(problem.order)));
  }
  return acc;
}

// N11: natural logarithm of l * 2^(m - shift).
float LogSumExp(float l, float m, float shift) {
  if (l == 0.0f) return -kInfinity;
  const Log2Split split =
      SplitForLog2(l * std::ldexp(1.0f, -static_cast<int>(shift)));
  return ((m + split.k) + Log2Core(split.z)) * static_cast<float>(kLn2) + 0.0f;
}

// The row, of arguments that were accepted.
void ComputeRow(const AttentionForwardProblem& problem,
                const AttentionForwardInputs& inputs, const AttentionRow& at,
                std::span<float> o, float* lse) {
  const Row row = ScoreRow(problem, inputs, at);
  const float max = row.Max();
  if (row.IsNaN(max)) {
    std::fill(o.begin(), o.end(), kNaN);
    *lse = kNaN;
    return;
  }
  const bool fixed = TakesFixedPath(problem, row);
  const float m = fixed ? 0.0f : max;
  const float shift = fixed ? 0.0f : kWeightShift;
  const float l = row.Sum(m, shift);  // 3
  *lse = LogSumExp(l, m, shift);
  if (row.keys.empty()) {  // N12
    std::fill(o.begin(), o.end(), 0.0f);
    return;
  }
  const std::vector<float> acc =
      WeightedValues(problem, inputs, at, row, m, shift);  // 4
  std::vector<float> redo;
  for (size_t c = 0; c < o.size(); ++c) {
    float x = acc[c] / l;
    if (!std::isfinite(acc[c])) {  // N9: smaller weights cannot overflow
      if (redo.empty()) {
        redo = WeightedValues(problem, inputs, at, row, max, kRedoShift);
      }
      x = redo[c] / row.Sum(max, kRedoShift);
    }
    o[c] = FinishOutput(x, problem.lane);
  }
}

}  // namespace

Status AttentionForwardRow(const AttentionForwardProblem& problem,
                           const AttentionForwardInputs& inputs,
                           const AttentionRow& at, std::span<float> o,
                           float* lse) {
  Status valid = Validate(problem);
  if (!valid.ok()) return valid;
  const bool inside = at.batch >= 0 && at.batch < problem.batch &&
                      at.head >= 0 && at.head < problem.q_heads &&
                      at.query >= 0 && at.query < problem.q_len;
  if (!inside) {
    return Status::Error("no row [b=" + std::to_string(at.batch) +
                         " h=" + std::to_string(at.head) +
                         " i=" + std::to_string(at.query) + "]");
  }
  if (o.data() == nullptr || lse == nullptr ||
      static_cast<int64_t>(o.size()) != problem.value_dim) {
    return Status::Error("o has " + std::to_string(o.size()) +
                         " elements, or lse is null; want " +
                         std::to_string(problem.value_dim) + " and one");
  }
  ComputeRow(problem, inputs, at, o, lse);
  return valid;
}

Status AttentionForward(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs,
                        const AttentionForwardOutputs& outputs) {
  Status valid = Validate(problem, inputs, outputs);
  if (!valid.ok()) return valid;
  std::vector<float> o(static_cast<size_t>(problem.value_dim));
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.q_heads; ++h) {
      for (int64_t i = 0; i < problem.q_len; ++i) {
        ComputeRow(problem, inputs, {b, h, i}, o, &outputs.lse(b, h, i));
        for (size_t c = 0; c < o.size(); ++c) {
          if (problem.lane == Lane::kF32) {
            outputs.o.As<float>()(b, h, i, c) = o[c];
          } else {
            outputs.o.As<Bf16>()(b, h, i, c) = RoundToBf16(o[c]);
          }
        }
      }
    }
  }
  return valid;
}

}  // namespace lockstep::reference
