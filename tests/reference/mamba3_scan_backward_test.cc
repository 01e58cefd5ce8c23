// The definition against numbers worked out by hand, and its laws, bit for bit.
#include "reference/mamba3_scan_backward.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "reference/elementary.h"
#include "reference/runs.h"
#include "tests/support/mamba3_backward_problem.h"

namespace lockstep::reference {
namespace {

using test::kRegimes;
using test::Mamba3BackwardInstance;
using test::Mamba3CarryData;
using test::Mamba3Gradients;
using test::Range;
using test::Shape;
using test::Take;
using test::TakeRun;
using test::YShape;
using Values = std::vector<float>;

constexpr int kProblems = 60;  // of each regime
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

void ExpectSame(const Values& x, const Values& y, const std::string& what) {
  ASSERT_EQ(x.size(), y.size()) << what;
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(x[i]), std::bit_cast<uint32_t>(y[i]))
        << what << " " << i << ": " << x[i] << " and " << y[i];
  }
}

template <typename Law>
void ForRandomProblems(const Law& law) {
  std::mt19937 rng(21);
  for (const test::Regime regime : kRegimes) {
    for (int i = 0; i < kProblems; ++i) {
      Mamba3BackwardInstance t = test::RandomMamba3Backward(rng, regime);
      SCOPED_TRACE(testing::Message() << "problem " << i);
      law(t, rng);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Where the tokens stand in a gradient of one value a token or more; -1 for
// gradients of what a head has once, and of carries.
int TokenAxis(const std::string& name) {
  if (name == "da" || name == "ddt" || name == "dtau") return 2;
  for (const char* other : {"dq", "dk", "dv", "dvartheta", "dz"}) {
    if (name == other) return 1;
  }
  return -1;
}

bool OfCarry(const std::string& name) { return name.starts_with("dcarry"); }

// Two tokens of one channel: alpha = gamma = beta = 1, lambda = 1/2.
Mamba3BackwardInstance TwoTokens() {
  Mamba3BackwardInstance t;
  Mamba3ScanProblem& p = t.forward.problem;
  p.length = 2;
  std::mt19937 rng(1);
  p.carry_in = true;
  t.forward.Fill(rng, test::Regime::kTypical);
  t.forward.q = {1, 2};
  t.forward.k = {3, 1};
  t.forward.v = {2, 5};
  t.forward.a = t.forward.tau = {0, 0};
  t.forward.dt = {2, 2};
  t.forward.carry = {{}, {1}, {2}, {3}};
  t.Fill(rng);
  t.dy = {1, 10};
  t.dcarry = {{}, {100}, {7}, {9}};
  return t;
}

void ExpectValues(const Mamba3Gradients& g, const std::string& name,
                  const Values& expected) {
  EXPECT_EQ(g.Values(name), expected) << name;
}

TEST(Mamba3BackwardReference, TwoTokensFromZeros) {
  Mamba3BackwardInstance t = TwoTokens();
  t.forward.problem.carry_in = false;
  const Mamba3Gradients g = t.RunReference();
  ExpectValues(g, "dq", {6, 170});
  ExpectValues(g, "dk", {82, 100});
  ExpectValues(g, "dv", {123, 20});
  ExpectValues(g, "da", {0, 240});
  ExpectValues(g, "ddt", {63, 110});
  ExpectValues(g, "dtau", {63, -10});
}

TEST(Mamba3BackwardReference, TwoTokensFromCarryToCarry) {
  Mamba3BackwardInstance t = TwoTokens();
  t.carry_grad = true;
  const Mamba3Gradients g = t.RunReference();
  ExpectValues(g, "dq", {13, 240});
  ExpectValues(g, "dk", {482, 607});
  ExpectValues(g, "dv", {723, 129});
  ExpectValues(g, "da", {847, 2280});
  ExpectValues(g, "ddt", {726, 660});
  ExpectValues(g, "dtau", {0, -60});
  ExpectValues(g, "dcarry_h", {121});
  ExpectValues(g, "dcarry_k", {363});
  ExpectValues(g, "dcarry_v", {242});
}

TEST(Mamba3BackwardReference, RanksSkipAndSum) {
  Mamba3BackwardInstance t;
  Mamba3ScanProblem& p = t.forward.problem;
  p.variant = Mamba3ScanProblem::Variant::kMimo;
  p.ranks = 2;
  p.skip = p.reduce = p.bias = true;
  std::mt19937 rng(1);
  t.forward.Fill(rng, test::Regime::kTypical);
  t.forward.q = {0, 1};
  t.forward.k = {-1, 0};
  t.forward.bq = {1, 1};
  t.forward.bk = {2, 1};
  t.forward.v = {1};
  t.forward.psi = {2, 1};
  t.forward.phi = {1, 3};
  t.forward.d = {2};
  t.forward.a = t.forward.tau = {0};
  t.forward.dt = {2};
  t.Fill(rng);
  t.dy = {1};
  const Mamba3Gradients g = t.RunReference();
  ExpectValues(g, "dphi", {7, 8});
  ExpectValues(g, "dd", {5});
  ExpectValues(g, "dv", {31});
  ExpectValues(g, "dpsi", {9, 13});
  ExpectValues(g, "dq", {3, 9});
  ExpectValues(g, "dbq", {3, 9});
  ExpectValues(g, "dk", {14, 7});
  ExpectValues(g, "dbk", {14, 7});
}

// z = 0: sigma = 1/2, silu = 0, its slope 1/2. The norm of 6 / |6| is 1, and
// its own direction has no gradient.
TEST(Mamba3BackwardReference, GateAndNorm) {
  Mamba3BackwardInstance t = TwoTokens();
  Mamba3ScanProblem& p = t.forward.problem;
  p.carry_in = false;
  p.gate = true;
  t.forward.z = {0, 0};
  Mamba3Gradients g = t.RunReference();
  ExpectValues(g, "dz", {3, 170});
  ExpectValues(g, "dv", {0, 0});
  p.gate = false;
  p.norm_epsilon = 1e-30;
  t.forward.norm_weight = {4};
  t.forward.v = {2, 5};
  g = t.RunReference();
  EXPECT_NEAR(g.Values("dnorm_weight")[0], 11.0f, 1e-5f);
  for (const float x : g.Values("dv")) EXPECT_NEAR(x, 0.0f, 1e-5f);
}

Mamba3BackwardInstance Part(const Mamba3BackwardInstance& t, int64_t row,
                            int64_t first, int64_t end,
                            const Mamba3CarryData* start) {
  Mamba3BackwardInstance part = t;
  part.forward = t.forward.Row(row).Tokens(first, end, start);
  Mamba3ScanProblem one = t.forward.problem;
  part.dy = Take(t.dy, {one.batch}, 0, {row});
  one.batch = 1;
  part.dy = Take(part.dy, YShape(one), 1, Range(first, end));
  part.forward.problem.batch = 1;
  return part;
}

// A gradient's tokens of one row.
Values Tokens(const Mamba3Gradients::Part& part, int64_t row, int64_t first,
              int64_t end) {
  Shape shape = part.shape;
  const Values of_row = Take(part.Values(), shape, 0, {row});
  shape[0] = 1;
  return Take(of_row, shape, static_cast<size_t>(TokenAxis(part.name)),
              Range(first, end));
}

// What a head has once is the sum over the runs, in their order.
TEST(Mamba3BackwardLaws, RunsAreSeparate) {
  ForRandomProblems([](Mamba3BackwardInstance& t, std::mt19937&) {
    const Mamba3Gradients packed = t.RunReference();
    const std::vector<reference::Run> runs =
        ListRuns(t.forward.problem, t.forward.Inputs());
    const auto count = static_cast<int64_t>(runs.size());
    std::vector<Values> sums(packed.parts().size());
    for (int64_t i = 0; i < count; ++i) {
      const reference::Run run = runs[static_cast<size_t>(i)];
      if (run.first == run.end) continue;
      const Mamba3ScanProblem& p = t.forward.problem;
      const Mamba3CarryData start = TakeRun(t.forward.carry, p, count, i);
      Mamba3BackwardInstance alone =
          Part(t, run.row, run.first, run.end, p.carry_in ? &start : nullptr);
      alone.dcarry = TakeRun(t.dcarry, p, count, i);
      const Mamba3Gradients got = alone.RunReference();
      for (size_t j = 0; j < sums.size(); ++j) {
        const auto& part = packed.parts()[j];
        const Values mine = got.parts()[j].Values();
        if (!part.wanted) continue;
        if (TokenAxis(part.name) >= 0) {
          ExpectSame(Tokens(part, run.row, run.first, run.end), mine,
                     part.name);
        } else if (OfCarry(part.name)) {
          ExpectSame(Take(part.Values(), part.shape, 0, {i}), mine, part.name);
        } else {
          sums[j].resize(mine.size());
          for (size_t x = 0; x < mine.size(); ++x) sums[j][x] += mine[x];
        }
      }
    }
    for (size_t j = 0; j < sums.size(); ++j) {
      if (sums[j].empty()) continue;
      ExpectSame(packed.parts()[j].Values(), sums[j], packed.parts()[j].name);
    }
  });
}

// The second part's gradient of its initial carry is the first part's
// cotangent: a chain of calls has the bits of one, where nothing is summed.
TEST(Mamba3BackwardLaws, ASplitAnywhereIsTheWhole) {
  ForRandomProblems([](Mamba3BackwardInstance& t, std::mt19937& rng) {
    t.forward.problem.runs = Mamba3ScanProblem::Runs::kRows;
    t.forward.problem.batch = 1;
    t.forward.problem.carry_in = true;
    t.forward.Fill(rng, kRegimes[rng() % 4]);
    t.Fill(rng);
    const int64_t length = t.forward.problem.length;
    const Mamba3Gradients whole = t.RunReference();
    for (int64_t split = 1; split < length; ++split) {
      Mamba3BackwardInstance first = Part(t, 0, 0, split, &t.forward.carry);
      const Mamba3CarryData middle = first.forward.RunReference().carry;
      Mamba3BackwardInstance second = Part(t, 0, split, length, &middle);
      const Mamba3Gradients later = second.RunReference();
      first.carry_grad = true;
      first.dcarry = {later.Values("dcarry_theta"), later.Values("dcarry_h"),
                      later.Values("dcarry_k"), later.Values("dcarry_v")};
      const Mamba3Gradients earlier = first.RunReference();
      for (size_t j = 0; j < whole.parts().size(); ++j) {
        const auto& part = whole.parts()[j];
        const Values before = earlier.parts()[j].Values();
        if (OfCarry(part.name)) ExpectSame(part.Values(), before, part.name);
        if (!part.wanted || TokenAxis(part.name) < 0) continue;
        ExpectSame(Tokens(part, 0, 0, split), before, part.name);
        ExpectSame(Tokens(part, 0, split, length), later.parts()[j].Values(),
                   part.name);
      }
    }
  });
}

TEST(Mamba3BackwardLaws, CheckpointsChangeNoBit) {
  ForRandomProblems([](Mamba3BackwardInstance& t, std::mt19937&) {
    const Mamba3Gradients expected = t.RunReference();
    for (const int64_t checkpoint : {1, 2, 3, 7, 100}) {
      const Mamba3Gradients got = t.RunReference(checkpoint);
      ASSERT_EQ(got.Bits(), expected.Bits())
          << checkpoint << " " << expected.FirstDifference(got);
    }
  });
}

// dq and dk of a group are sums over its heads, in their order.
TEST(Mamba3BackwardLaws, HeadsOfAGroupAddUp) {
  ForRandomProblems([](Mamba3BackwardInstance& t, std::mt19937& rng) {
    t.grad_lane = Lane::kF32;
    // Of two heads the order would not show.
    t.forward.problem.heads = 3 * t.forward.problem.groups;
    t.forward.Fill(rng, kRegimes[rng() % 4]);
    t.Fill(rng);
    const Mamba3ScanProblem p = t.forward.problem;
    const Mamba3Gradients whole = t.RunReference();
    for (const char* name : {"dq", "dk"}) {
      const Shape shape{p.batch, p.length, p.ranks, p.groups, p.state_dim};
      for (int64_t group = 0; group < p.groups; ++group) {
        Values sum;
        for (int64_t h = group * p.group(); h < (group + 1) * p.group(); ++h) {
          Mamba3BackwardInstance one = t;
          one.forward = t.forward.PermuteHeads({h});
          one.forward.problem.heads = one.forward.problem.groups = 1;
          one.forward.q = Take(t.forward.q, shape, 3, {group});
          one.forward.k = Take(t.forward.k, shape, 3, {group});
          one.dy = Take(t.dy, YShape(p), 3, {h});
          const int64_t runs = t.forward.CountRuns();
          one.dcarry = {
              Take(t.dcarry.theta, {runs, p.heads, p.angles}, 1, {h}),
              Take(t.dcarry.h, {runs, p.heads, p.head_dim, p.state_dim}, 1,
                   {h}),
              Take(t.dcarry.k, {runs, p.ranks, p.heads, p.state_dim}, 2, {h}),
              Take(t.dcarry.v, {runs, p.heads, p.head_dim}, 1, {h})};
          const Values mine = one.RunReference().Values(name);
          sum.resize(mine.size());
          for (size_t i = 0; i < mine.size(); ++i) sum[i] += mine[i];
        }
        ExpectSame(Take(whole.Values(name), shape, 3, {group}), sum, name);
      }
    }
  });
}

// A cotangent that is NaN reaches its own run, and what is summed over runs.
TEST(Mamba3BackwardLaws, NaNStaysInItsRun) {
  int64_t tried = 0;
  ForRandomProblems([&](Mamba3BackwardInstance& t, std::mt19937& rng) {
    const Mamba3ScanProblem& p = t.forward.problem;
    const std::vector<reference::Run> runs = ListRuns(p, t.forward.Inputs());
    const reference::Run& run = runs[rng() % runs.size()];
    if (runs.size() < 2 || run.first == run.end) return;
    ++tried;
    const Mamba3Gradients clean = t.RunReference();
    const int64_t width = p.output_ranks() * p.heads * p.head_dim;
    t.dy[static_cast<size_t>((run.row * p.length + run.end - 1) * width)] =
        kNaN;
    const Mamba3Gradients got = t.RunReference();
    for (const reference::Run& other : runs) {
      if (&other == &run) continue;
      for (size_t j = 0; j < clean.parts().size(); ++j) {
        const auto& part = clean.parts()[j];
        if (!part.wanted || TokenAxis(part.name) < 0) continue;
        ExpectSame(Tokens(part, other.row, other.first, other.end),
                   Tokens(got.parts()[j], other.row, other.first, other.end),
                   part.name);
      }
    }
    const int64_t first = (run.row * p.length + run.first) * p.heads;
    EXPECT_TRUE(
        std::isnan(got.Values("dv")[static_cast<size_t>(first * p.head_dim)]));
  });
  EXPECT_GT(tried, 60);
}

// bf16 gradients are those of f32, rounded; without a cotangent of the carry
// it is zero; a run's first token without carry has no gradient of its decay.
TEST(Mamba3BackwardLaws, LanesCotangentsAndFirstTokens) {
  ForRandomProblems([](Mamba3BackwardInstance& t, std::mt19937&) {
    t.forward.problem.lane = Lane::kBf16;
    t.carry_grad = false;
    t.grad_lane = Lane::kF32;
    const Mamba3Gradients wide = t.RunReference();
    t.grad_lane = Lane::kBf16;
    const Mamba3Gradients narrow = t.RunReference();
    for (const char* name : {"dq", "dk", "dv", "dtau"}) {
      Values rounded = wide.Values(name);
      for (float& x : rounded) x = RoundToBf16Lane(x) + 0.0f;
      ExpectSame(narrow.Values(name), rounded, name);
    }
    ExpectSame(narrow.Values("da"), wide.Values("da"), "da");
    t.carry_grad = true;
    for (auto* x : {&t.dcarry.theta, &t.dcarry.h, &t.dcarry.k, &t.dcarry.v}) {
      x->assign(x->size(), 0.0f);
    }
    ASSERT_EQ(t.RunReference().Bits(), narrow.Bits());
    if (t.forward.problem.carry_in) return;
    const Values da = narrow.Values("da");
    for (const reference::Run& run :
         ListRuns(t.forward.problem, t.forward.Inputs())) {
      for (int64_t h = 0; h < t.forward.problem.heads; ++h) {
        if (run.first == run.end) continue;
        const int64_t at =
            (run.row * t.forward.problem.heads + h) * t.forward.problem.length +
            run.first;
        EXPECT_EQ(da[static_cast<size_t>(at)], 0.0f);
      }
    }
  });
}

}  // namespace
}  // namespace lockstep::reference
