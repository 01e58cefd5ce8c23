#include "optimized/plan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/attention_tuning.h"

namespace lockstep::optimized {
namespace {

AttentionForwardProblem Problem() {
  AttentionForwardProblem p;
  p.q_heads = 8;
  p.q_len = 1000;
  p.kv_len = 3000;
  return p;
}

void ExpectRefused(const Caps& caps, const std::string& part) {
  const Result<Plan> plan = MakePlan(Problem(), caps);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.message().find(part), std::string::npos) << plan.message();
}

TEST(Plan, CoversTheProblem) {
  const Plan plan = MakePlan(Problem(), {}).value();
  EXPECT_GE(plan.row_tiles * plan.tile_rows, 8000);
  EXPECT_GE(plan.key_tiles * plan.tile_keys, 3000);
  EXPECT_TRUE(plan.pack_ahead);
}

TEST(Plan, IsAPureFunction) {
  EXPECT_EQ(MakePlan(Problem(), {}).value().ToString(),
            MakePlan(Problem(), {}).value().ToString());
}

TEST(Plan, RefusesWhatItCannotDo) {
  Caps caps;
  caps.target = "AVX9";
  ExpectRefused(caps, "unknown target AVX9; compiled are");
  for (const char* name : {"AVX3_ZEN4", "AVX3_SPR"}) {
    caps.target = name;
    ExpectRefused(caps, std::string("target ") + name +
                            " is AVX3 here, which takes the bf16 dot "
                            "instruction where the CPU has it; want AVX3");
  }
  for (const ProductOrder order :
       {ProductOrder::kAmpere, ProductOrder::kHopper}) {
    AttentionForwardProblem problem = Problem();
    problem.lane = problem.p_lane = Lane::kBf16;
    problem.order = order;
    EXPECT_EQ(MakePlan(problem, {}).message(),
              std::string("order=") + OrderName(order) +
                  " has no SIMD kernels; want the reference");
  }
  caps = {};
  caps.tile_keys = 40;
  ExpectRefused(caps, "multiple of 16");
  caps = {};
  caps.tile_rows = -1;
  ExpectRefused(caps, "tile rows -1");
  caps = {};
  caps.threads = -2;
  ExpectRefused(caps, "threads=-2");
  caps = {};
  caps.kept_tiles = -1;
  ExpectRefused(caps, "kept tiles -1");
}

// Where the bf16 dot instruction has half the speed of f32 multiply-adds it is
// taken on demand only.
TEST(Plan, TheDotInstructionIsTakenWhereItIsFast) {
  AttentionForwardProblem problem = Problem();
  problem.lane = problem.p_lane = Lane::kBf16;
  const bool intel = CpuModel().find("Intel") != std::string::npos;
  const bool amd = CpuModel().find("AMD") != std::string::npos;
  for (const Target& target : Targets()) {
    if (!target.supported) continue;
    Caps caps;
    caps.target = target.name;
    const bool taken = MakePlan(problem, caps)->native_dot;
    EXPECT_TRUE(target.native_dot || !taken) << target.name;
    if (intel) {
      EXPECT_FALSE(taken) << target.name;
    }
    if (amd) {
      EXPECT_EQ(taken, target.native_dot) << target.name;
    }
    for (const bool native : {false, true}) {
      caps.native_dot = native;
      EXPECT_EQ(MakePlan(problem, caps)->native_dot, native);
    }
  }
}

// As many rows as a vector holds read each key once: packing its pairs would
// cost more than the dot instruction saves.
TEST(Plan, DecodingReadsInPlaceEvenWhereTheDotInstructionIsFast) {
  AttentionForwardProblem problem = Problem();
  problem.lane = problem.p_lane = Lane::kBf16;
  problem.q_heads = 8;
  problem.kv_heads = 1;
  problem.q_len = 2;
  EXPECT_FALSE(MakePlan(problem, {})->native_dot);
}

// Two keys that share a wide vector take longer than one each in whole narrow
// ones, on the one family of CPUs that halves the wide ones. No other problem
// is moved.
TEST(Plan, FewRowsOfBf16TakeNarrowVectorsWhereWideOnesAreHalved) {
  const std::vector<Target> targets = Targets();
  const std::string best =
      std::find_if(targets.begin(), targets.end(), [](const Target& target) {
        return target.supported;
      })->name;
  const bool amd = CpuModel().find("AMD") != std::string::npos;
  const bool halved = amd && CpuModel().find(" 25/") != std::string::npos;
  AttentionForwardProblem problem = Problem();
  problem.lane = problem.p_lane = Lane::kBf16;
  problem.q_heads = 8;
  problem.kv_heads = 1;
  problem.q_len = 1;
  EXPECT_EQ(MakePlan(problem, {})->target, halved ? "AVX2" : best);
  Caps asked, native;
  asked.target = best;
  native.native_dot = true;
  EXPECT_EQ(MakePlan(problem, asked)->target, best);
  EXPECT_EQ(MakePlan(problem, native)->target, best);
  AttentionForwardProblem more = problem, f32 = problem, blocks = problem;
  more.q_heads = 9;
  f32.lane = f32.p_lane = Lane::kF32;
  blocks.order = ProductOrder::kAmx;
  for (const AttentionForwardProblem& other : {more, f32, blocks}) {
    EXPECT_EQ(MakePlan(other, {})->target, best);
  }
}

TEST(Plan, SomeCompiledTargetRunsHere) {
  bool supported = false;
  for (const Target& target : Targets()) supported |= target.supported;
  EXPECT_TRUE(supported) << "the tests of optimized/ prove nothing here";
}

}  // namespace
}  // namespace lockstep::optimized
