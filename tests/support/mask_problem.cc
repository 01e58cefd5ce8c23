#include "tests/support/mask_problem.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/attention_problem.h"

namespace lockstep::test {
namespace {

// Density 0..4 of 4; runs of equal bits when `runs`.
std::vector<uint8_t> RandomBits(std::mt19937& rng, int64_t count) {
  std::vector<uint8_t> bits(static_cast<size_t>(count));
  const int64_t density = Draw(rng, 0, 4);
  const int64_t keep = Draw(rng, 0, 5);
  bool bit = false;
  for (uint8_t& x : bits) {
    if (Draw(rng, 0, keep) == 0) bit = Draw(rng, 0, 4) <= density;
    x = bit;
  }
  return bits;
}

MaskExpr DenseTerm(std::mt19937& rng, MaskProblem* p) {
  MaskProblem::Dense dense;
  dense.per_row = Draw(rng, 0, 1) != 0;
  dense.per_head = Draw(rng, 0, 1) != 0;
  const int64_t planes = (dense.per_row ? p->problem.batch : 1) *
                         (dense.per_head ? p->problem.q_heads : 1);
  MaskExpr mask;
  if (Draw(rng, 0, 1) != 0) {
    mask.block_q = Draw(rng, 1, 9);
    mask.block_k = Draw(rng, 1, 9);
  }
  dense.rows = (p->problem.q_len + mask.block_q - 1) / mask.block_q;
  dense.columns = (p->problem.kv_len + mask.block_k - 1) / mask.block_k;
  dense.bits = RandomBits(rng, planes * dense.rows * dense.columns);
  mask.kind = MaskExpr::Kind::kDense;
  mask.dense = p->dense.size();
  p->dense.push_back(std::move(dense));
  return mask;
}

MaskExpr Term(std::mt19937& rng, MaskProblem* p) {
  if (Draw(rng, 0, 9) == 0) return DenseTerm(rng, p);
  const int64_t most = p->problem.kv_len + 2;
  MaskExpr mask;
  switch (Draw(rng, 0, 5)) {
    case 1:
      mask.kind = MaskExpr::Kind::kCausal;
      break;
    case 2:
      mask.kind = MaskExpr::Kind::kWindow;
      mask.left = Draw(rng, -1, most / 2);
      mask.right = Draw(rng, -1, most / 4);
      break;
    case 3:
      mask.kind = MaskExpr::Kind::kChunked;
      mask.chunk = Draw(rng, 1, most);
      break;
    case 4:
      mask.kind = MaskExpr::Kind::kPrefix;
      for (int64_t b = 0; b < p->problem.batch; ++b) {
        mask.prefix.push_back(Draw(rng, 0, most));
      }
      break;
    case 5:
      mask.kind = MaskExpr::Kind::kSink;
      mask.tokens = Draw(rng, 0, 5);
      break;
    default:
      break;
  }
  return mask;
}

MaskExpr Tree(std::mt19937& rng, int depth, MaskProblem* p) {
  if (depth == 0 || Draw(rng, 0, 1) == 0) return Term(rng, p);
  MaskExpr mask;
  mask.kind = Draw(rng, 0, 1) ? MaskExpr::Kind::kAnd : MaskExpr::Kind::kOr;
  for (int64_t n = Draw(rng, 2, 3); n > 0; --n) {
    mask.children.push_back(Tree(rng, depth - 1, p));
  }
  return mask;
}

// Ids that mostly go on, or change at every token; sorted or coming back.
std::vector<int32_t> Ids(std::mt19937& rng, int64_t count, int64_t period,
                         int64_t stay, bool sorted) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  int32_t id = 0;
  for (size_t t = 0; t < ids.size(); ++t) {
    if (Draw(rng, 0, stay) == 0 || t % static_cast<size_t>(period) == 0) {
      id = sorted ? id + 1 : static_cast<int32_t>(Draw(rng, -1, 3));
    }
    ids[t] = id;
  }
  return ids;
}

}  // namespace

AttentionForwardInputs MaskProblem::Inputs() const {
  const AttentionForwardProblem& p = problem;
  AttentionForwardInputs in;
  in.valid_q = valid_q;
  in.valid_kv = valid_kv;
  if (p.segments) {
    in.q_seg = {q_seg.data(), {p.batch, p.q_len}, {p.q_len, 1}};
    in.kv_seg = {kv_seg.data(), {p.batch, p.kv_len}, {p.kv_len, 1}};
  }
  for (const Dense& d : dense) {
    const std::array<int64_t, 4> shape{
        d.per_row ? p.batch : 1, d.per_head ? p.q_heads : 1,
        d.rows != 0 ? d.rows : p.q_len, d.columns != 0 ? d.columns : p.kv_len};
    in.dense_masks.push_back({d.bits.data(), shape, DenseStrides(shape)});
  }
  return in;
}

MaskProblem RandomMaskProblem(std::mt19937& rng, const MaskLimits& limits) {
  MaskProblem result;
  AttentionForwardProblem& p = result.problem;
  p.batch = Draw(rng, 1, limits.max_batch);
  p.q_heads = Draw(rng, 1, limits.max_heads);
  p.q_len = Draw(rng, 1, limits.max_len);
  p.kv_len = Draw(rng, 0, 2) == 0 ? p.q_len : Draw(rng, 1, limits.max_len);
  p.align.kind = static_cast<Alignment::Kind>(Draw(rng, 0, 2));
  p.align.offset = Draw(rng, -10, 10);
  p.masks.clear();
  const int64_t masks = Draw(rng, 0, 1) ? p.q_heads : 1;
  for (int64_t h = 0; h < masks; ++h) p.masks.push_back(Tree(rng, 2, &result));
  p.segments = Draw(rng, 0, 1) != 0;
  if (p.segments) {
    const bool sorted = Draw(rng, 0, 1) != 0;
    const int64_t stay = Draw(rng, 0, 8);
    const int64_t period = Draw(rng, 1, limits.max_len);
    result.q_seg = Ids(rng, p.batch * p.q_len, period, stay, sorted);
    result.kv_seg = p.q_len == p.kv_len && Draw(rng, 0, 3) != 0
                        ? result.q_seg
                        : Ids(rng, p.batch * p.kv_len, period, stay, sorted);
  }
  if (Draw(rng, 0, 2) == 0) {
    for (int64_t b = 0; b < p.batch; ++b) {
      result.valid_q.push_back(Draw(rng, 0, p.q_len));
      result.valid_kv.push_back(Draw(rng, 0, p.kv_len));
    }
  }
  return result;
}

}  // namespace lockstep::test
