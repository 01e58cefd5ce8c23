// Attention over parts of the keys, put together by definition, a row at a time
// and one step after the other. Part s of a row has o_s [value_dim], normalised
// over its own keys, and lse_s, the logarithm of its sum of weights:
//
//   o_s [value_dim], lse_s []  for s in 0 .. parts - 1
//   -> o [value_dim], lse [], all widened to f32
//
//   1 largest  m = max lse_s
//   2 weights  w_s = base^(lse_s - m), W = sum w_s
//   3 values   acc_c = sum w_s * o_s,c
//   4 finish   o_c = acc_c / W, rounded to the lane; lse = m + log_base W
//
// A part with lse_s = -inf saw no key: its o is never read, whatever it holds.
// A part whose weight underflows to +0 takes part. A row without a part that
// saw a key has o = 0 and lse = -inf. A row with an lse of NaN or +inf is NaN.
//
// Clause: N23 of docs/numerics.md; exp2 and log2: elementary.h.
#include "reference/attention_merge.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/attention_merge.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"
#include "reference/elementary.h"

namespace lockstep::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A part that saw a key of the row.
struct Part {
  int64_t s = 0;
  float lse = 0.0f;
};

struct MergeOfRow {
  const AttentionMergeProblem& problem;
  const AttentionMergeInputs& inputs;
  MergedRow at;

  float Lse(int64_t s) const { return inputs.lse(s, at.head, at.row); }
  float Value(int64_t s, int64_t c) const {
    return inputs.o.Float(s, at.head, at.row, c);
  }
};

// base^(lse - m) by N14's exp2 of the full range.
float Weight(LseBase base, float lse, float m) {
  float d = lse - m;
  if (base == LseBase::kE) d = d * static_cast<float>(kLog2E);
  return Exp2(d);
}

// m + log_base W.
float MergedLse(LseBase base, float m, float sum) {
  float log = Log2(sum);
  if (base == LseBase::kE) log = log * static_cast<float>(kLn2);
  return (m + log) + 0.0f;
}

// The row, of arguments that were accepted.
void ComputeRow(const MergeOfRow& row, std::span<float> o, float* lse) {
  const AttentionMergeProblem& problem = row.problem;
  std::vector<Part> seen;
  float m = -kInfinity;  // step 1
  bool nan = false;
  for (int64_t s = 0; s < problem.parts; ++s) {
    const Part part{s, row.Lse(s)};
    if (part.lse == -kInfinity) continue;
    nan |= !(part.lse < kInfinity);
    if (part.lse > m) m = part.lse;
    seen.push_back(part);
  }
  if (nan || seen.empty()) {
    for (float& element : o) element = nan ? kNaN : 0.0f;
    *lse = nan ? kNaN : -kInfinity;
    return;
  }

  float sum = 0.0f;  // steps 2 and 3
  std::vector<float> acc(o.size(), 0.0f);
  for (const Part& part : seen) {
    const float w = Weight(problem.base, part.lse, m);
    sum = sum + w;
    for (size_t c = 0; c < acc.size(); ++c) {
      acc[c] = std::fma(w, row.Value(part.s, static_cast<int64_t>(c)), acc[c]);
    }
  }

  for (size_t c = 0; c < o.size(); ++c) {  // step 4
    o[c] = FinishElement(acc[c] / sum, problem.out_lane);
  }
  *lse = MergedLse(problem.base, m, sum);
}

}  // namespace

Status AttentionMergeRow(const AttentionMergeProblem& problem,
                         const AttentionMergeInputs& inputs,
                         const MergedRow& at, std::span<float> o, float* lse) {
  const Status valid = Validate(problem);
  if (!valid.ok()) return valid;
  const bool inside = at.head >= 0 && at.head < problem.heads && at.row >= 0 &&
                      at.row < problem.rows;
  if (!inside) {
    return Status::Error("no row [h=" + std::to_string(at.head) +
                         " n=" + std::to_string(at.row) + "]");
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

Status AttentionMerge(const AttentionMergeProblem& problem,
                      const AttentionMergeInputs& inputs,
                      const AttentionMergeOutputs& outputs) {
  const Status valid = Validate(problem, inputs, outputs);
  if (!valid.ok()) return valid;
  std::vector<float> o(static_cast<size_t>(problem.value_dim));
  for (int64_t h = 0; h < problem.heads; ++h) {
    for (int64_t n = 0; n < problem.rows; ++n) {
      ComputeRow({problem, inputs, {h, n}}, o, &outputs.lse(h, n));
      for (size_t c = 0; c < o.size(); ++c) {
        StoreElement(outputs.o, o[c], h, n, c);
      }
    }
  }
  return valid;
}

}  // namespace lockstep::reference
