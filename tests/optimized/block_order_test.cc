// N20 (order=amx): the matrix unit, the emulation that flushes and the one that
// is guarded give the reference's bits; each of the guards' limits is reached
// on purpose.
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/attention_forward.h"
#include "optimized/matrix_unit.h"
#include "optimized/plan.h"
#include "optimized/simd/flush_scope.h"
#include "tests/support/attention_problem.h"
#include "tests/support/order_problem.h"
#include "tests/support/runnable_targets.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::Instance;

LOCKSTEP_NAME_TARGETS_NOT_RUN();

TEST(BlockOrder, TheMatrixUnitRuns) {
  if (!TheMatrixUnit().usable) GTEST_SKIP() << TheMatrixUnit().why_not;
  for (const Target& target : Targets()) {
    EXPECT_EQ(target.matrix_unit,
              target.supported && TakesMatrixUnit(target.name))
        << target.name;
  }
}

struct Form {
  std::optional<bool> native;
  std::optional<bool> flush;
};
constexpr Form kForms[] = {{true, {}}, {false, true}, {false, false}};

Caps CapsOf(const Form& form, const std::string& target) {
  Caps caps;
  caps.target = target;
  caps.native_dot = form.native;
  caps.flush = form.flush;
  return caps;
}

Instance RandomBlocks(std::mt19937& rng) {
  Instance instance = test::RandomInstance(rng);
  AttentionForwardProblem& p = instance.problem;
  p.lane = p.p_lane = Lane::kBf16;
  p.order = ProductOrder::kAmx;
  // Numbers whose products, or the values themselves, are flushed.
  constexpr float kSizes[] = {1.0f,     1.0f,     1.0f,     0x1p-60f,
                              0x1p-64f, 0x1p-66f, 0x1p-125f};
  for (auto* x : {&instance.q, &instance.k, &instance.v}) {
    const float size = kSizes[Draw(rng, 0, 6)];
    for (float& value : *x) value *= size;
  }
  if (Draw(rng, 0, 3) == 0) p.scale *= 0x1p126;
  return instance;
}

TEST(BlockOrder, EveryFormHasTheReferencesBits) {
  AttentionForwardExecution total;
  int64_t emulated = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    std::mt19937 rng(seed);
    Instance instance = RandomBlocks(rng);
    const std::vector<uint32_t> expected = instance.RunReference();
    for (const std::string& target : test::RunnableTargets()) {
      for (const Form& form : kForms) {
        Caps caps = CapsOf(form, target);
        caps.threads = static_cast<int>(Draw(rng, 1, 2));
        if (Draw(rng, 0, 1)) caps.tile_rows = Draw(rng, 1, 80);
        if (Draw(rng, 0, 1)) caps.tile_keys = 16 * Draw(rng, 1, 8);
        AttentionForwardExecution ran;
        ASSERT_EQ(expected, instance.RunOptimized(caps, &ran))
            << "seed " << seed << ", "
            << MakePlan(instance.problem, caps).value().ToString();
        EXPECT_NE(ran.products, "");
        total.rows_fixed += ran.rows_fixed;
        total.rows_online += ran.rows_online;
        total.rows_redone += ran.rows_redone;
        total.tiles_matrix += ran.tiles_matrix;
        emulated += ran.products.starts_with("emulation: ");
      }
    }
  }
  EXPECT_GT(total.rows_fixed, 10000);
  EXPECT_GT(total.rows_online, 10000);
  EXPECT_GT(total.rows_redone, 10000);
  EXPECT_GT(emulated, 1000);
  bool unit = false;
  for (const Target& target : Targets()) unit |= target.matrix_unit;
  if (unit) {
    EXPECT_GT(total.tiles_matrix, 1000);
  }
}

TEST(BlockOrder, BitsDoNotDependOnThePlan) {
  std::mt19937 rng(7);
  Instance instance = test::ManyTiles(ProductOrder::kAmx, rng);
  const std::vector<uint32_t> expected = instance.RunReference();
  for (const std::string& target : test::RunnableTargets()) {
    for (const Form& form : kForms) {
      for (const int64_t tile_rows : {1, 7, 16, 17, 32, 48, 74, 500}) {
        for (const int64_t tile_keys : {16, 32, 96, 208, 512}) {
          Caps caps = CapsOf(form, target);
          caps.tile_rows = tile_rows;
          caps.tile_keys = tile_keys;
          EXPECT_EQ(expected, instance.RunOptimized(caps))
              << MakePlan(instance.problem, caps).value().ToString();
        }
      }
    }
  }
}

Instance Scores(const std::vector<float>& u, const std::vector<float>& v) {
  return test::RowsOfScores(ProductOrder::kAmx, u, v);
}

int64_t Redone(Instance& t, const Form& form) {
  AttentionForwardExecution ran;
  Caps caps = CapsOf(form, "");
  caps.tile_keys = 32;
  EXPECT_EQ(t.RunReference(), t.RunOptimized(caps, &ran));
  return ran.rows_redone;
}

// D + 64 - 8 + eV - 7 = -126 is the last that holds. The row's first tile has
// products that the final maximum makes tiny: one binary order further down a
// product of that tile is flushed in the two-pass form, and was added online.
TEST(BlockOrder, OnlineGuardEndsAtTheSmallestNormalNumber) {
  for (const Form& form : kForms) {
    for (const int exponent : {-60, -20, 10}) {
      // D = -175 - eV holds; all are above the -189 of N9's other limit.
      const auto last = static_cast<float>(-175 - exponent);
      for (const float below : {0.0f, 1.0f, 9.0f}) {
        std::vector<float> u(64, 0.0f), v(64, 0.0f);
        u[0] = u[1] = last - below;
        v[0] = v[1] = std::ldexp(1.0f, exponent);
        Instance t = Scores(u, v);
        EXPECT_EQ(Redone(t, form), below == 0 ? 0 : 4)
            << "eV " << exponent << " below " << below;
      }
    }
  }
}

// Weights of 2^-72 on the fixed-m path, values that make products of 2^-128: an
// order without flushes has an output.
TEST(BlockOrder, FlushedProductsShow) {
  for (const Form& form : kForms) {
    Instance t = Scores(std::vector<float>(64, -120.0f),
                        std::vector<float>(64, 0x1p-56f));
    t.problem.softcap = 50.0;
    t.problem.scale = 100.0;  // far beyond the cap
    EXPECT_EQ(Redone(t, form), form.flush == false ? 4 : 0);
    EXPECT_EQ(t.RunReference()[0], 0u);
    t.problem.order = ProductOrder::kChain;
    EXPECT_NE(t.RunReference()[0], 0u);
  }
}

// The other limit, of the weights' own exponents.
TEST(BlockOrder, OnlineGuardEndsWhereWeightsBecomeZero) {
  for (const Form& form : kForms) {
    for (const float lowest : {-189.0f, -190.0f}) {
      std::vector<float> u(64, 0.0f), v(64, 0x1p20f);
      u[3] = lowest;
      Instance t = Scores(u, v);
      EXPECT_EQ(Redone(t, form), lowest == -189.0f ? 0 : 4) << lowest;
    }
  }
}

// Sums that are not finite are redone with smaller weights, in blocks too.
TEST(BlockOrder, OverflowIsRedoneSmaller) {
  for (const Form& form : kForms) {
    for (const bool cap : {false, true}) {
      std::vector<float> u(64), v(64);
      for (size_t j = 0; j < 64; ++j) {
        u[j] = static_cast<float>(j % 7);
        v[j] = j % 3 == 0 ? 3e38f : -2.9e38f;
      }
      Instance t = Scores(u, v);
      if (cap) t.problem.softcap = 50.0;
      EXPECT_EQ(Redone(t, form), 4);
    }
  }
}

// Masked keys in a block with visible ones: NaN must not come through.
TEST(BlockOrder, MaskedNaNChangesNothing) {
  for (const Form& form : kForms) {
    std::vector<float> u(64, 1.0f), v(64, 1.5f);
    Instance t = Scores(u, v);
    t.problem.masks[0].kind = MaskExpr::Kind::kCausal;
    t.problem.align = {Alignment::Kind::kOffset, 40};
    Redone(t, form);
    const std::vector<uint32_t> clean = t.RunReference();
    for (size_t j = 44; j < 64; ++j) {
      t.k[j] = t.v[j] = std::nanf("");
    }
    EXPECT_EQ(Redone(t, form), 4);
    EXPECT_EQ(t.RunReference(), clean);
  }
}

// Without flushing: products that would be flushed, and values that would,
// leave the fast path; others do not.
TEST(BlockOrder, GuardedFormLeavesWhatWouldBeFlushed) {
  const Form guarded{false, false};
  std::vector<float> u(64, 1.0f), v(64, 1.5f);
  struct {
    float q, k, v;
    bool holds;
  } rows[] = {{1, 1, 1, true},
              {0x1p-56f, 0x1p-56f, 1, true},
              {0x1p-57f, 0x1p-56f, 1, false},
              {0x1p-127f, 1, 1, false},
              {1, 0x1p-127f, 1, false},
              {1, 1, 0x1p-127f, false},
              {1, 1, 0x1p-30f, true},
              {0, 0, 0, true}};
  for (const bool cap : {false, true}) {
    for (const auto& row : rows) {
      Instance t = Scores(u, v);
      if (cap) t.problem.softcap = 50.0;
      for (float& x : t.q) x = row.q;
      for (float& x : t.k) x = row.k;
      for (float& x : t.v) x = row.v;
      EXPECT_EQ(Redone(t, guarded), row.holds ? 0 : 4)
          << row.q << " " << row.k << " " << row.v;
    }
  }
  // Fixed-m path: eV >= round(C) - 111, C = 72.1.
  for (const int exponent : {-39, -40}) {
    Instance t = Scores(u, std::vector<float>(64, std::ldexp(1.0f, exponent)));
    t.problem.softcap = 50.0;
    EXPECT_EQ(Redone(t, guarded), exponent == -39 ? 0 : 4);
  }
}

TEST(BlockOrder, FlushingEndsWithItsScope) {
  if (!kCanFlush) GTEST_SKIP() << "this processor has no such mode";
  volatile float half = 0x1p-126f;
  volatile float same = half * 0.5f;
  EXPECT_NE(same, 0.0f);
  {
    const FlushScope flush(true);
    same = half * 0.5f;
    EXPECT_EQ(std::bit_cast<uint32_t>(static_cast<float>(same)), 0u);
    {
      const FlushScope none(false);
      same = half * 0.5f;
    }
  }
  same = half * 0.5f;
  EXPECT_EQ(same, 0x1p-127f);
  std::mt19937 rng(3);
  Instance instance = RandomBlocks(rng);
  instance.RunOptimized(CapsOf({false, true}, ""));
  same = half * 0.5f;
  EXPECT_EQ(same, 0x1p-127f);
}

TEST(BlockOrder, PlansSayHow) {
  Instance t = Scores({1.0f}, {1.0f});
  t.problem.kv_len = 1000;
  Caps caps;
  caps.tile_keys = 48;
  caps.native_dot = false;
  const Plan plan = MakePlan(t.problem, caps).value();
  EXPECT_EQ(plan.tile_keys, 64);  // whole blocks
  EXPECT_NE(plan.ToString().find(kCanFlush ? " dot=flushed" : " dot=guarded"),
            std::string::npos);
  caps.flush = false;
  EXPECT_EQ(MakePlan(t.problem, caps)->blocks, BlockForm::kGuarded);
  t.problem.order = ProductOrder::kChain;
  EXPECT_EQ(MakePlan(t.problem, caps)->blocks, BlockForm::kNone);
  EXPECT_EQ(MakePlan(t.problem, caps)->tile_keys, 48);
}

TEST(BlockOrder, PlansOfTheOtherOrderAreRefused) {
  Instance t =
      Scores(std::vector<float>(64, 1.0f), std::vector<float>(64, 1.0f));
  Plan plan = MakePlan(t.problem, {}).value();
  Plan ragged = plan;
  ragged.tile_keys = 80;
  EXPECT_NE(t.RunPlan(ragged).message().find("is not one of order=amx"),
            std::string::npos);
  t.problem.order = ProductOrder::kChain;
  EXPECT_NE(t.RunPlan(plan).message().find("is not one of order=chain"),
            std::string::npos);
  plan.blocks = BlockForm::kNone;
  EXPECT_TRUE(t.RunPlan(plan).ok());
}

}  // namespace
}  // namespace lockstep::optimized
