// Gradients of ragged batches have the bits of padded rows, and no token behind
// the last row is read or written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "optimized/attention_backward.h"
#include "optimized/plan.h"
#include "reference/contract/attention_varlen.h"
#include "tests/support/attention_backward_problem.h"
#include "tests/support/guarded_tokens.h"
#include "tests/support/runnable_targets.h"
#include "tests/support/volume.h"

namespace lockstep::optimized {
namespace {

using test::BackwardInstance;
using test::Draw;
using test::Gradients;
using test::GuardedTokens;

// The number of problems; LOCKSTEP_BACKWARD_PROBLEMS asks for more.
uint32_t Problems() {
  const char* asked = std::getenv("LOCKSTEP_BACKWARD_PROBLEMS");
  return asked ? static_cast<uint32_t>(std::strtoul(asked, nullptr, 10))
               : test::Volume(300);
}

LaneView RowsAsLanes(const TensorView<const float, 3>& x) {
  return {x.data,
          Lane::kF32,
          {x.shape[0], x.shape[1], x.shape[2], 1},
          {x.strides[0], x.strides[1], x.strides[2], 1}};
}

// Copies the gradient's rows that exist to `bits` of a dense one.
void TakeBits(const GuardedTokens& from, const std::vector<int32_t>& starts,
              int64_t extent, uint32_t* bits) {
  const auto& n = from.view.shape;
  const auto width = LaneBytes(from.view.lane);
  for (size_t b = 0; b + 1 < starts.size(); ++b) {
    for (int64_t h = 0; h < n[1]; ++h) {
      for (int64_t i = 0; i < starts[b + 1] - starts[b]; ++i) {
        const int64_t line = (static_cast<int64_t>(b) * n[1] + h) * extent + i;
        for (int64_t c = 0; c < n[3]; ++c) {
          uint32_t& to = bits[line * n[3] + c];
          to = 0;
          std::memcpy(&to, from.At(h, starts[b] + i, c), width);
        }
      }
    }
  }
}

// The bits of the instance as a ragged batch; gradients of absent rows keep
// what `bits` has.
std::vector<uint32_t> RunGradients(BackwardInstance& t, const Caps& caps,
                                   std::vector<uint32_t> bits,
                                   AttentionBackwardExecution* execution) {
  const AttentionBackwardProblem problem = t.Problem();
  const AttentionForwardProblem& p = problem.forward;
  AttentionBackwardInputs in = t.Inputs();
  const std::vector<int32_t> cu_q = test::StartsOf(t.forward.valid_q);
  const std::vector<int32_t> cu_kv = test::StartsOf(t.forward.valid_kv);
  const int64_t queries = cu_q.back(), keys = cu_kv.back();
  GuardedTokens q(p.lane, p.q_heads, queries, p.head_dim);
  GuardedTokens k(p.lane, p.kv_heads, keys, p.head_dim);
  GuardedTokens v(p.lane, p.kv_heads, keys, p.value_dim);
  GuardedTokens o(p.lane, p.q_heads, queries, p.value_dim);
  GuardedTokens d_o(p.lane, p.q_heads, queries, p.value_dim);
  GuardedTokens lse(Lane::kF32, p.q_heads, queries, 1);
  GuardedTokens dlse(Lane::kF32, p.q_heads, queries, 1);
  test::Put(in.forward.q, cu_q, q);
  test::Put(in.forward.k, cu_kv, k);
  test::Put(in.forward.v, cu_kv, v);
  test::Put(in.o, cu_q, o);
  test::Put(in.d_o, cu_q, d_o);
  test::Put(RowsAsLanes(in.lse), cu_q, lse);
  if (problem.dlse) test::Put(RowsAsLanes(in.dlse), cu_q, dlse);
  in.forward.q = q.const_view();
  in.forward.k = k.const_view();
  in.forward.v = v.const_view();
  in.o = o.const_view();
  in.d_o = d_o.const_view();
  in.lse = lse.Rows<const float>();
  if (problem.dlse) in.dlse = dlse.Rows<const float>();
  GuardedTokens dq(t.grad_lane, p.q_heads, queries, p.head_dim);
  GuardedTokens dk(t.grad_lane, p.kv_heads, keys, p.head_dim);
  GuardedTokens dv(t.grad_lane, p.kv_heads, keys, p.value_dim);
  Gradients dense(problem);
  const AttentionBackwardOutputs out = {dq.view, dk.view, dv.view,
                                        dense.View().dsink};
  const auto entries = static_cast<int64_t>(cu_q.size());
  const VarlenRows rows = {{cu_q.data(), {entries}, {1}},
                           {cu_kv.data(), {entries}, {1}}};
  const Status status = AttentionBackward(
      problem, in, rows, MakePlan(problem, caps).value(), out, execution);
  EXPECT_TRUE(status.ok()) << status.message();
  uint32_t* at = bits.data();
  TakeBits(dq, cu_q, p.q_len, at);
  at += p.batch * p.q_heads * p.q_len * p.head_dim;
  TakeBits(dk, cu_kv, p.kv_len, at);
  at += p.batch * p.kv_heads * p.kv_len * p.head_dim;
  TakeBits(dv, cu_kv, p.kv_len, at);
  at += p.batch * p.kv_heads * p.kv_len * p.value_dim;
  for (size_t h = 0; h < dense.dsink.size(); ++h) {
    std::memcpy(at + h, &dense.dsink[h], sizeof(float));
  }
  return bits;
}

TEST(AttentionBackwardVarlen, HasTheBitsOfPaddedRows) {
  const std::vector<std::string> targets = test::RunnableTargets();
  AttentionBackwardExecution total;
  int64_t empty = 0;
  for (uint32_t seed = 0; seed < Problems(); ++seed) {
    std::mt19937 rng(seed);
    BackwardInstance t = test::RandomBackward(rng);
    const AttentionForwardProblem& p = t.forward.problem;
    t.forward.valid_q = test::Lengths(rng, p.batch, p.q_len);
    t.forward.valid_kv = test::Lengths(rng, p.batch, p.kv_len);
    t.Fill(rng);
    // Rows that do not exist add nothing to dsink.
    for (size_t n = 0; n < t.lse.size(); ++n) {
      const auto line = static_cast<int64_t>(n);
      const int64_t b = line / (p.q_heads * p.q_len);
      const bool there =
          line % p.q_len < t.forward.valid_q[static_cast<size_t>(b)];
      if (!there) t.lse[n] = -std::numeric_limits<float>::infinity();
    }
    Caps caps;
    caps.target = targets[seed % targets.size()];
    caps.threads = static_cast<int>(1 + seed / targets.size() % 3);
    if (seed % 2 == 0) caps.tile_rows = Draw(rng, 1, 80);
    caps.tile_keys = 16 * Draw(rng, 1, 6);
    const std::vector<uint32_t> expected = t.RunReference().Bits();
    AttentionBackwardExecution one;
    ASSERT_EQ(expected, RunGradients(t, caps, expected, &one))
        << "seed " << seed;
    total.tiles_full += one.tiles_full;
    total.tiles_partial += one.tiles_partial;
    total.tiles_by_pair += one.tiles_by_pair;
    empty += std::count(t.forward.valid_q.begin(), t.forward.valid_q.end(), 0);
    empty +=
        std::count(t.forward.valid_kv.begin(), t.forward.valid_kv.end(), 0);
  }
  EXPECT_GT(total.tiles_full, test::Volume(8));
  EXPECT_GT(total.tiles_partial, test::Volume(100));
  EXPECT_GT(total.tiles_by_pair, 0);
  EXPECT_GT(empty, test::Volume(100));
}

}  // namespace
}  // namespace lockstep::optimized
