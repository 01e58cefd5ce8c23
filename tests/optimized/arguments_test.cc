// Arguments that a comment forbids, class by class: every public function of
// reference/ and optimized/ that computes an op answers with an error that
// names the field, and writes nothing.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/attention_forward.h"
#include "optimized/mamba3_scan.h"
#include "optimized/plan.h"
#include "optimized/plan_key.h"
#include "optimized/ssd_scan.h"
#include "optimized/tile_plan.h"
#include "reference/attention_forward.h"
#include "reference/mamba3_scan.h"
#include "reference/ssd_scan.h"

namespace lockstep {
namespace {

constexpr float kUntouched = 7;

// Two query heads, one of keys; 3 rows, 5 keys, 4 channels.
struct Attention {
  AttentionForwardProblem problem;
  std::vector<float> q = std::vector<float>(2 * 3 * 4, 0.5f);
  std::vector<float> kv = std::vector<float>(5 * 4, 0.25f);
  std::vector<float> o = std::vector<float>(2 * 3 * 4, kUntouched);
  std::vector<float> lse = std::vector<float>(2 * 3, kUntouched);
  AttentionForwardInputs in;
  AttentionForwardOutputs out;

  Attention() {
    problem.q_heads = 2;
    problem.q_len = 3;
    problem.kv_len = 5;
    problem.head_dim = problem.value_dim = 4;
    problem.softcap = 20.0;
    in.q = {q.data(), Lane::kF32, {1, 2, 3, 4}, {24, 12, 4, 1}};
    in.k = in.v = {kv.data(), Lane::kF32, {1, 1, 5, 4}, {20, 20, 4, 1}};
    out.o = {o.data(), Lane::kF32, {1, 2, 3, 4}, {24, 12, 4, 1}};
    out.lse = {lse.data(), {1, 2, 3}, {6, 3, 1}};
  }

  bool Untouched() const {
    for (const float x : o) {
      if (x != kUntouched) return false;
    }
    for (const float x : lse) {
      if (x != kUntouched) return false;
    }
    return true;
  }
};

struct AttentionClass {
  const char* name;
  std::function<void(Attention*)> spoil;
  bool problem = true;  // wrong in the problem; else in tensors
};

const std::vector<AttentionClass>& AttentionClasses() {
  static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  static const std::vector<AttentionClass> kClasses = {
      {"heads that do not divide",
       [](Attention* a) {
         a->problem.q_heads = 4;
         a->problem.kv_heads = 3;
       }},
      {"no heads of keys", [](Attention* a) { a->problem.kv_heads = 0; }},
      {"no batch", [](Attention* a) { a->problem.batch = 0; }},
      {"negative length", [](Attention* a) { a->problem.kv_len = -1; }},
      {"no channels", [](Attention* a) { a->problem.head_dim = 0; }},
      {"softcap of zero", [](Attention* a) { a->problem.softcap = 0; }},
      {"negative softcap", [](Attention* a) { a->problem.softcap = -1; }},
      {"softcap that is none", [](Attention* a) { a->problem.softcap = kNaN; }},
      {"scale that is no number",
       [](Attention* a) { a->problem.scale = kNaN; }},
      {"masks of other heads",
       [](Attention* a) { a->problem.masks.resize(5); }},
      {"no mask", [](Attention* a) { a->problem.masks.clear(); }},
      {"no q", [](Attention* a) { a->in.q.data = nullptr; }, false},
      {"another lane", [](Attention* a) { a->in.k.lane = Lane::kBf16; }, false},
      {"another shape", [](Attention* a) { a->in.v.shape[2] = 4; }, false},
      {"negative stride", [](Attention* a) { a->in.q.strides[2] = -4; }, false},
      {"segments that are missing",
       [](Attention* a) { a->problem.segments = true; }, false},
      {"sinks that are missing", [](Attention* a) { a->problem.sink = true; },
       false},
      {"valid counts beyond the rows",
       [](Attention* a) { a->in.valid_q = {4}; }, false},
      {"no lse", [](Attention* a) { a->out.lse.data = nullptr; }, false},
      {"rows of o that overlap", [](Attention* a) { a->out.o.strides[2] = 2; },
       false},
  };
  return kClasses;
}

TEST(Arguments, OfAttention) {
  const Attention good;
  const auto plan = optimized::MakePlan(good.problem, {});
  for (const AttentionClass& one : AttentionClasses()) {
    SCOPED_TRACE(one.name);
    Attention a;
    one.spoil(&a);
    EXPECT_FALSE(reference::AttentionForward(a.problem, a.in, a.out).ok());
    if (plan.ok()) {
      EXPECT_FALSE(optimized::AttentionForward(a.problem, a.in, plan.value(),
                                               a.out, nullptr)
                       .ok());
    }
    if (one.problem) {
      float lse = 0;
      std::vector<float> o(4);
      EXPECT_FALSE(
          reference::AttentionForwardRow(a.problem, a.in, {}, o, &lse).ok());
      EXPECT_FALSE(optimized::MakePlan(a.problem, {}).ok());
      EXPECT_FALSE(optimized::PlanTiles(a.problem, a.in, 0, {}).ok());
      EXPECT_FALSE(optimized::MakePlanKey(a.problem, false, {}, 1, 1).ok());
    }
    EXPECT_TRUE(a.Untouched());
  }
}

TEST(Arguments, OfAttentionThatAreRight) {
  Attention a;
  EXPECT_TRUE(reference::AttentionForward(a.problem, a.in, a.out).ok());
  EXPECT_FALSE(a.Untouched());
}

TEST(Arguments, OfRows) {
  Attention a;
  std::vector<float> o(4);
  float lse = 0;
  const auto row = [&](const reference::AttentionRow& at, std::span<float> to,
                       float* sum) {
    return reference::AttentionForwardRow(a.problem, a.in, at, to, sum).ok();
  };
  EXPECT_TRUE(row({0, 1, 2}, o, &lse));
  EXPECT_FALSE(row({1, 0, 0}, o, &lse));
  EXPECT_FALSE(row({0, 2, 0}, o, &lse));
  EXPECT_FALSE(row({0, 0, 3}, o, &lse));
  EXPECT_FALSE(row({0, 0, -1}, o, &lse));
  EXPECT_FALSE(row({0, 0, 0}, std::span<float>(o).first(3), &lse));
  EXPECT_FALSE(row({0, 0, 0}, o, nullptr));
}

TEST(Arguments, PlansOfOtherProblems) {
  Attention a;
  const auto made = optimized::MakePlan(a.problem, {});
  if (!made.ok()) GTEST_SKIP() << made.message();
  const auto spoilt = [&](const std::function<void(optimized::Plan*)>& spoil) {
    optimized::Plan plan = made.value();
    spoil(&plan);
    return optimized::AttentionForward(a.problem, a.in, plan, a.out, nullptr)
        .ok();
  };
  EXPECT_FALSE(spoilt([](optimized::Plan* p) { p->target = "Z80"; }));
  EXPECT_FALSE(spoilt([](optimized::Plan* p) { p->threads = 0; }));
  EXPECT_FALSE(spoilt([](optimized::Plan* p) { p->threads = 1 << 20; }));
  EXPECT_FALSE(spoilt([](optimized::Plan* p) { p->tile_rows = 0; }));
  EXPECT_FALSE(spoilt([](optimized::Plan* p) { p->tile_keys = 3; }));
  EXPECT_FALSE(spoilt([](optimized::Plan* p) { p->row_tiles = INT64_MAX; }));
  EXPECT_FALSE(spoilt([](optimized::Plan* p) { p->key_tiles = 9; }));
  EXPECT_FALSE(spoilt([](optimized::Plan* p) { p->native_dot = true; }));
  a.problem.softcap.reset();
  EXPECT_FALSE(spoilt([](optimized::Plan* p) { p->fixed_m = true; }));
  EXPECT_TRUE(a.Untouched());
}

// One row of 3 tokens, 2 heads, 2 states, 2 channels.
struct Scan {
  Mamba3ScanProblem problem;
  std::vector<float> qk = std::vector<float>(3 * 2, 0.5f);
  std::vector<float> v = std::vector<float>(3 * 2 * 2, 0.5f);
  std::vector<float> a = std::vector<float>(2 * 3, -0.5f);
  std::vector<float> dt = std::vector<float>(2 * 3, 0.5f);
  std::vector<float> y = std::vector<float>(3 * 2 * 2, kUntouched);
  Mamba3ScanInputs in;
  Mamba3ScanOutputs out;

  Scan() {
    problem.length = 3;
    problem.heads = 2;
    problem.state_dim = 2;
    problem.head_dim = 2;
    in.q = in.k = {qk.data(), Lane::kF32, {1, 3, 1, 1, 2}, {6, 2, 2, 2, 1}};
    in.v = {v.data(), Lane::kF32, {1, 3, 2, 2}, {12, 4, 2, 1}};
    in.a = {a.data(), {1, 2, 3}, {6, 3, 1}};
    in.dt = {dt.data(), {1, 2, 3}, {6, 3, 1}};
    in.tau = {dt.data(), Lane::kF32, {1, 2, 3}, {6, 3, 1}};
    out.y = {y.data(), Lane::kF32, {1, 3, 1, 2, 2}, {12, 4, 4, 2, 1}};
  }

  bool Untouched() const {
    for (const float x : y) {
      if (x != kUntouched) return false;
    }
    return true;
  }
};

TEST(Arguments, OfScans) {
  using Spoil = std::function<void(Scan*)>;
  const std::vector<std::pair<const char*, Spoil>> classes = {
      {"groups that do not divide", [](Scan* s) { s->problem.groups = 3; }},
      {"no length", [](Scan* s) { s->problem.length = 0; }},
      {"more angles than pairs", [](Scan* s) { s->problem.angles = 2; }},
      {"epsilon of zero", [](Scan* s) { s->problem.norm_epsilon = 0; }},
      {"a carry that is missing", [](Scan* s) { s->problem.carry_in = true; }},
      {"biases that are missing", [](Scan* s) { s->problem.bias = true; }},
      {"no q", [](Scan* s) { s->in.q.data = nullptr; }},
      {"another lane", [](Scan* s) { s->in.v.lane = Lane::kBf16; }},
      {"a growing state", [](Scan* s) { s->a[1] = 0.5f; }},
      {"a step size below zero", [](Scan* s) { s->dt[1] = -0.5f; }},
      {"a step size that is no number", [](Scan* s) { s->dt[1] = NAN; }},
      {"no y", [](Scan* s) { s->out.y.data = nullptr; }},
  };
  for (const auto& [name, spoil] : classes) {
    SCOPED_TRACE(name);
    Scan s;
    spoil(&s);
    EXPECT_FALSE(reference::Mamba3Scan(s.problem, s.in, s.out).ok());
    EXPECT_FALSE(
        optimized::Mamba3Scan(s.problem, s.in, {}, s.out, nullptr).ok());
    EXPECT_TRUE(s.Untouched());
  }
  Scan good;
  EXPECT_TRUE(reference::Mamba3Scan(good.problem, good.in, good.out).ok());
  EXPECT_FALSE(good.Untouched());
}

TEST(Arguments, OfSteps) {
  Scan s;  // three tokens, and no carry
  const Status three = reference::Mamba3Step(s.problem, s.in, s.out);
  ASSERT_FALSE(three.ok());
  EXPECT_NE(three.message().find("t=3"), std::string::npos) << three.message();
  EXPECT_FALSE(optimized::Mamba3Step(s.problem, s.in, {}, s.out, nullptr).ok());
  s.problem.length = 1;
  s.problem.runs = Mamba3ScanProblem::Runs::kCuSeqlens;
  EXPECT_FALSE(reference::Mamba3Step(s.problem, s.in, s.out).ok());
  s.problem.runs = Mamba3ScanProblem::Runs::kRows;
  EXPECT_FALSE(reference::Mamba3Step(s.problem, s.in, s.out).ok());
  EXPECT_FALSE(optimized::Mamba3Step(s.problem, s.in, {}, s.out, nullptr).ok());
  EXPECT_TRUE(s.Untouched());
}

TEST(Arguments, OfSsdScans) {
  Scan s;
  SsdScanProblem problem;
  problem.length = 3;
  problem.heads = 2;
  problem.state_dim = problem.head_dim = 2;
  SsdScanInputs in;
  in.q = in.k = {s.qk.data(), Lane::kF32, {1, 3, 1, 2}, {6, 2, 2, 1}};
  in.v = s.in.v;
  in.a = s.in.a;
  in.dt = s.in.dt;
  SsdScanOutputs out;
  out.y = {s.y.data(), Lane::kF32, {1, 3, 2, 2}, {12, 4, 2, 1}};
  problem.groups = 3;
  EXPECT_FALSE(reference::SsdScan(problem, in, out).ok());
  EXPECT_FALSE(optimized::SsdScan(problem, in, {}, out, nullptr).ok());
  problem.groups = 1;
  s.dt[0] = -1;
  EXPECT_FALSE(reference::SsdScan(problem, in, out).ok());
  EXPECT_FALSE(optimized::SsdScan(problem, in, {}, out, nullptr).ok());
  EXPECT_TRUE(s.Untouched());
  s.dt[0] = 1;
  EXPECT_TRUE(reference::SsdScan(problem, in, out).ok());
}

}  // namespace
}  // namespace lockstep
