// N21 (order=ampere, order=hopper): the vectors of every target give the
// reference's bits, for every plan; each limit of the guard is reached on
// purpose, and so are the steps that vectors leave to scalar code.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "optimized/unit_step.h"
#include "reference/matrix_unit.h"
#include "tests/support/attention_problem.h"
#include "tests/support/order_problem.h"
#include "tests/support/runnable_targets.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::Instance;
using test::RowsOfScores;

LOCKSTEP_NAME_TARGETS_NOT_RUN();

constexpr ProductOrder kOrders[] = {ProductOrder::kAmpere,
                                    ProductOrder::kHopper};

// Bits of bf16 whose exponents are within `spread` of `exponent`, special now
// and then.
uint16_t DrawFactor(std::mt19937& rng, int exponent, int spread) {
  const auto kind = Draw(rng, 0, 40);
  if (kind == 0) return static_cast<uint16_t>(Draw(rng, 0, 65535));
  if (kind < 4) return static_cast<uint16_t>(Draw(rng, 0, 1) << 15);
  const auto field =
      std::clamp<int64_t>(exponent + Draw(rng, -spread, spread), 0, 254);
  return static_cast<uint16_t>(Draw(rng, 0, 1) << 15 | field << 7 |
                               Draw(rng, 0, 127));
}

// The scalar twins, on any bits.
TEST(StepOrder, AStepHasTheReferencesBits) {
  std::mt19937 rng(21);
  for (int n = 0; n < 100000; ++n) {
    const UnitStep& step = *StepOf(kOrders[n % 2]);
    const auto count = static_cast<size_t>(Draw(rng, 1, step.products));
    // Products below the smallest normal number, next to a zero accumulator.
    const bool tiny = n % 8 < 2;
    const int spread = tiny ? 1 : 14;
    const auto x =
        static_cast<int>(tiny ? Draw(rng, 20, 90) : Draw(rng, 0, 254));
    const auto y =
        static_cast<int>(tiny ? Draw(rng, 104, 127) - x : Draw(rng, 0, 254));
    std::vector<uint32_t> a, b;
    for (size_t i = 0; i < count; ++i) {
      a.push_back(DrawFactor(rng, x, spread));
      b.push_back(DrawFactor(rng, y, spread));
    }
    const auto near = static_cast<uint32_t>(
        std::clamp<int64_t>(x + y - 127 + Draw(rng, -28, 28), 0, 255));
    uint32_t c = near << 23 | static_cast<uint32_t>(Draw(rng, 0, 0x7fffff));
    if (tiny || Draw(rng, 0, 4) == 0) c = 0;
    c |= static_cast<uint32_t>(Draw(rng, 0, 1)) << 31;
    const auto at = [](const std::vector<uint32_t>& bits) {
      return [&bits](int64_t i) {
        return std::bit_cast<float>(bits[static_cast<size_t>(i)] << 16);
      };
    };
    const float sum = AddUnitStep(step, static_cast<int64_t>(count), at(a),
                                  at(b), std::bit_cast<float>(c));
    uint32_t want =
        reference::AddStep(step, {kFormatBf16, kFormatF32}, a, b, c);
    if (want == 0x7fffffffu) want = kCanonicalNaNBits;
    ASSERT_EQ(std::bit_cast<uint32_t>(sum), want) << "draw " << n;
  }
}

Instance RandomSteps(std::mt19937& rng) {
  Instance instance = test::RandomInstance(rng);
  AttentionForwardProblem& p = instance.problem;
  p.lane = p.p_lane = Lane::kBf16;
  p.order = kOrders[Draw(rng, 0, 1)];
  // Numbers whose products leave what vectors can do, or the normal ones.
  constexpr float kSizes[] = {1.0f,     1.0f,     1.0f,      1.0f,    0x1p-52f,
                              0x1p-64f, 0x1p-66f, 0x1p-125f, 0x1p60f, 0x1p63f};
  for (auto* x : {&instance.q, &instance.k, &instance.v}) {
    const float size = kSizes[Draw(rng, 0, 9)];
    for (float& value : *x) value *= size;
  }
  if (Draw(rng, 0, 3) == 0) p.scale *= 0x1p120;
  if (Draw(rng, 0, 5) == 0) p.scale *= 0x1p-100;
  return instance;
}

TEST(StepOrder, EveryTargetHasTheReferencesBits) {
  AttentionForwardExecution total;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    std::mt19937 rng(seed);
    Instance instance = RandomSteps(rng);
    const std::vector<uint32_t> expected = instance.RunReference();
    for (const std::string& target : test::RunnableTargets()) {
      Caps caps;
      caps.target = target;
      caps.threads = static_cast<int>(Draw(rng, 1, 2));
      if (Draw(rng, 0, 1)) caps.tile_rows = Draw(rng, 1, 80);
      if (Draw(rng, 0, 1)) caps.tile_keys = 16 * Draw(rng, 1, 8);
      AttentionForwardExecution ran;
      ASSERT_EQ(expected, instance.RunOptimized(caps, &ran))
          << "seed " << seed << ", "
          << MakePlan(instance.problem, caps).value().ToString();
      total.rows_fixed += ran.rows_fixed;
      total.rows_online += ran.rows_online;
      total.rows_redone += ran.rows_redone;
    }
  }
  EXPECT_GT(total.rows_fixed, 1500);
  EXPECT_GT(total.rows_online, 1500);
  EXPECT_GT(total.rows_redone, 1500);
}

TEST(StepOrder, BitsDoNotDependOnThePlan) {
  std::mt19937 rng(7);
  for (const ProductOrder order : kOrders) {
    Instance instance = test::ManyTiles(order, rng);
    test::ExpectBitsOfEveryPlan(instance);
  }
}

// On every target; rows that were redone on each.
int64_t Redone(Instance& t) {
  int64_t redone = -1;
  for (const std::string& target : test::RunnableTargets()) {
    AttentionForwardExecution ran;
    Caps caps;
    caps.target = target;
    caps.tile_keys = 32;
    EXPECT_EQ(t.RunReference(), t.RunOptimized(caps, &ran)) << target;
    EXPECT_TRUE(redone < 0 || redone == ran.rows_redone) << target;
    redone = ran.rows_redone;
  }
  return redone;
}

// D + 64 - 8 + eV - 7 = -149 is the last that holds: every product is then a
// multiple of the smallest number. The keys that raise the maximum come later
// and have no values, so that sums stay at the bottom of the range.
TEST(StepOrder, OnlineGuardEndsAtTheSmallestNumber) {
  for (const ProductOrder order : kOrders) {
    for (const int exponent : {-9, -20, -60, -100}) {
      // D = -198 - eV holds; all are above the -189 of N9's other limit.
      const auto last = static_cast<float>(-198 - exponent);
      for (const float below : {0.0f, 1.0f, 9.0f}) {
        std::vector<float> u(64, 0.0f), v(64, 0.0f);
        for (size_t j = 0; j < 24; ++j) {
          u[j] = last - below + (j < 2 ? 0.0f : 1.0f);
          v[j] = std::ldexp(j % 3 == 0 ? 1.0f : -1.9921875f, exponent);
        }
        Instance t = RowsOfScores(order, u, v);
        const bool zero = last - below < -189;
        EXPECT_EQ(Redone(t), below == 0 && !zero ? 0 : 4)
            << OrderName(order) << " eV " << exponent << " below " << below;
      }
    }
  }
}

// The other limit, of the weights' own exponents.
TEST(StepOrder, OnlineGuardEndsWhereWeightsBecomeZero) {
  for (const ProductOrder order : kOrders) {
    for (const float lowest : {-189.0f, -190.0f}) {
      std::vector<float> u(64, 0.0f), v(64, 0x1p20f);
      u[3] = lowest;
      Instance t = RowsOfScores(order, u, v);
      EXPECT_EQ(Redone(t), lowest == -189.0f ? 0 : 4) << lowest;
    }
  }
}

// Sums that are not finite are redone with smaller weights, in steps too.
TEST(StepOrder, OverflowIsRedoneSmaller) {
  for (const ProductOrder order : kOrders) {
    for (const bool cap : {false, true}) {
      std::vector<float> u(64), v(64);
      for (size_t j = 0; j < 64; ++j) {
        u[j] = static_cast<float>(j % 7);
        v[j] = j % 3 == 0 ? 3e38f : -2.9e38f;
      }
      Instance t = RowsOfScores(order, u, v);
      if (cap) t.problem.softcap = 50.0;
      EXPECT_EQ(Redone(t), 4);
    }
  }
}

// Masked keys in a step with visible ones: NaN must not come through.
TEST(StepOrder, MaskedNaNChangesNothing) {
  for (const ProductOrder order : kOrders) {
    std::vector<float> u(64, 1.0f), v(64, 1.5f);
    Instance t = RowsOfScores(order, u, v);
    t.problem.masks[0].kind = MaskExpr::Kind::kCausal;
    t.problem.align = {Alignment::Kind::kOffset, 40};
    Redone(t);
    const std::vector<uint32_t> clean = t.RunReference();
    for (size_t j = 44; j < 64; ++j) {
      t.k[j] = t.v[j] = std::nanf("");
    }
    EXPECT_EQ(Redone(t), 4);
    EXPECT_EQ(t.RunReference(), clean);
  }
}

// Sixteen products whose integers, or with the accumulator's, pass 2^31.
TEST(StepOrder, LargestSumsOfAStep) {
  for (const ProductOrder order : kOrders) {
    for (const float sign : {1.0f, -1.0f}) {
      Instance t = RowsOfScores(order, std::vector<float>(48, 0.0f),
                                std::vector<float>(48, sign * 1.9921875f));
      AttentionForwardProblem& p = t.problem;
      p.head_dim = 48;
      p.scale = 0.001;
      // The first step leaves less than 2, and each of the others adds 63.5.
      t.q.assign(4 * 48, 1.9921875f);
      for (size_t i = 0; i < t.q.size(); ++i) {
        if (i % 48 < 16) t.q[i] = i % 48 == 0 ? 1.0f : 0.0f;
      }
      t.k.assign(48 * 48, sign * 1.9921875f);
      EXPECT_EQ(Redone(t), 0);
    }
  }
}

// A product of a subnormal factor counts with the smallest exponent: the
// others, one bit below what the step keeps, are cut. The scale makes it seen
// in lse.
TEST(StepOrder, SubnormalFactorsHaveTheSmallestExponent) {
  for (const ProductOrder order : kOrders) {
    Instance t = RowsOfScores(order, {0.0f}, {1.0f});
    t.problem.head_dim = 8;
    t.problem.scale = 64.0;
    t.k.assign(8, std::ldexp(1.9921875f, -StepOf(order)->fraction));
    t.k[0] = 0x1p127f;
    t.q.assign(4 * 8, 1.0f);
    for (size_t i = 0; i < t.q.size(); i += 8) t.q[i] = 0x1p-127f;
    EXPECT_EQ(Redone(t), 0);
  }
}

// Keys of which the block's first query sees only those behind a step's first:
// key 15 adds 1 between what puts 2^F in and what takes it away.
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
  for (const ProductOrder order : kOrders) {
    std::vector<float> v(64, 0.0f);
    v[14] = std::ldexp(1.0f, StepOf(order)->fraction);
    v[15] = 1.0f;
    v[16] = -v[14];
    Instance t = WindowWithinAStep(order, v);
    EXPECT_EQ(Redone(t), 0);
    EXPECT_EQ(t.RunReference()[0], 0u);
  }
}

// By the letter, too. The other channel overflows: vectors do not finish such
// rows.
TEST(StepOrder, RowsByTheLetterKeepTheirSteps) {
  for (const ProductOrder order : kOrders) {
    std::vector<float> v(2 * 64, 0.0f);
    for (size_t j = 0; j < 64; ++j) v[2 * j] = 3e38f;
    v[2 * 14 + 1] = std::ldexp(1.0f, StepOf(order)->fraction);
    v[2 * 15 + 1] = 1.0f;
    v[2 * 16 + 1] = -v[2 * 14 + 1];
    Instance t = WindowWithinAStep(order, v);
    t.problem.value_dim = 2;
    EXPECT_EQ(Redone(t), 4);
    EXPECT_EQ(t.RunReference()[1], 0u);
  }
}

// Products far below the smallest normal number: a zero sum counts as e0 beside
// them. The scale makes a score of 2^-149 be seen in lse.
TEST(StepOrder, ZerosCountAsTheUnitSays) {
  for (const ProductOrder order : kOrders) {
    Instance t = RowsOfScores(order, {0.0f}, {1.0f});
    t.problem.head_dim = 16;
    t.problem.scale = 0x1p127;
    t.q.assign(4 * 16, 0x1p-76f);
    t.k.assign(16, 1.9921875f * 0x1p-76f);
    Redone(t);
    const std::vector<uint32_t> seen = t.RunReference();
    t.k.assign(16, 0.0f);
    EXPECT_NE(seen, t.RunReference());
  }
}

// What the orders are about: 2^-24 beside 1 in one step, and what a smaller
// step or another cut leaves of it.
TEST(StepOrder, OrdersDiffer) {
  const auto o_of = [](ProductOrder order, std::vector<float> v) {
    std::vector<float> u(v.size(), 0.0f);
    Instance t = RowsOfScores(order, u, v);
    Redone(t);
    return std::bit_cast<float>(t.RunReference()[0] << 16);
  };
  using enum ProductOrder;
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

TEST(StepOrder, PlansSayHow) {
  Instance t = RowsOfScores(ProductOrder::kHopper, std::vector<float>(64, 1.0f),
                            std::vector<float>(64, 1.0f));
  Plan plan = MakePlan(t.problem, {}).value();
  EXPECT_NE(plan.ToString().find(" dot=steps"), std::string::npos);
  EXPECT_TRUE(t.RunPlan(plan).ok());
  t.problem.order = ProductOrder::kChain;
  EXPECT_NE(t.RunPlan(plan).message().find("is not one of order=chain"),
            std::string::npos);
  t.problem.order = ProductOrder::kAmx;
  EXPECT_NE(t.RunPlan(plan).message().find("is not one of order=amx"),
            std::string::npos);
  t.problem.order = ProductOrder::kHopper;
  plan.blocks = BlockForm::kNone;
  EXPECT_NE(t.RunPlan(plan).message().find("is not one of order=hopper"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::optimized
