// Laws of the scan that hold bit for bit, over random problems of every regime:
// runs are separate, a carry is complete, nothing looks ahead.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"
#include "reference/elementary.h"
#include "reference/mamba3_scan.h"
#include "reference/runs.h"
#include "tests/support/mamba3_problem.h"

namespace lockstep::reference {
namespace {

using test::kRegimes;
using test::Mamba3CarryData;
using test::Mamba3Instance;
using test::Mamba3Outputs;
using test::Mamba3Result;
using test::Range;
using test::Take;
using test::TakeRun;
using test::YShape;
using Problem = Mamba3ScanProblem;

constexpr int kLawProblems = 60;  // of each regime
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <typename Law>
void ForRandomProblems(const Law& law) {
  std::mt19937 rng(20);
  for (const test::Regime regime : kRegimes) {
    for (int i = 0; i < kLawProblems; ++i) {
      Mamba3Instance t = test::RandomMamba3(rng, regime);
      SCOPED_TRACE(testing::Message() << "problem " << i);
      law(t, rng, regime);
      if (testing::Test::HasFailure()) return;
    }
  }
}

Mamba3Instance OneRow(Mamba3Instance t, std::mt19937& rng, test::Regime regime,
                      Problem::Runs runs) {
  t.problem.batch = 1;
  t.problem.runs = runs;
  if (runs == Problem::Runs::kCuSeqlens && t.cu_seqlens.empty()) {
    t.cu_seqlens = {0, t.problem.length / 2, t.problem.length};
  }
  t.segments.resize(static_cast<size_t>(t.problem.length));
  t.Fill(rng, regime);
  return t;
}

// What one scan returned, without the tokens outside first .. end - 1.
std::vector<float> Tokens(const std::vector<float>& y, const Problem& p,
                          int64_t first, int64_t end) {
  return Take(y, YShape(p), 1, Range(first, end));
}

void Append(std::vector<float>& y, const std::vector<float>& more) {
  y.insert(y.end(), more.begin(), more.end());
}

// Equal as bits.
void ExpectSame(const std::vector<float>& x, const std::vector<float>& y) {
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(x[i]), std::bit_cast<uint32_t>(y[i]))
        << "element " << i << ": " << x[i] << " and " << y[i];
  }
}

void ExpectSame(const Mamba3CarryData& x, const Mamba3CarryData& y) {
  ExpectSame(x.theta, y.theta);
  ExpectSame(x.h, y.h);
  ExpectSame(x.k, y.k);
  ExpectSame(x.v, y.v);
}

TEST(Mamba3Laws, RunsAreSeparateScans) {
  ForRandomProblems([](Mamba3Instance& t, std::mt19937&, test::Regime) {
    const Mamba3Result packed = t.RunReference();
    const std::vector<reference::Run> runs = ListRuns(t.problem, t.Inputs());
    const auto count = static_cast<int64_t>(runs.size());
    for (int64_t i = 0; i < count; ++i) {
      const reference::Run run = runs[static_cast<size_t>(i)];
      if (run.first == run.end) continue;
      const Mamba3CarryData start = TakeRun(t.carry, t.problem, count, i);
      Mamba3Instance alone = t.Row(run.row).Tokens(
          run.first, run.end, t.problem.carry_in ? &start : nullptr);
      const Mamba3Result got = alone.RunReference();
      ExpectSame(got.carry, TakeRun(packed.carry, t.problem, count, i));
      Problem row = t.problem;
      row.batch = 1;
      ExpectSame(got.y, Tokens(Take(packed.y, {t.problem.batch}, 0, {run.row}),
                               row, run.first, run.end));
    }
  });
}

TEST(Mamba3Laws, ASplitAnywhereIsTheWhole) {
  ForRandomProblems(
      [](Mamba3Instance& t, std::mt19937& rng, test::Regime regime) {
        Mamba3Instance whole = OneRow(t, rng, regime, Problem::Runs::kRows);
        const Problem& p = whole.problem;
        const Mamba3Result expected = whole.RunReference();
        for (int64_t split = 1; split < p.length; ++split) {
          const Mamba3Result first =
              whole.Tokens(0, split, p.carry_in ? &whole.carry : nullptr)
                  .RunReference();
          const Mamba3Result second =
              whole.Tokens(split, p.length, &first.carry).RunReference();
          std::vector<float> y = first.y;
          Append(y, second.y);
          ExpectSame(y, expected.y);
          ExpectSame(second.carry, expected.carry);
        }
      });
}

TEST(Mamba3Laws, AChainOfStepsInPlaceIsTheScan) {
  ForRandomProblems(
      [](Mamba3Instance& t, std::mt19937& rng, test::Regime regime) {
        t.problem.runs = Problem::Runs::kRows;
        t.problem.carry_in = true;
        t.Fill(rng, regime);
        const Problem& p = t.problem;
        const Mamba3Result expected = t.RunReference();
        Mamba3CarryData carry = t.carry;
        for (int64_t at = 0; at < p.length; ++at) {
          Mamba3Instance token = t.Tokens(at, at + 1, &carry);
          Mamba3Outputs outputs(token.problem, p.batch);
          Mamba3ScanInputs in = token.Inputs();
          Mamba3ScanOutputs out = outputs.View();
          out.carry = token.carry.View(token.problem, p.batch);  // in place
          ASSERT_TRUE(Validate(token.problem, in, out).ok());
          ASSERT_TRUE(Mamba3Step(token.problem, in, out).ok());
          carry = token.carry;
          ExpectSame(outputs.Result().y, Tokens(expected.y, p, at, at + 1));
        }
        ExpectSame(carry, expected.carry);
      });
}

TEST(Mamba3Laws, EncodingsOfRunsAgree) {
  ForRandomProblems(
      [](Mamba3Instance& t, std::mt19937& rng, test::Regime regime) {
        Mamba3Instance ids = OneRow(t, rng, regime, Problem::Runs::kSegments);
        Mamba3Instance cu = ids;
        cu.problem.runs = Problem::Runs::kCuSeqlens;
        cu.cu_seqlens = {0};
        for (const reference::Run& run : ListRuns(ids.problem, ids.Inputs())) {
          cu.cu_seqlens.push_back(run.end);
        }
        EXPECT_EQ(ids.RunReference().Bits(), cu.RunReference().Bits());
      });
}

TEST(Mamba3Laws, AnEmptyRunPassesItsCarryOn) {
  ForRandomProblems([](Mamba3Instance& t, std::mt19937& rng,
                       test::Regime regime) {
    t.cu_seqlens = {0, 0, t.problem.length, t.problem.length};
    Mamba3Instance packed = OneRow(t, rng, regime, Problem::Runs::kCuSeqlens);
    const Mamba3Result got = packed.RunReference();
    Mamba3CarryData zeros;
    zeros.Resize(packed.problem, 1, 0.0f);
    for (const int64_t run : {0, 2}) {
      ExpectSame(TakeRun(got.carry, packed.problem, 3, run),
                 packed.problem.carry_in
                     ? TakeRun(packed.carry, packed.problem, 3, run)
                     : zeros);
    }
    const Mamba3CarryData middle = TakeRun(packed.carry, packed.problem, 3, 1);
    const Mamba3Result alone =
        packed
            .Tokens(0, packed.problem.length,
                    packed.problem.carry_in ? &middle : nullptr)
            .RunReference();
    ExpectSame(got.y, alone.y);
  });
}

// No output depends on a later token: not its step size, nor its logit.
TEST(Mamba3Laws, NothingLooksAhead) {
  ForRandomProblems(
      [](Mamba3Instance& t, std::mt19937& rng, test::Regime regime) {
        Mamba3Instance whole = OneRow(t, rng, regime, Problem::Runs::kRows);
        const Problem& p = whole.problem;
        const Mamba3Result expected = whole.RunReference();
        Mamba3Instance other = whole;
        other.Fill(rng, regime);
        const int64_t cut = p.length / 2 + 1;
        const Mamba3CarryData* start = p.carry_in ? &whole.carry : nullptr;
        // The later half filled with other numbers, weights and carry kept.
        Mamba3Instance mixed = whole;
        Mamba3Instance head = whole.Tokens(0, cut, start);
        Mamba3Instance tail = other.Tokens(cut, p.length, start);
        using I = Mamba3Instance;
        for (auto x : {&I::q, &I::k, &I::v, &I::z, &I::vartheta}) {
          mixed.*x = head.*x;
          Append(mixed.*x, tail.*x);
        }
        for (auto x : {&I::a, &I::dt, &I::tau}) {
          for (int64_t h = 0; h < p.heads; ++h) {
            for (int64_t at = cut; at < p.length; ++at) {
              const auto i = static_cast<size_t>(h * p.length + at);
              (mixed.*x)[i] = (other.*x)[i];
            }
          }
        }
        ExpectSame(Tokens(mixed.RunReference().y, p, 0, cut),
                   Tokens(expected.y, p, 0, cut));
      });
}

// NaN in one run, all activations and its carry, changes no other run.
TEST(Mamba3Laws, NaNStaysInItsRun) {
  ForRandomProblems([](Mamba3Instance& t, std::mt19937& rng,
                       test::Regime regime) {
    t.cu_seqlens = {0, t.problem.length / 3, t.problem.length};
    Mamba3Instance packed = OneRow(t, rng, regime, Problem::Runs::kCuSeqlens);
    const Problem& p = packed.problem;
    const Mamba3Result expected = packed.RunReference();
    const int64_t cut = packed.cu_seqlens[1];
    using I = Mamba3Instance;
    for (auto x : {&I::q, &I::k, &I::v, &I::z, &I::vartheta}) {
      const size_t token = (packed.*x).size() / static_cast<size_t>(p.length);
      for (size_t i = 0; i < token * static_cast<size_t>(cut); ++i) {
        (packed.*x)[i] = kNaN;
      }
    }
    for (auto* x : {&packed.carry.theta, &packed.carry.h, &packed.carry.v}) {
      for (size_t i = 0; i < x->size() / 2; ++i) (*x)[i] = kNaN;
    }
    const Mamba3Result got = packed.RunReference();
    ExpectSame(Tokens(got.y, p, cut, p.length),
               Tokens(expected.y, p, cut, p.length));
    ExpectSame(TakeRun(got.carry, p, 2, 1), TakeRun(expected.carry, p, 2, 1));
  });
}

TEST(Mamba3Laws, HeadsOfAGroupMayChangePlaces) {
  ForRandomProblems([](Mamba3Instance& t, std::mt19937& rng,
                       test::Regime regime) {
    t.problem.groups = 2;
    t.problem.heads = 4;
    t.Fill(rng, regime);
    const std::vector<int64_t> order = {1, 0, 3, 2};
    const Mamba3Result expected = t.RunReference();
    const Mamba3Result got = t.PermuteHeads(order).RunReference();
    ExpectSame(got.y, Take(expected.y, YShape(t.problem), 3, order));
    const int64_t runs = t.CountRuns();
    const Problem& p = t.problem;
    ExpectSame(got.carry.h, Take(expected.carry.h, {runs, p.heads}, 1, order));
    ExpectSame(got.carry.k,
               Take(expected.carry.k, {runs, p.ranks, p.heads}, 2, order));
  });
}

// Powers of two pass through every sum, product and rounding.
TEST(Mamba3Laws, LinearInValuesAndCarry) {
  ForRandomProblems([](Mamba3Instance& t, std::mt19937&, test::Regime) {
    t.problem.norm_epsilon.reset();
    const Mamba3Result expected = t.RunReference();
    Mamba3Instance scaled = t;
    for (auto* x : {&scaled.v, &scaled.carry.v, &scaled.carry.h}) {
      for (float& value : *x) value *= 0x1p20f;
    }
    Mamba3Result got = scaled.RunReference();
    for (auto* x : {&got.y, &got.carry.v, &got.carry.h}) {
      for (float& value : *x) value *= 0x1p-20f;
    }
    EXPECT_EQ(got.Bits(), expected.Bits());
  });
}

// Half a turn more in the carry changes the sign of all that is rotated, and of
// no output. The rates are zero: the sum of angles rounds otherwise.
TEST(Mamba3Laws, HalfATurnIsASign) {
  ForRandomProblems(
      [](Mamba3Instance& t, std::mt19937& rng, test::Regime regime) {
        t.problem.angles = t.problem.state_dim / 2;
        t.problem.carry_in = true;
        t.Fill(rng, regime);
        for (float& x : t.vartheta) x = 0.0f;
        for (float& x : t.carry.theta) x = 0.25f;
        const Mamba3Result expected = t.RunReference();
        for (float& x : t.carry.theta) x = 0.75f;
        for (auto* part : {&t.carry.h, &t.carry.k}) {
          for (float& x : *part) x = -x;
        }
        Mamba3Result got = t.RunReference();
        ExpectSame(got.y, expected.y);
        for (auto* part : {&got.carry.h, &got.carry.k}) {
          for (float& x : *part) x = -x;
        }
        EXPECT_EQ(got.carry.h, expected.carry.h);  // zeros of either sign
        EXPECT_EQ(got.carry.k, expected.carry.k);
      });
}

// With two coordinates the pairings coincide.
TEST(Mamba3Laws, OneRankOfMimoIsSiso) {
  ForRandomProblems(
      [](Mamba3Instance& t, std::mt19937& rng, test::Regime regime) {
        t.problem.state_dim = 2;
        t.problem.angles = 1;
        t.problem.ranks = 1;
        t.problem.reduce = true;
        t.problem.variant = Problem::Variant::kMimo;
        t.Fill(rng, regime);
        for (auto* x : {&t.psi, &t.zeta, &t.phi}) x->assign(x->size(), 1.0f);
        const Mamba3Result mimo = t.RunReference();
        t.problem.reduce = false;
        t.problem.variant = Problem::Variant::kSiso;
        EXPECT_EQ(t.RunReference().Bits(), mimo.Bits());
      });
}

// The bf16 lane rounds inputs, which here have few bits, and y; nothing
// between.
TEST(Mamba3Laws, TheBf16LaneRoundsOnTheEdges) {
  ForRandomProblems([](Mamba3Instance& t, std::mt19937&, test::Regime) {
    using I = Mamba3Instance;
    for (auto x : {&I::q, &I::k, &I::v, &I::z, &I::tau, &I::vartheta}) {
      for (float& value : t.*x) value = RoundToBf16Lane(value);
    }
    t.problem.lane = Lane::kF32;
    Mamba3Result wide = t.RunReference();
    for (float& y : wide.y) y = RoundToBf16Lane(y) + 0.0f;
    t.problem.lane = Lane::kBf16;
    EXPECT_EQ(t.RunReference().Bits(), wide.Bits());
  });
}

TEST(Mamba3Laws, ExportedAnglesLieInOneTurn) {
  ForRandomProblems(
      [](Mamba3Instance& t, std::mt19937& rng, test::Regime regime) {
        t.problem.angles = t.problem.state_dim / 2;
        t.problem.runs = Problem::Runs::kRows;
        t.Fill(rng, regime);
        for (float& x : t.vartheta) x = -1e-9f;  // just below a whole turn
        for (float& x : t.carry.theta) x = 0.0f;
        for (const float theta : t.RunReference().carry.theta) {
          EXPECT_TRUE(theta >= 0.0f && theta < 1.0f) << theta;
        }
      });
}

}  // namespace
}  // namespace lockstep::reference
