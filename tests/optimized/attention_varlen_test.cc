// Ragged batches have the bits of padded rows. No token behind the last row is
// read or written: each token is a page of memory, and access to those pages
// faults.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "reference/contract/attention_varlen.h"
#include "tests/support/attention_problem.h"
#include "tests/support/guarded_tokens.h"
#include "tests/support/order_problem.h"
#include "tests/support/runnable_targets.h"
#include "tests/support/volume.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::GuardedTokens;
using test::Instance;

LOCKSTEP_NAME_TARGETS_NOT_RUN();

// The bits of the instance as a ragged batch; absent queries keep what
// `expected` has.
std::vector<uint32_t> RunVarlen(Instance& instance, const Caps& caps,
                                std::vector<uint32_t> bits,
                                AttentionForwardExecution* execution) {
  const AttentionForwardProblem& p = instance.problem;
  AttentionForwardInputs in = instance.Inputs();
  const std::vector<int32_t> cu_q = test::StartsOf(instance.valid_q);
  const std::vector<int32_t> cu_kv = test::StartsOf(instance.valid_kv);
  GuardedTokens q(p.lane, p.q_heads, cu_q.back(), p.head_dim);
  GuardedTokens k(p.lane, p.kv_heads, cu_kv.back(), p.head_dim);
  GuardedTokens v(p.lane, p.kv_heads, cu_kv.back(), p.value_dim);
  GuardedTokens o(p.lane, p.q_heads, cu_q.back(), p.value_dim);
  GuardedTokens lse(Lane::kF32, p.q_heads, cu_q.back(), 1);
  test::Put(in.q, cu_q, q);
  test::Put(in.k, cu_kv, k);
  test::Put(in.v, cu_kv, v);
  in.q = q.const_view();
  in.k = k.const_view();
  in.v = v.const_view();
  const AttentionForwardOutputs out = {o.view, lse.Rows<float>()};
  const auto entries = static_cast<int64_t>(cu_q.size());
  const VarlenRows rows = {{cu_q.data(), {entries}, {1}},
                           {cu_kv.data(), {entries}, {1}}};
  const Status status =
      AttentionForward(p, in, rows, MakePlan(p, caps).value(), out, execution);
  EXPECT_TRUE(status.ok()) << status.message();
  const auto width = LaneBytes(p.lane);
  const int64_t lines = p.batch * p.q_heads * p.q_len;
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t b = line / (p.q_heads * p.q_len);
    const int64_t h = line / p.q_len % p.q_heads;
    const int64_t i = line % p.q_len;
    if (i >= instance.valid_q[static_cast<size_t>(b)]) continue;
    const int64_t token = cu_q[static_cast<size_t>(b)] + i;
    for (int64_t c = 0; c < p.value_dim; ++c) {
      uint32_t& to = bits[static_cast<size_t>(line * p.value_dim + c)];
      to = 0;
      std::memcpy(&to, o.At(h, token, c), width);
    }
    std::memcpy(&bits[static_cast<size_t>(lines * p.value_dim + line)],
                lse.At(h, token, 0), sizeof(float));
  }
  return bits;
}

TEST(AttentionVarlen, HasTheBitsOfPaddedRows) {
  const std::vector<std::string> targets = test::RunnableTargets();
  int64_t in_place = 0, visited = 0, empty = 0;
  for (uint32_t seed = 0; seed < test::Volume(300); ++seed) {
    std::mt19937 rng(seed);
    Instance instance = test::RandomInstance(rng);
    if (seed % 5 == 0) test::MakeF16(instance);
    AttentionForwardProblem& p = instance.problem;
    if (seed % 3 == 0) p.batch = Draw(rng, 1, 6);
    if (seed % 3 == 0) instance.dense.clear();
    if (seed % 3 == 0) p.masks = {MaskExpr{}};
    if (seed % 2 == 0) p.align.kind = Alignment::Kind::kBottomRight;
    if (seed % 4 == 0) p.split = Draw(rng, 1, 4);
    instance.Fill(rng);
    instance.valid_q = test::Lengths(rng, p.batch, p.q_len);
    instance.valid_kv = test::Lengths(rng, p.batch, p.kv_len);
    Caps caps;
    caps.target = targets[seed % targets.size()];
    caps.threads = static_cast<int>(1 + seed % 2);
    caps.tile_keys = 16 * Draw(rng, 1, 6);
    const std::vector<uint32_t> expected = instance.RunReference();
    AttentionForwardExecution execution;
    ASSERT_EQ(expected, RunVarlen(instance, caps, expected, &execution))
        << "seed " << seed;
    in_place += execution.tiles_in_place;
    visited += execution.tiles_full + execution.tiles_partial;
    empty += std::count(instance.valid_q.begin(), instance.valid_q.end(), 0);
  }
  EXPECT_GT(in_place, test::Volume(10));
  EXPECT_GT(visited - in_place, test::Volume(100));
  EXPECT_GT(empty, test::Volume(50));
}

// Tiles that a batch of such rows visits, and how many of them lie in place.
struct Visits {
  int64_t all = 0, in_place = 0;
};

Visits RunDocuments(const std::string& target,
                    const std::vector<int64_t>& lengths, uint32_t seed) {
  std::mt19937 rng(seed);
  Instance instance = test::RandomInstance(rng);
  AttentionForwardProblem& p = instance.problem;
  p.batch = std::ssize(lengths);
  p.q_len = p.kv_len = *std::max_element(lengths.begin(), lengths.end());
  p.q_heads = p.kv_heads = 2;
  p.head_dim = Draw(rng, 1, 40);
  p.value_dim = Draw(rng, 1, 40);
  p.split = 1;
  p.masks = {MaskExpr{}};
  if (seed % 2 == 0) p.masks[0].kind = MaskExpr::Kind::kCausal;
  p.align = {};
  instance.dense.clear();
  instance.Fill(rng);
  instance.valid_q = instance.valid_kv = lengths;
  Caps caps;
  caps.target = target;
  const std::vector<uint32_t> expected = instance.RunReference();
  AttentionForwardExecution execution;
  EXPECT_EQ(expected, RunVarlen(instance, caps, expected, &execution))
      << target << ", seed " << seed;
  return {execution.tiles_full + execution.tiles_partial,
          execution.tiles_in_place};
}

// Documents that fill a vector of rows are packed. Shorter ones lie in place,
// and so do those of a batch in which few are long. All have the same bits.
TEST(AttentionVarlen, DocumentsThatFillAVectorArePacked) {
  int64_t kept_in_place = 0, targets = 0;
  for (const std::string& target : test::RunnableTargets()) {
    const bool wide = target.starts_with("AVX3");
    if (!wide && target != "AVX2") continue;
    ++targets;
    const int64_t n = wide ? 16 : 8;
    for (uint32_t seed = 0; seed < 24; ++seed) {
      for (const std::vector<int64_t>& packed :
           {std::vector<int64_t>{n, n, n}, {n - 4, n, 0, n, n, n, n}}) {
        const Visits visits = RunDocuments(target, packed, seed);
        EXPECT_GT(visits.all, 0);
        EXPECT_EQ(visits.in_place, 0) << target << ", seed " << seed;
      }
      int64_t in_place = 0;
      for (const std::vector<int64_t>& kept :
           {std::vector<int64_t>{n / 2, n / 2}, {n, 1, 1, 2}}) {
        in_place += RunDocuments(target, kept, seed).in_place;
      }
      kept_in_place += in_place > 0 ? 1 : 0;
    }
  }
  EXPECT_GE(kept_in_place, 8 * targets);
}

// The dot instruction, and every order of sums.
TEST(AttentionVarlen, HasTheBitsOfEveryOrder) {
  for (uint32_t seed = 0; seed < test::Volume(40); ++seed) {
    std::mt19937 rng(seed);
    Instance instance = test::NextOrder(seed, 3, rng);
    instance.valid_q = test::Lengths(rng, 3, instance.problem.q_len);
    instance.valid_kv = {static_cast<int64_t>(1 + seed), 0, 70};
    Caps caps;
    caps.native_dot = seed % 3 == 0;
    const std::vector<uint32_t> expected = instance.RunReference();
    ASSERT_EQ(expected, RunVarlen(instance, caps, expected, nullptr))
        << "seed " << seed;
  }
}

TEST(AttentionVarlen, RefusesWhatDoesNotFit) {
  AttentionForwardProblem p;
  p.batch = 2;
  p.q_len = 3;
  p.kv_len = 4;
  p.head_dim = p.value_dim = 4;
  std::vector<float> tokens(64), lse(16);
  std::vector<int32_t> cu_q = {0, 3, 4}, cu_kv = {0, 1, 5};
  const LaneView view = {tokens.data(), Lane::kF32, {1, 1, 6, 4}, {0, 4, 4, 1}};
  AttentionForwardInputs in;
  in.q = in.k = in.v = view;
  in.valid_q = {3, 1};
  in.valid_kv = {1, 4};
  AttentionForwardOutputs out = {
      {tokens.data(), Lane::kF32, view.shape, view.strides},
      {lse.data(), {1, 1, 6}, {0, 6, 1}}};
  const VarlenRows rows = {{cu_q.data(), {3}, {1}}, {cu_kv.data(), {3}, {1}}};
  const auto why = [&] { return CheckVarlen(p, in, rows, out).message(); };
  EXPECT_EQ(why(), "");
  cu_q[1] = 2;
  EXPECT_EQ(why(), "cu_seqlens_q[1] is 2; want 3");
  cu_q[1] = 3;
  cu_kv[2] = 6;
  EXPECT_EQ(why(), "cu_seqlens_k[2] is 6; want 5");
  cu_kv[2] = 5;
  in.k.shape[2] = 4;
  EXPECT_EQ(why(), "cu_seqlens_k ends at 5; the tensors have 4 tokens");
  in.k.shape[2] = 6;
  in.v.strides[3] = 2;
  EXPECT_EQ(why(), "v has channels 2 elements apart; want 1");
  in.v.strides[3] = 1;
  out.o.strides[2] = 1;
  EXPECT_EQ(why(), "o overlaps itself: shape [1,1,6,4], strides [0,4,1,1]");
}

}  // namespace
}  // namespace lockstep::optimized
