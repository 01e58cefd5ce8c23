// Exact probes on trial: correct variants answer what is expected, single wrong
// keys do not.
#include "verify/allowed/attention_forward/probes.h"

#include <gtest/gtest.h>

#include "tests/verify/envelope_problem.h"
#include "tests/verify/probe_problem.h"
#include "verify/case/attention_forward/probe.h"
#include "verify/emulator/attention_forward/zoo.h"

namespace lockstep::verify {
namespace {

TEST(Probes, NeverAccuseTheZoo) {
  ProbeTally tally;
  for (uint64_t seed = 2000; seed < 2020; ++seed) {
    for (const ProbeInfo& probe : Probes()) {
      TestProblem t;
      RandomProblem(seed, &t);
      // Every second problem keeps its own sinks, if it has any.
      FillWithProbe(probe.kind, seed, &t, seed % 2 != 0);
      for (const AttentionVariant& variant : AttentionZoo()) {
        TryVariant(variant, probe.kind, seed, &t, &tally);
      }
    }
  }
  EXPECT_GT(tally.single, tally.elements / 5);
  EXPECT_LT(tally.open, tally.elements / 20);
  EXPECT_GT(tally.runs, 2500);
}

// One key dropped, leaked or doubled among 4096, by arithmetic on the sums.
TEST(Probes, SeeOneKeyInManyThousand) {
  TestProblem t;
  t.problem.q_len = 1;
  t.problem.kv_len = 4096;
  t.problem.head_dim = 1;
  t.problem.value_dim = 16;
  t.problem.lane = Lane::kBf16;
  t.Allocate();
  const NumericProfile flash = FindVariant("flash").value().numeric;
  for (const ProbeKind kind : {ProbeKind::kCancel, ProbeKind::kPrefix}) {
    FillWithProbe(kind, 3, &t, false);
    const auto expected =
        ExpectProbe({kind, t.problem, t.inputs, flash, 3}, nullptr).o;
    const auto answer = [&](int64_t key, int times) {
      for (int64_t c = 0; c < 16; ++c) {
        double sum = 0, count = 0;
        for (int64_t j = 0; j < 4096; ++j) {
          const int weight = j == key ? times : 1;
          sum += weight * static_cast<double>(ProbeElement(kind, t.problem, 3,
                                                           2, {0, 0, j, c}));
          count += weight;
        }
        t.SetOutput(static_cast<size_t>(c), sum / count);
      }
      return JudgeProbe(expected, nullptr, t.ProducedO()).Passed();
    };
    EXPECT_TRUE(answer(0, 1));
    for (const int64_t key : {int64_t{0}, int64_t{1000}, int64_t{4095}}) {
      EXPECT_FALSE(answer(key, 0)) << key;
      EXPECT_FALSE(answer(key, 2)) << key;
    }
  }
}

// In a row of one key o is v: no kernel whose weight is 1 may miss it, however
// near, and one of other weights by a few roundings.
TEST(Probes, ARowOfOneKeyIsHeldToItsLastPlace) {
  TestProblem t;
  t.problem.q_len = t.problem.kv_len = t.problem.head_dim = 1;
  t.problem.value_dim = 16;
  t.Allocate();
  const auto widest = [&](auto set) {
    NumericProfile profile = LoadProfile("cpu-f32").value();
    set(profile);
    double width = 0;
    for (const ProbeKind kind : {ProbeKind::kCancel, ProbeKind::kPrefix}) {
      FillWithProbe(kind, 3, &t, false);
      const ProbeRequest request{kind, t.problem, t.inputs, profile, 3};
      for (size_t c = 0; c < 16; ++c) {
        const double v = ProbeElement(kind, t.problem, 3, 2,
                                      {0, 0, 0, static_cast<int64_t>(c)});
        const ValueSet allowed = ExpectProbe(request, nullptr).o[c];
        EXPECT_TRUE(allowed.Contains(v));
        width = std::max(width, (allowed.hi - allowed.lo) / std::fabs(v));
      }
    }
    return width;
  };
  const auto as_it_is = [](NumericProfile&) {};
  EXPECT_EQ(widest(as_it_is), 0);
  EXPECT_EQ(widest([](auto& p) { p.normalise = Normalise::kBefore; }), 0);
  EXPECT_EQ(widest([](auto& p) { p.p = NumberType::kBf16; }), 0);
  EXPECT_EQ(widest([](auto& p) { p.division_rel = 0x1p-20; }), 0x1p-18);
  const double other = widest([](auto& p) {
    p.exp_zero = ExpZero::kWeights;
    p.splits = 1;
  });
  EXPECT_GT(other, 0);
  EXPECT_LT(other, 0x1p-20);
}

// Slack is no wider than it must be: one key of 16384 leaves the sets of some
// channel for every declared arithmetic that allows it.
TEST(Probes, SeeOneKeyUnderEveryArithmetic) {
  constexpr int64_t kKeys = 16384;
  TestProblem t;
  t.problem.q_len = 1;
  t.problem.kv_len = kKeys;
  t.problem.head_dim = 1;
  t.problem.value_dim = 8;
  t.problem.softcap = 50;
  t.problem.lane = Lane::kBf16;
  t.Allocate();
  for (const char* name : {"flash", "flash-no-max", "flash-no-max-cut",
                           "flash-fixed-max", "unfused-bf16", "unfused-no-max",
                           "flash-exp-zero", "flash-lazy-no-split", "mma"}) {
    const NumericProfile profile = FindVariant(name).value().numeric;
    bool seen = false;
    for (const ProbeKind kind : {ProbeKind::kCancel, ProbeKind::kPrefix}) {
      ASSERT_EQ(WhyNotProbe(kind, t.problem, profile), "") << name;
      const auto expected =
          ExpectProbe({kind, t.problem, t.inputs, profile, 3}, nullptr).o;
      for (int64_t c = 0; c < 8; ++c) {
        double sum = 0;
        for (int64_t j = 0; j < kKeys; ++j) {
          sum += static_cast<double>(
              ProbeElement(kind, t.problem, 3, 2, {0, 0, j, c}));
        }
        const ValueSet& set = expected[static_cast<size_t>(c)];
        const double dropped = static_cast<double>(
            ProbeElement(kind, t.problem, 3, 2, {0, 0, 1000, c}));
        EXPECT_TRUE(set.lo <= sum / kKeys * 1.01 + 1e-9) << name;
        seen |= !set.Contains((sum - dropped) / (kKeys - 1));
      }
    }
    EXPECT_TRUE(seen) << name;
  }
}

TEST(Probes, AreLeftOutWhereEqualWeightsMayRoundApart) {
  AttentionForwardProblem p;
  p.kv_len = 40;
  p.lane = Lane::kBf16;
  p.softcap = 50;
  const auto why = [&](ProbeKind kind, auto&& change) {
    NumericProfile profile = FindVariant("flash").value().numeric;
    change(&profile);
    return WhyNotProbe(kind, p, profile);
  };
  using P = NumericProfile*;
  const auto lazy = [](P q) { q->max = {MaxPolicy::Kind::kLazy, 90}; };
  EXPECT_NE(why(ProbeKind::kReset, lazy), "");
  EXPECT_EQ(why(ProbeKind::kSelect, lazy), "");  // one key
  EXPECT_EQ(why(ProbeKind::kCancel, lazy), "");  // scores of 0
  EXPECT_EQ(why(ProbeKind::kReset, [&](P q) { lazy(q), q->splits = 1; }), "");
  const auto inexact = [](P q) {
    q->exp_rel = 0x1p-13;
    q->exp_zero = ExpZero::kWeights;
  };
  EXPECT_EQ(why(ProbeKind::kCancel, inexact), "");
  EXPECT_NE(why(ProbeKind::kCancel,
                [&](P q) { inexact(q), q->p_round = Rounding::kTruncate; }),
            "");
  EXPECT_NE(why(ProbeKind::kSelect,
                [&](P q) {
                  inexact(q);
                  q->normalise = Normalise::kBefore;
                  q->max = {MaxPolicy::Kind::kTwoPass, 0};
                  q->splits = 1;
                }),
            "");
  EXPECT_NE(why(ProbeKind::kCancel,
                [](P q) { q->max = {MaxPolicy::Kind::kFixed, 200}; }),
            "");
  p.scale = 1e-3;  // the high query is 2^20
  EXPECT_NE(
      why(ProbeKind::kSelect, [](P q) { q->operand_qk = NumberType::kF16; }),
      "");
}

// Each amount of the derivation, once.
TEST(ProbeWeights, SlackIsAsDerived) {
  AttentionForwardProblem p;
  p.kv_len = 1024;
  p.lane = Lane::kBf16;
  const auto error = [&](const char* name, double score, double abs_sum) {
    return MakeTopSlack(score, p, FindVariant(name).value().numeric)
        .For({1024, 1024, abs_sum});
  };
  // A common factor that bf16 rounds: relative, not absolute.
  for (const char* name : {"flash-no-max", "unfused-bf16"}) {
    const ProbeError e = error(name, 50, 5000);
    EXPECT_GE(e.relative, 0x1p-8) << name;
    EXPECT_LE(e.relative, 0x1.1p-8) << name;
    EXPECT_LE(e.absolute, 0x1p-12) << name;
  }
  EXPECT_GE(error("flash-no-max-cut", 50, 5000).relative, 0x1p-7);
  EXPECT_LE(error("flash-no-max", 0, 5000).relative, 0x1p-20);
  EXPECT_EQ(error("unfused-bf16", 0, 5000).absolute, 0);
  // Beyond 2^16 sums of 8-bit numbers round, once per key.
  EXPECT_GE(error("unfused-bf16", 0, 70000).absolute, 1024 * 0x1p-24);
  EXPECT_GE(error("cpu-unfused", 0, 5000).absolute, 1024 * 0x1p-24);
  EXPECT_LE(error("cpu-unfused", 0, 5000).absolute, 1060 * 0x1p-24);
  // f16 has no numbers near 2^-17 that are good to 2^-11.
  EXPECT_GE(MakeTopSlack(0, p, FindVariant("unfused-f16").value().numeric)
                .For({131072, 131072, 5000})
                .relative,
            0x1p-8);
  // An inexact exp(0) shows in f32 weights, and in the sum of bf16 ones.
  EXPECT_GE(error("cpu-exp-zero", 0, 5000).absolute, 0x1p-12);
  EXPECT_GE(error("flash-exp-zero", 0, 5000).relative, 0x1p-13);
  EXPECT_LE(error("flash-exp-zero", 0, 5000).absolute, 0x1p-12);
  EXPECT_GE(error("flash-exp-drift", 0, 5000).absolute, 66 * 0x1p-15);
}

TEST(Probes, AreExactAtZeroWithoutSplits) {
  TestProblem t;
  t.problem.q_len = t.problem.kv_len = 64;
  t.problem.value_dim = 4;
  t.problem.masks[0].kind = MaskExpr::Kind::kCausal;
  t.Allocate();
  NumericProfile profile = FindVariant("cpu").value().numeric;
  profile.splits = 1;
  const auto expected =
      ExpectProbe({ProbeKind::kCancel, t.problem, t.inputs, profile, 3},
                  nullptr)
          .o;
  int zeros = 0;
  for (const ValueSet& set : expected) {
    EXPECT_FALSE(set.lo < 0 && 0 < set.hi);
    zeros += set.lo == 0 && set.hi == 0 ? 1 : 0;
  }
  EXPECT_GT(zeros, 4);  // a sixteenth, about
  // A run from the first key on never sums to 0 in prefix.
  for (const ValueSet& set :
       ExpectProbe({ProbeKind::kPrefix, t.problem, t.inputs, profile, 3},
                   nullptr)
           .o) {
    EXPECT_GT(set.lo, 0);
  }
}

TEST(Probes, SayWhyTheirShapeDoesNotFit) {
  AttentionForwardProblem p;
  p.kv_len = 8;
  p.head_dim = 8;
  const NumericProfile cpu = FindVariant("cpu").value().numeric;
  const auto why = [&](ProbeKind kind) { return WhyNotProbe(kind, p, cpu); };
  EXPECT_NE(why(ProbeKind::kSink), "");
  p.sink = true;
  for (const ProbeKind kind :
       {ProbeKind::kSink, ProbeKind::kComb, ProbeKind::kThirds,
        ProbeKind::kThirdsNext, ProbeKind::kHoles, ProbeKind::kDeep}) {
    EXPECT_EQ(why(kind), "") << ProbeName(kind);
  }
  p.q_len = 2;
  EXPECT_NE(why(ProbeKind::kThirdsNext), "");
  p.head_dim = 4;
  EXPECT_NE(why(ProbeKind::kThirds), "");
  EXPECT_EQ(why(ProbeKind::kComb), "");
  p.head_dim = 1;
  EXPECT_NE(why(ProbeKind::kComb), "");
  EXPECT_NE(why(ProbeKind::kHoles), "");
  EXPECT_EQ(why(ProbeKind::kDeep), "");
  p.softcap = 50;
  EXPECT_NE(why(ProbeKind::kDeep), "");
}

// Neighbouring rows, heads and batch rows hold other classes, and the keys of
// other kv heads and batch rows begin with another one.
TEST(Probes, TellRowsHeadsAndBatchRowsApart) {
  AttentionForwardProblem p;
  p.q_heads = 4;
  p.kv_heads = 2;
  p.batch = 2;
  p.head_dim = 64;
  for (const int64_t rows : {1, 16, 64, 200}) {
    p.q_len = rows;
    for (const ProbeKind kind : {ProbeKind::kComb, ProbeKind::kThirds}) {
      const int64_t here = ProbeRowLabel(kind, p, {0, 1, 7});
      EXPECT_NE(here, ProbeRowLabel(kind, p, {0, 1, 8}));
      EXPECT_NE(here, ProbeRowLabel(kind, p, {0, 2, 7})) << rows;
      EXPECT_NE(here, ProbeRowLabel(kind, p, {1, 1, 7}));
      const int64_t key = ProbeKeyLabel(kind, p, 1, {0, 0, 9});
      EXPECT_NE(key, ProbeKeyLabel(kind, p, 1, {0, 0, 10}));
      EXPECT_NE(key, ProbeKeyLabel(kind, p, 1, {0, 1, 9}));
      EXPECT_NE(key, ProbeKeyLabel(kind, p, 1, {1, 0, 9}));
    }
  }
}

TEST(Probes, HaveAPrimeNumberOfClasses) {
  EXPECT_EQ(ProbeClasses(ProbeKind::kComb, 2), 2);
  EXPECT_EQ(ProbeClasses(ProbeKind::kComb, 4), 3);
  EXPECT_EQ(ProbeClasses(ProbeKind::kComb, 64), 61);
  EXPECT_EQ(ProbeClasses(ProbeKind::kComb, 128), 127);
  EXPECT_EQ(ProbeClasses(ProbeKind::kComb, 256), 251);
  EXPECT_EQ(ProbeClasses(ProbeKind::kThirds, 256), 3);
}

TEST(Probes, SayWhyTheyProveNothing) {
  AttentionForwardProblem p;
  p.kv_len = 8;
  const NumericProfile cpu = FindVariant("cpu").value().numeric;
  EXPECT_EQ(WhyNotProbe(ProbeKind::kSelect, p, cpu), "");
  p.softcap = 2;
  EXPECT_EQ(WhyNotProbe(ProbeKind::kCancel, p, cpu), "");
  EXPECT_NE(WhyNotProbe(ProbeKind::kSelect, p, cpu), "");
  p.softcap = 50;
  EXPECT_EQ(WhyNotProbe(ProbeKind::kSelect, p, cpu), "");
  NumericProfile bf16_sums = cpu;
  bf16_sums.acc_pv.kind = Accumulator::Kind::kBf16;
  EXPECT_NE(WhyNotProbe(ProbeKind::kCancel, p, bf16_sums), "");
  EXPECT_TRUE(FindProbe("cancel").ok());
  EXPECT_FALSE(FindProbe("cancell").ok());
}

}  // namespace
}  // namespace lockstep::verify
