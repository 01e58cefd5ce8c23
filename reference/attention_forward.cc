// Softcap attention by definition, a query row at a time and one step after the
// other. A row is query i of head h in batch row b, with its visible keys j in
// ascending order:
//
//   q [head_dim], k [kv_len, head_dim], v [kv_len, value_dim]
//   -> o [value_dim], lse [], all widened to f32
//
//   1 scores   u_j = log2(e) * softcap(scale * q.k_j)               N3, N7, N25
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
// Tensors in fp8 have scales (N25), which are 1 otherwise: passes 1, 3 and 4
// multiply by them. Pages and ragged batches change addresses, and an index
// list is one more mask: the passes do not depend on them.
//
// Clauses: docs/numerics.md, constants: contract/numerics.h, the score of a
// pair: attention_row.h, weights and the finish: attention_states.h, exp2, tanh
// and log2: elementary.h, masks: mask.h, scales: attention_scales.h.
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
#include "reference/attention_scales.h"
#include "reference/attention_states.h"
#include "reference/block_product.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/attention_states.h"
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
  RowScales scales() const { return {problem, inputs, at}; }
};

// Some of a row's visible keys, one after another, and the base of their
// weights.
struct Part {
  size_t begin = 0;  // of Row::keys and Row::terms
  size_t end = 0;
  Base base;
};

// What pass 1 leaves.
struct Row {
  std::vector<int64_t> keys;  // visible, ascending
  std::vector<Term> terms;    // one per visible key
  std::optional<Term> sink;

  // Largest n of the row, the sink included.
  float Max() const {
    float m = sink ? sink->n : -kInfinity;
    for (const Term& term : terms) m = std::max(m, term.n);
    return m;
  }

  // N13 tests the score after the softcap.
  bool HasBadTerm() const {
    const auto bad = [](const Term& term) { return term.IsBad(); };
    return (sink && bad(*sink)) || std::any_of(terms.begin(), terms.end(), bad);
  }
};

// The passes; each stands below.
Row Scores(const Query& query);
float SumOfWeights(const Row& row, const Part& part);
std::vector<float> Values(const Query& query, const Row& row, const Part& part);
std::vector<Part> PartsOf(const Query& query, const Row& row, WeightSize size);

// Passes 2 and 3 of every part.  Requires: a visible key.
std::vector<Sums> SumsOfParts(const Query& query, const Row& row,
                              WeightSize size) {
  std::vector<Sums> sums;
  for (const Part& part : PartsOf(query, row, size)) {
    sums.push_back(
        {part.base, SumOfWeights(row, part), Values(query, row, part)});
  }
  return sums;
}

// The row, of arguments that were accepted.
void ComputeRow(const Query& query, std::span<float> o, float* lse) {
  const Row row = Scores(query);  // pass 1
  const bool empty = row.keys.empty();
  if (row.HasBadTerm() || (!empty && row.Max() == -kInfinity)) {
    return FinishNaNRow(o, lse);  // N13
  }
  if (empty) return FinishEmptyRow(row.sink, o, lse);  // N12

  const auto sums = [&](WeightSize size) {  // passes 2 and 3
    return AddParts(SumsOfParts(query, row, size));
  };
  FinishRow(
      query.problem.lane, row.sink, sums(WeightSize::kUsual),  // pass 4
      [&] { return sums(WeightSize::kSmall); }, o, lse,
      query.scales().AllValues());
}

// N24: the state of the row from its keys, which are one part.
Sums ComputeState(const Query& query, WeightSize size) {
  const auto values = static_cast<size_t>(query.problem.value_dim);
  const Row row = Scores(query);
  if (row.keys.empty()) {
    return {{-kInfinity, 0.0f}, -kInfinity, std::vector<float>(values)};
  }
  if (row.HasBadTerm()) {
    return {{kNaN, 0.0f}, kNaN, std::vector<float>(values, kNaN)};
  }
  return SumsOfParts(query, row, size)[0];
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
  const RowScales scales = query.scales();
  Row row;
  std::vector<float> k;
  for (int64_t j = 0; j < problem.kv_len; ++j) {
    // N8: a masked key is never read.
    if (!IsVisible(problem, inputs, at.batch, at.head, at.query, j)) continue;
    LoadRow(inputs.k, at.batch, query.kv_head(), j, k);
    row.keys.push_back(j);
    const float dot =
        DotInOrder(problem.order, q, k) * scales.Key(j) * scales.Query();
    row.terms.emplace_back(
        ScoreOf(problem, dot, scales.AllKeys(), scales.AllQueries()).u);
  }
  row.sink = SinkOf(problem, inputs.sink, at.head);
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

// ------------------------------------------------------------------ 3 values

// Calls add(key, p, v) for every key of the part, ascending; v [value_dim].
template <class Add>
void ForWeightedRows(const Query& query, const Row& row, const Part& part,
                     const Add& add) {
  const auto& [problem, inputs, at] = query;
  std::vector<float> v;
  for (size_t t = part.begin; t < part.end; ++t) {
    const int64_t key = row.keys[t];
    const float p =
        RoundWeight(row.terms[t].Weight(part.base) * query.scales().Value(key),
                    problem.p_lane);
    LoadRow(inputs.v, at.batch, query.kv_head(), key, v);
    add(key, p, v);
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
// split the whole row is the one part, and its m is N9's. Small weights cannot
// overflow a sum, and have no fixed path.
std::vector<Part> PartsOf(const Query& query, const Row& row, WeightSize size) {
  const bool small = size == WeightSize::kSmall;
  const bool fixed = !small && TakesFixedPath(query.problem, row.sink);
  const Base first{fixed      ? 0.0f
                   : row.sink ? row.sink->n
                              : -kInfinity,
                   small   ? kRedoShift
                   : fixed ? 0.0f
                           : kWeightShift};
  const int64_t width = query.problem.part_width();
  std::vector<Part> parts;
  for (size_t t = 0; t < row.keys.size(); ++t) {
    if (t == 0 || row.keys[t] / width != row.keys[t - 1] / width) {
      parts.push_back({t, t, first});
    }
    Part& part = parts.back();
    part.end = t + 1;
    if (!fixed) part.base.m = std::max(part.base.m, row.terms[t].n);
  }
  return parts;
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

Status AttentionForwardStates(const AttentionForwardProblem& problem,
                              const AttentionForwardInputs& inputs,
                              WeightSize size, const AttentionStates& states) {
  Status valid = Validate(problem, inputs, states);
  if (!valid.ok()) return valid;
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.q_heads; ++h) {
      for (int64_t i = 0; i < problem.q_len; ++i) {
        const Sums sums = ComputeState({problem, inputs, {b, h, i}}, size);
        states.m(b, h, i) = CanonicalNaN(sums.base.m) + 0.0f;
        states.l(b, h, i) = CanonicalNaN(sums.l);
        for (size_t c = 0; c < sums.acc.size(); ++c) {
          states.acc(b, h, i, c) = CanonicalNaN(sums.acc[c]);
        }
      }
    }
  }
  return valid;
}

}  // namespace lockstep::reference
