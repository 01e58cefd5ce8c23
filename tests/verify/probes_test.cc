// Exact probes on trial: correct variants answer what is expected, single wrong
// keys do not.
#include "verify/probes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/verify/envelope_problem.h"
#include "verify/emulator/attention_forward.h"
#include "verify/zoo.h"

namespace lockstep::verify {
namespace {

void FillWithProbe(ProbeKind kind, uint64_t seed, TestProblem* t) {
  const LaneView* views[] = {&t->inputs.q, &t->inputs.k, &t->inputs.v};
  for (int n = 0; n < 3; ++n) {
    const auto& s = views[n]->shape;
    for (int64_t at = 0; at < s[0] * s[1] * s[2] * s[3]; ++at) {
      t->Set(static_cast<size_t>(n), static_cast<size_t>(at),
             static_cast<double>(ProbeElement(
                 kind, t->problem, seed, n,
                 {at / (s[1] * s[2] * s[3]), at / (s[2] * s[3]) % s[1],
                  at / s[3] % s[2], at % s[3]})));
    }
  }
}

TEST(Probes, NeverAccuseTheZoo) {
  int64_t elements = 0, single = 0;
  for (uint64_t seed = 2000; seed < 2020; ++seed) {
    for (const ProbeInfo& probe : Probes()) {
      TestProblem t;
      RandomProblem(seed, &t);
      FillWithProbe(probe.kind, seed, &t);
      for (const AttentionVariant& variant : AttentionZoo()) {
        if (!Fits(variant.numeric, t) ||
            !WhyNotProbe(probe.kind, t.problem, variant.numeric).empty()) {
          continue;
        }
        AttentionEmulator(variant).Run(t.problem, t.inputs, t.outputs);
        const auto expected = ProbeExpectation(probe.kind, t.problem, t.inputs,
                                               variant.numeric, seed, nullptr);
        EXPECT_TRUE(JudgeProbe(expected, nullptr, t.ProducedO()).Passed())
            << probe.name << " " << variant.name() << " seed " << seed;
        for (const ValueSet& set : expected) {
          ++elements;
          single += set.lo == set.hi ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(single, elements / 5);
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
    FillWithProbe(kind, 3, &t);
    const auto expected =
        ProbeExpectation(kind, t.problem, t.inputs, flash, 3, nullptr);
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

TEST(Probes, AreExactAtZeroWithoutSplits) {
  TestProblem t;
  t.problem.q_len = t.problem.kv_len = 64;
  t.problem.value_dim = 4;
  t.problem.masks[0].kind = MaskExpr::Kind::kCausal;
  t.Allocate();
  NumericProfile profile = FindVariant("cpu").value().numeric;
  profile.splits = 1;
  const auto expected = ProbeExpectation(ProbeKind::kPrefix, t.problem,
                                         t.inputs, profile, 3, nullptr);
  int zeros = 0;
  for (const ValueSet& set : expected) {
    EXPECT_FALSE(set.lo < 0 && 0 < set.hi);
    zeros += set.lo == 0 && set.hi == 0 ? 1 : 0;
  }
  EXPECT_EQ(zeros, 128);  // every second row
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
