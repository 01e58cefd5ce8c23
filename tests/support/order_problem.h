// Problems on which an order of products (N20, N21) can be told from others,
// and draws of the orders that SIMD kernels have.
#ifndef LOCKSTEP_TESTS_SUPPORT_ORDER_PROBLEM_H_
#define LOCKSTEP_TESTS_SUPPORT_ORDER_PROBLEM_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/plan.h"
#include "tests/support/attention_problem.h"
#include "tests/support/runnable_targets.h"

namespace lockstep::test {

inline constexpr ProductOrder kEveryOrder[] = {ProductOrder::kChain,
                                               ProductOrder::kAmx};

inline Instance InOrder(ProductOrder order) {
  Instance instance;
  instance.problem.lane = instance.problem.p_lane = Lane::kBf16;
  instance.problem.order = order;
  return instance;
}

// Causal, with many tiles of every size.
inline Instance ManyTiles(ProductOrder order, std::mt19937& rng) {
  Instance instance = InOrder(order);
  AttentionForwardProblem& p = instance.problem;
  p.q_heads = 4;
  p.kv_heads = 2;
  p.q_len = 37;
  p.kv_len = 201;
  p.head_dim = 70;
  p.value_dim = 41;
  p.masks[0].kind = MaskExpr::Kind::kCausal;
  p.align.kind = Alignment::Kind::kBottomRight;
  instance.Fill(rng, 3.0f);
  return instance;
}

// A problem with few queries. `seed` steps through every order and through one
// to three parts.
inline Instance NextOrder(uint32_t seed, int64_t batch, std::mt19937& rng) {
  Instance instance = InOrder(kEveryOrder[seed % 2]);
  AttentionForwardProblem& p = instance.problem;
  p.batch = batch;
  p.q_heads = 4;
  p.kv_heads = 2;
  p.q_len = 1 + seed % 9;
  p.kv_len = 70;
  p.head_dim = 33;
  p.value_dim = 20;
  p.split = 1 + seed / 2 % 3;
  instance.Fill(rng);
  return instance;
}

// A random problem with any feature of the contract, in two parts or more.
inline Instance RandomParts(std::mt19937& rng) {
  Instance t = RandomInstance(rng);
  AttentionForwardProblem& p = t.problem;
  while (p.kv_len <= kStripes) t = RandomInstance(rng);
  if (p.lane == Lane::kBf16 && p.p_lane == Lane::kBf16) {
    p.order = kEveryOrder[Draw(rng, 0, 1)];
  } else if (Draw(rng, 0, 3) == 0) {
    MakeF16(t);
  }
  p.split = Draw(rng, 2, 12);
  // With few rows, keys and values are read in place.
  if (Draw(rng, 0, 2) == 0) {
    p.q_len = std::min<int64_t>(p.q_len, 1 + p.q_len % 3);
    for (int64_t& count : t.valid_q) count = std::min(count, p.q_len);
  }
  return t;
}

// Expects the reference's bits from every target, with tiles of many sizes.
inline void ExpectBitsOfEveryPlan(Instance& t) {
  const std::vector<uint32_t> expected = t.RunReference();
  for (const std::string& target : RunnableTargets()) {
    for (const int64_t tile_rows : {1, 7, 16, 48, 500}) {
      for (const int64_t tile_keys : {16, 32, 48, 96, 512}) {
        optimized::Caps caps;
        caps.target = target;
        caps.threads = tile_rows % 2 == 0 ? 2 : 1;
        caps.tile_rows = tile_rows;
        caps.tile_keys = tile_keys;
        EXPECT_EQ(expected, t.RunOptimized(caps))
            << MakePlan(t.problem, caps).value().ToString();
      }
    }
  }
}

// Rows of keys whose scores, in units of log2, are the integers `u`.
inline Instance RowsOfScores(ProductOrder order, const std::vector<float>& u,
                             const std::vector<float>& v) {
  Instance t = InOrder(order);
  t.problem.q_len = 4;
  t.problem.kv_len = static_cast<int64_t>(u.size());
  t.problem.scale = std::log(2.0);
  t.q.assign(4, 1.0f);
  t.k = u;
  t.v = v;
  return t;
}

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_ORDER_PROBLEM_H_
