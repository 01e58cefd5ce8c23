// Softcap attention by definition, a query row at a time and one step after the
// other. A row is query i of head h in batch row b, with its visible keys j in
// ascending order:
//
//   q [head_dim], k [kv_len, head_dim], v [kv_len, value_dim]
//   -> o [value_dim], lse [], all widened to f32
//
//   1 scores   u_j = log2(e) * softcap(scale * q.k_j)               N3, N7
//   2 softmax  p_j = 2^(u_j - m), l = sum p_j, lse = ln(l 2^m)      N9, N11
//   3 values   acc_c = sum p_j * v_j,c                              N10, N11
//   4 finish   o_c = acc_c / l, rounded to the lane                 N2, N11
//
// With split=N passes 2 and 3 are done for each part of the keys, with the m of
// the part. Their sums are scaled to the largest m and added (N22).
//
// A masked key has no part in any of them. Pass 1 leaves it out before its k is
// read (N8), so that it has no weight in l, and pass 3 never reads its v. A row
// without a visible key has o = 0, and the lse of its sink or -inf (N12). A row
// with a score of NaN or +inf is NaN (N13).
//
// Clauses: docs/numerics.md, constants: contract/numerics.h, the score of a
// pair: attention_row.h, exp2, tanh and log2: elementary.h, masks: mask.h.
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
#include "reference/elementary.h"
#include "reference/mask.h"
#include "reference/matrix_unit.h"

namespace lockstep::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// What one row is computed from.
struct Query {
  const AttentionForwardProblem& problem;
  const AttentionForwardInputs& inputs;
  AttentionRow at;

  int64_t kv_head() const { return at.head / problem.group(); }
};

// Weights are 2^(u - m) * 2^shift (N9). Both are integers.
struct Base {
  float m = 0.0f;
  float shift = 0.0f;
};

// One term of a row's softmax: a visible key, or the learned sink.
struct Term {
  explicit Term(float score) : u(score), n(std::nearbyint(score)) {}

  // N9: exp2 of the fraction times a power of two.
  float Weight(const Base& base) const {
    if (u == -kInfinity) return 0.0f;
    const float e = (n - base.m) + base.shift;
    if (!(e >= kMinExponent)) return 0.0f;
    return Exp2Core(u - n) * std::ldexp(1.0f, static_cast<int>(e));
  }

  float u;  // score * log2e
  float n;  // u rounded to an integer, ties to even; integer-valued f32
};

// Some of a row's visible keys, one after another, and the base of their
// weights.
struct Part {
  size_t begin = 0;  // of Row::keys and Row::terms
  size_t end = 0;
  Base base;
};

// What passes 2 and 3 leave of a part, or of all of them: l without the sink,
// acc [value_dim], relative to the base.
struct Sums {
  Base base;
  float l = 0.0f;
  std::vector<float> acc;
};

// What pass 1 leaves.
struct Row {
  std::vector<int64_t> keys;  // visible, ascending
  std::vector<Term> terms;    // one per visible key
  bool has_sink = false;
  Term sink{-kInfinity};

  // N13: judged after the softcap. No weight is defined for NaN or +inf, nor
  // where nothing but -inf is visible.
  bool IsNaN(float max) const {
    const auto bad = [](const Term& t) { return !(t.u < kInfinity); };
    return bad(sink) || std::any_of(terms.begin(), terms.end(), bad) ||
           (!terms.empty() && max == -kInfinity);
  }

  // Largest n of the row, the sink included.
  float Max() const {
    float m = sink.n;
    for (const Term& term : terms) m = std::max(m, term.n);
    return m;
  }

  // N11: the sum of weights, the sink's behind those of the keys.
  float WithSink(float l, const Base& base) const {
    return has_sink ? l + sink.Weight(base) : l;
  }
};

// The passes; each stands below.
Row Scores(const Query& query);
float SumOfWeights(const Row& row, const Part& part);
float LogSumExp(float l, const Base& base);
std::vector<float> Values(const Query& query, const Row& row, const Part& part);
std::vector<Part> PartsOf(const Query& query, const Row& row, bool fixed,
                          float shift);
Sums SumOfParts(const Query& query, const Row& row,
                const std::vector<Part>& parts);

// N9: softcap bounds every |u| by C, so that m = 0 serves the whole row.
bool TakesFixedPath(const AttentionForwardProblem& problem, const Row& row) {
  return problem.softcap && !row.terms.empty() &&
         static_cast<float>(*problem.softcap * kLog2E) <= kFixedPathBound &&
         (!row.has_sink || row.sink.n <= kFixedPathBound);
}

// The row, of arguments that were accepted.
void ComputeRow(const Query& query, std::span<float> o, float* lse) {
  const Row row = Scores(query);  // pass 1
  const float max = row.Max();
  if (row.IsNaN(max)) {
    std::fill(o.begin(), o.end(), kNaN);
    *lse = kNaN;
    return;
  }

  if (row.keys.empty()) {  // N12
    const Base base{max, kWeightShift};
    *lse = LogSumExp(row.WithSink(0.0f, base), base);
    std::fill(o.begin(), o.end(), 0.0f);
    return;
  }

  const bool fixed = TakesFixedPath(query.problem, row);
  const float shift = fixed ? 0.0f : kWeightShift;
  const Sums sums =  // passes 2 and 3
      SumOfParts(query, row, PartsOf(query, row, fixed, shift));
  const float l = row.WithSink(sums.l, sums.base);
  *lse = LogSumExp(l, sums.base);

  // Passes 2 and 3 once more for the sums that overflowed: smaller weights
  // cannot (N9).
  const auto finite = [](float sum) { return std::isfinite(sum); };
  const bool redo = !std::all_of(sums.acc.begin(), sums.acc.end(), finite);
  const Sums small =
      redo ? SumOfParts(query, row, PartsOf(query, row, false, kRedoShift))
           : sums;
  const float small_l = row.WithSink(small.l, small.base);

  for (size_t c = 0; c < o.size(); ++c) {  // pass 4
    const float acc = sums.acc[c];
    const float x = finite(acc) ? acc / l : small.acc[c] / small_l;
    o[c] = FinishElement(x, query.problem.lane);
  }
}

// ------------------------------------------------------------------ 1 scores

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

Row Scores(const Query& query) {
  const auto& [problem, inputs, at] = query;
  const std::vector<float> q = LoadRow(inputs.q, at.batch, at.head, at.query);
  Row row;
  std::vector<float> k;
  for (int64_t j = 0; j < problem.kv_len; ++j) {
    // N8: a masked key is never read.
    if (!IsVisible(problem, inputs, at.batch, at.head, at.query, j)) continue;
    LoadRow(inputs.k, at.batch, query.kv_head(), j, k);
    row.keys.push_back(j);
    row.terms.emplace_back(ScoreOf(problem, DotInOrder(problem.order, q, k)).u);
  }
  if (problem.sink) {
    row.has_sink = true;
    row.sink = Term(inputs.sink(at.head) * static_cast<float>(kLog2E));
  }
  return row;
}

// ----------------------------------------------------------------- 2 softmax

// N11: sixteen stripes by key index, one fold.
float SumOfWeights(const Row& row, const Part& part) {
  float l[kStripes] = {};
  for (size_t t = part.begin; t < part.end; ++t) {
    l[row.keys[t] % kStripes] += row.terms[t].Weight(part.base);
  }
  return Fold(l);
}

// N11: natural logarithm of l * 2^(m - shift).
float LogSumExp(float l, const Base& base) {
  if (l == 0.0f) return -kInfinity;
  const Log2Split split =
      SplitForLog2(l * std::ldexp(1.0f, -static_cast<int>(base.shift)));
  return ((base.m + split.k) + Log2Core(split.z)) * static_cast<float>(kLn2) +
         0.0f;
}

// ------------------------------------------------------------------ 3 values

// Calls add(key, p, v) for every key of the part, ascending; v [value_dim].
template <class Add>
void ForWeightedRows(const Query& query, const Row& row, const Part& part,
                     const Add& add) {
  const auto& [problem, inputs, at] = query;
  std::vector<float> v;
  for (size_t t = part.begin; t < part.end; ++t) {
    const float p = RoundWeight(row.terms[t].Weight(part.base), problem.p_lane);
    LoadRow(inputs.v, at.batch, query.kv_head(), row.keys[t], v);
    add(row.keys[t], p, v);
  }
}

// The sums of all channels, each from `sum`: in blocks by N20, in steps by N21.
template <class Sum>
std::vector<float> ValuesInSums(const Query& query, const Row& row,
                                const Part& part, Sum sum) {
  std::vector<Sum> sums(static_cast<size_t>(query.problem.value_dim), sum);
  ForWeightedRows(query, row, part,
                  [&](int64_t key, float p, const std::vector<float>& v) {
                    for (size_t c = 0; c < sums.size(); ++c) {
                      sums[c].Add(key, p, v[c]);
                    }
                  });
  std::vector<float> acc;
  for (Sum& of_channel : sums) acc.push_back(of_channel.Total());
  return acc;
}

// N11: acc_c = sum over keys, ascending, of p * v[key, c].
std::vector<float> Values(const Query& query, const Row& row,
                          const Part& part) {
  const ProductOrder order = query.problem.order;
  if (order == ProductOrder::kAmx) {
    return ValuesInSums(query, row, part, BlockSum());
  }
  if (order != ProductOrder::kChain) {
    return ValuesInSums(query, row, part, StepSum(*StepOf(order)));
  }
  std::vector<float> acc(static_cast<size_t>(query.problem.value_dim), 0.0f);
  ForWeightedRows(query, row, part,
                  [&](int64_t, float p, const std::vector<float>& v) {
                    AddTimes(p, v, acc);
                  });
  return acc;
}

// ------------------------------------------------------------- parts of keys

// N22: parts that have a visible key, ascending, each with its own m. Without
// split the one part is all of the row, whose m is N9's.
std::vector<Part> PartsOf(const Query& query, const Row& row, bool fixed,
                          float shift) {
  const int64_t width = query.problem.part_width();
  std::vector<Part> parts;
  for (size_t t = 0; t < row.keys.size(); ++t) {
    if (t == 0 || row.keys[t] / width != row.keys[t - 1] / width) {
      parts.push_back({t, t, {fixed ? 0.0f : row.sink.n, shift}});
    }
    Part& part = parts.back();
    part.end = t + 1;
    if (!fixed) part.base.m = std::max(part.base.m, row.terms[t].n);
  }
  return parts;
}

// N22: x * 2^exponent, exponent <= 0 and an integer, rounded once: binary64
// holds the product, and from 2^-300 on nothing is left of any f32.
float ScaledOnce(float x, float exponent) {
  const int power = static_cast<int>(std::max(exponent, -300.0f));
  return static_cast<float>(std::ldexp(static_cast<double>(x), power));
}

// N22: chains over the parts, ascending.
Sums SumOfParts(const Query& query, const Row& row,
                const std::vector<Part>& parts) {
  Sums sums{parts[0].base, 0.0f, {}};
  sums.acc.resize(static_cast<size_t>(query.problem.value_dim));
  for (const Part& part : parts) {
    sums.base.m = std::max(sums.base.m, part.base.m);
  }
  for (const Part& part : parts) {
    const float down = part.base.m - sums.base.m;
    sums.l += ScaledOnce(SumOfWeights(row, part), down);
    const std::vector<float> acc = Values(query, row, part);
    for (size_t c = 0; c < acc.size(); ++c) {
      sums.acc[c] += ScaledOnce(acc[c], down);
    }
  }
  return sums;
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
  ComputeRow({problem, inputs, at}, o, lse);
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
        ComputeRow({problem, inputs, {b, h, i}}, o, &outputs.lse(b, h, i));
        for (size_t c = 0; c < o.size(); ++c) {
          StoreElement(outputs.o, o[c], b, h, i, c);
        }
      }
    }
  }
  return valid;
}

}  // namespace lockstep::reference
