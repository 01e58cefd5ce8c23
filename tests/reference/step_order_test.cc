// N21 (order=ampere, order=hopper): the steps of these orders, seen in outputs.
// The sums of one step are held against those of GPUs by tests/units/.
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "tests/support/order_problem.h"

namespace lockstep::reference {
namespace {

using test::Instance;
using test::RowsOfScores;
using enum ProductOrder;

float FirstOutput(Instance& t) {
  return std::bit_cast<float>(t.RunReference()[0] << 16);
}

// The block's first query sees only keys behind a step's first: key 15 adds 1
// between what puts 2^F in and what takes it away.
Instance WindowWithinAStep(ProductOrder order, std::vector<float> v) {
  Instance t = RowsOfScores(order, std::vector<float>(64, 0.0f), std::move(v));
  MaskExpr& window = t.problem.masks[0];
  window.kind = MaskExpr::Kind::kWindow;
  window.left = 37;
  window.right = 0;
  t.problem.align = {Alignment::Kind::kOffset, 46};
  return t;
}

// A step is the keys from one multiple of L to the next, seen or not. A step
// ends between 1 and what takes 2^F away, so 1 is lost.
TEST(StepOrder, RowsKeepTheirSteps) {
  for (const ProductOrder order : {kAmpere, kHopper}) {
    std::vector<float> v(64, 0.0f);
    v[14] = std::ldexp(1.0f, StepOf(order)->fraction);
    v[15] = 1.0f;
    v[16] = -v[14];
    Instance t = WindowWithinAStep(order, v);
    EXPECT_EQ(t.RunReference()[0], 0u);
  }
}

// Products far below the smallest normal number: a zero sum counts as e0 beside
// them. The scale makes a score of 2^-149 be seen in lse.
TEST(StepOrder, ZerosCountAsTheUnitSays) {
  for (const ProductOrder order : {kAmpere, kHopper}) {
    Instance t = RowsOfScores(order, {0.0f}, {1.0f});
    t.problem.head_dim = 16;
    t.problem.scale = 0x1p127;
    t.q.assign(4 * 16, 0x1p-76f);
    t.k.assign(16, 1.9921875f * 0x1p-76f);
    const std::vector<uint32_t> seen = t.RunReference();
    t.k.assign(16, 0.0f);
    EXPECT_NE(seen, t.RunReference());
  }
}

// 2^-24 beside 1 in one step, and what a smaller step or another cut leaves of
// it.
TEST(StepOrder, OrdersDiffer) {
  const auto o_of = [](ProductOrder order, const std::vector<float>& v) {
    Instance t = RowsOfScores(order, std::vector<float>(v.size(), 0.0f), v);
    return FirstOutput(t);
  };
  std::vector<float> v(32, 0.0f);
  v[0] = 0x1p25f;
  v[1] = 1.0f;
  v[2] = -0x1p25f;
  EXPECT_EQ(o_of(kHopper, v), 1.0f / 32);
  EXPECT_EQ(o_of(kAmpere, v), 0.0f);
  v[0] = 0x1p24f;
  v[2] = 0.0f;
  v[12] = -0x1p24f;
  EXPECT_EQ(o_of(kHopper, v), 1.0f / 32);
  EXPECT_EQ(o_of(kAmpere, v), 0.0f);
  v[1] = 2.0f;
  EXPECT_EQ(o_of(kAmpere, v), 2.0f / 32);
}

// A plan of another order does not compute what the problem asks.
TEST(StepOrder, NoPlanServesIt) {
  Instance t = RowsOfScores(kChain, std::vector<float>(64, 1.0f),
                            std::vector<float>(64, 1.0f));
  const auto plan = optimized::MakePlan(t.problem, {});
  if (!plan.ok()) GTEST_SKIP() << plan.message();
  EXPECT_TRUE(t.RunPlan(plan.value()).ok());
  t.problem.order = kHopper;
  EXPECT_NE(
      t.RunPlan(plan.value()).message().find("is not one of order=hopper"),
      std::string::npos);
}

}  // namespace
}  // namespace lockstep::reference
