// Elements that have no bound worth the name: correct kernels lie inside what
// is left, NaN, infinity and garbage outside, and none of it counts as inside.
#include <gtest/gtest.h>

#include "tests/verify/envelope_problem.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/zoo.h"

namespace lockstep::verify {
namespace {

struct Wide {
  TestProblem t;
  EnvelopeResult o, lse;

  void Judge(const NumericProfile& profile,
             oracle::Target target = oracle::SupportedTargets().back()) {
    const AttentionEnvelope envelope(profile, t.problem, 1e6);
    const auto truth =
        oracle::ComputeTruth(t.problem, t.inputs, envelope.error_model(),
                             {.threads = 1, .target = target});
    o = JudgeOutput(envelope, truth, nullptr, t.ProducedO());
    lse = JudgeLse(envelope, truth, nullptr, t.ProducedLse());
  }
};

// `keys` keys of ordinary data, four rows.
void Fill(Lane lane, int64_t keys, uint64_t seed, Wide* w) {
  AttentionForwardProblem& p = w->t.problem;
  p.q_len = 4;
  p.kv_len = keys;
  p.head_dim = p.value_dim = 8;
  p.scale = 0.35;
  p.lane = lane;
  p.sink = seed % 2 == 0;
  w->t.Allocate();
  TestRandom random(seed);
  for (size_t n = 0; n < 3; ++n) {
    for (size_t i = 0; i < w->t.elements(n); ++i) {
      w->t.Set(n, i, random.Normal() * (n == 2 ? 1 : 1.5));
    }
  }
}

// The flash kernel with sums of weights, or of weighted values, in bf16.
AttentionVariant InBf16(const char* base, bool weights) {
  AttentionVariant variant = FindVariant(base).value();
  NumericProfile& profile = variant.numeric;
  (weights ? profile.acc_l : profile.acc_pv).kind = Accumulator::Kind::kBf16;
  return variant;
}

TEST(WideEnvelope, HoldsCorrectKernels) {
  int64_t open = 0;
  for (const char* base : {"flash", "splash", "mma", "cpu"}) {
    for (const bool weights : {true, false}) {
      for (uint64_t seed = 0; seed < 12; ++seed) {
        const AttentionVariant variant = InBf16(base, weights);
        Wide w;
        const Lane lane = variant.numeric.lane.value_or(Lane::kBf16);
        Fill(lane, 100 + 97 * static_cast<int64_t>(seed), seed, &w);
        AttentionEmulator(variant).Run(w.t.problem, w.t.inputs, w.t.outputs);
        w.Judge(variant.numeric);
        EXPECT_TRUE(w.o.Passed()) << base << weights << seed;
        EXPECT_TRUE(w.lse.Passed()) << base << weights << seed;
        open += w.o.Open() + w.lse.Open();
        if (w.t.problem.kv_len > 300) {
          EXPECT_EQ(w.o.inside, 0) << base << weights << seed;
          EXPECT_TRUE(w.o.MostlyOpen());
          EXPECT_EQ(w.o.unbounded, 0) << base << weights << seed;
        }
      }
    }
  }
  EXPECT_GT(open, 1000);
}

TEST(WideEnvelope, ExcludesWhatNoSumCanBe) {
  for (const bool weights : {true, false}) {
    const AttentionVariant variant = InBf16("flash", weights);
    Wide w;
    Fill(Lane::kBf16, 512, 3, &w);
    AttentionEmulator(variant).Run(w.t.problem, w.t.inputs, w.t.outputs);
    for (const double wrong : {kNaN, kInf, -kInf, 7e8}) {
      const double right = w.t.GetOutput(13);
      w.t.SetOutput(13, wrong);
      w.Judge(variant.numeric);
      EXPECT_EQ(w.o.outside, 1) << wrong << weights;
      w.t.SetOutput(13, right);
    }
    for (const double wrong : {kNaN, kInf, -kInf, 1e4}) {
      const float right = w.t.lse[2];
      w.t.lse[2] = static_cast<float>(wrong);
      w.Judge(variant.numeric);
      EXPECT_EQ(w.lse.outside, 1) << wrong << weights;
      w.t.lse[2] = right;
    }
  }
}

// Where a sum can overflow nothing is excluded, and nothing counts as inside.
TEST(WideEnvelope, LeavesOverflowAlone) {
  Wide w;
  Fill(Lane::kF32, 300, 5, &w);
  for (size_t i = 0; i < w.t.elements(2); ++i) w.t.Set(2, i, 3e38);
  const AttentionVariant variant = FindVariant("cpu").value();
  w.t.SetOutput(0, kNaN);
  w.Judge(variant.numeric);
  EXPECT_EQ(w.o.unbounded, w.o.expected);
}

// A sum of 4096 equal weights in bf16 stops growing at 256, a sixteenth of what
// it should be, so that the mean of ones comes out as 16: correct, and far more
// than the largest value.
TEST(WideEnvelope, HoldsASumThatStagnates) {
  AttentionVariant variant = FindVariant("cpu-two-pass").value();
  variant.numeric.acc_l.kind = Accumulator::Kind::kBf16;
  variant.numeric.splits = 1;
  Wide w;
  Fill(Lane::kF32, 4096, 5, &w);
  for (size_t i = 0; i < w.t.elements(0); ++i) w.t.Set(0, i, 0);
  for (size_t i = 0; i < w.t.elements(2); ++i) w.t.Set(2, i, 1);
  AttentionEmulator(variant).Run(w.t.problem, w.t.inputs, w.t.outputs);
  EXPECT_EQ(w.t.GetOutput(0), 16);
  w.Judge(variant.numeric);
  EXPECT_EQ(w.o.unbounded, 0);
  EXPECT_EQ(w.o.outside, 0);
}

// 400 values of 1e36 overflow while the maximum, which comes with the last key
// and leaves next to nothing of them, is not known.
TEST(WideEnvelope, HoldsASumThatOverflowsBeforeItsMaximum) {
  const AttentionVariant variant = FindVariant("cpu").value();
  Wide w;
  Fill(Lane::kF32, 401, 5, &w);
  for (size_t i = 0; i < w.t.elements(0); ++i) w.t.Set(0, i, 4);
  for (size_t i = 0; i < w.t.elements(1); ++i) {
    w.t.Set(1, i, i / 8 == 400 ? 6 : 0);
  }
  for (size_t i = 0; i < w.t.elements(2); ++i) {
    w.t.Set(2, i, i / 8 == 400 ? 1 : 1e36);
  }
  AttentionEmulator(variant).Run(w.t.problem, w.t.inputs, w.t.outputs);
  EXPECT_EQ(w.t.GetOutput(0), kInf);
  w.Judge(variant.numeric);
  EXPECT_EQ(w.o.unbounded, w.o.expected);
}

// Two products cancel, and a third is small beside them: some orders of the
// channels lose it. Its scaled score is -1221, so that the truth's weight is 0
// in binary64; that of a kernel which lost it is 1.
void FillCancelling(Lane lane, bool sink, Wide* w) {
  AttentionForwardProblem& p = w->t.problem;
  p.kv_len = sink ? 1 : 2;
  p.head_dim = 3;
  p.value_dim = 1;
  p.scale = 1e7;
  p.lane = lane;
  p.sink = sink;
  w->t.Allocate();
  const double q[] = {0x1p12, -0x1p12, 1}, k[] = {1, 1, -0x1p-13};
  for (size_t c = 0; c < 3; ++c) {
    w->t.Set(0, c, q[c]);
    w->t.Set(1, c, k[c]);  // of the second key all are 0
  }
  w->t.Set(2, 0, 1);
}

TEST(WideEnvelope, HoldsAScoreThatIsOffByMoreThanItIsBelowTheLargest) {
  int lost = 0;
  for (const char* name : {"cpu", "cpu-backward", "cpu-lanes", "cpu-pairwise",
                           "cpu-base2", "cpu-two-pass", "exact", "flash"}) {
    for (const bool sink : {true, false}) {
      const AttentionVariant variant = FindVariant(name).value();
      Wide w;
      FillCancelling(variant.numeric.lane.value_or(Lane::kF32), sink, &w);
      AttentionEmulator(variant).Run(w.t.problem, w.t.inputs, w.t.outputs);
      lost += w.t.GetOutput(0) == 0.5;
      for (const oracle::Target target : oracle::SupportedTargets()) {
        w.Judge(variant.numeric, target);
        EXPECT_EQ(w.o.outside, 0) << name << sink;
        EXPECT_EQ(w.lse.outside, 0) << name << sink;
        EXPECT_EQ(w.o.inside, 0) << name << sink;
      }
    }
  }
  EXPECT_GT(lost, 0);
}

// A finite bound that is wider than a quarter of the values tells nothing.
TEST(WideEnvelope, AQuarterOfTheValuesIsVacuous) {
  Wide w;
  Fill(Lane::kBf16, 40, 3, &w);
  AttentionVariant variant = FindVariant("flash").value();
  AttentionEmulator(variant).Run(w.t.problem, w.t.inputs, w.t.outputs);
  w.Judge(variant.numeric);
  EXPECT_EQ(w.o.inside, w.o.expected);
  variant.numeric.exp_rel = 0.3;
  w.Judge(variant.numeric);
  EXPECT_GT(w.o.vacuous, 0);
  EXPECT_EQ(w.o.inside + w.o.vacuous, w.o.expected);
  EXPECT_TRUE(w.o.MostlyOpen());
}

}  // namespace
}  // namespace lockstep::verify
