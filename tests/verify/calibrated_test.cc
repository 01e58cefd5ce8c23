// The calibrated line on trial: how often it suspects correct kernels where
// scores are large, so that their roundings decide between keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/verify/envelope_problem.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/zoo.h"

namespace lockstep::verify {
namespace {

// Scores of deviation `spread`: the largest of a row near three of it.
void Spread(uint64_t seed, double spread, TestProblem* t) {
  TestRandom random(seed);
  AttentionForwardProblem& p = t->problem;
  p.q_len = 24;
  p.kv_len = 8 + random.Below(90);
  p.head_dim = 8 << random.Below(4);
  p.value_dim = 8;
  p.lane = random.Below(2) != 0 ? Lane::kF32 : Lane::kBf16;
  p.scale = 1 / std::sqrt(static_cast<double>(p.head_dim));
  if (random.Below(2) != 0) p.masks[0].kind = MaskExpr::Kind::kCausal;
  p.align.kind = static_cast<Alignment::Kind>(1);
  t->Allocate();
  for (size_t n = 0; n < 3; ++n) {
    for (size_t i = 0; i < t->elements(n); ++i) {
      t->Set(n, i, random.Normal() * (n == 0 ? spread : 1));
    }
  }
}

TEST(Calibrated, SeldomSuspectsCorrectKernelsOfLargeScores) {
  constexpr double kRate = 1e-3;  // wanted, per run
  int runs = 0, suspected = 0;
  double nearest = 0;  // largest error in units of the line
  for (const double spread : {60.0, 80.0}) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      TestProblem t;
      Spread(seed, spread, &t);
      for (const AttentionVariant& variant : AttentionZoo()) {
        const NumericProfile& profile = variant.numeric;
        if (!Fits(profile, t) || profile.exact) continue;
        AttentionEmulator(variant).Run(t.problem, t.inputs, t.outputs);
        const AttentionEnvelope envelope(profile, t.problem, 24 * 9, kRate,
                                         RangeOf(t.inputs, profile));
        const auto truth = oracle::ComputeTruth(
            t.problem, t.inputs, envelope.error_model(), {.threads = 1});
        const EnvelopeResult o =
            JudgeOutput(envelope, truth, nullptr, t.ProducedO());
        EXPECT_TRUE(o.Passed()) << variant.name() << " seed " << seed;
        ++runs;
        suspected += o.Suspicious() ? 1 : 0;
        nearest = std::max(nearest, o.worst);
      }
    }
  }
  EXPECT_GT(runs, 2000);
  EXPECT_LE(suspected, 3 * kRate * runs) << suspected << " of " << runs;
  EXPECT_GT(nearest, 0);
}

// Keys of one score beside a sink: one weight, and one rounding.
void OneScore(uint64_t seed, bool one_sided, TestProblem* t) {
  TestRandom random(seed);
  AttentionForwardProblem& p = t->problem;
  p.q_len = 2;
  p.kv_len = 1024;
  p.head_dim = 4;
  p.value_dim = 8;
  p.lane = Lane::kBf16;
  p.sink = true;
  p.scale = 1;
  t->Allocate();
  t->sink[0] = static_cast<float>(0.5 + 0.01 * static_cast<double>(seed));
  for (size_t n = 0; n < 3; ++n) {
    for (size_t i = 0; i < t->elements(n); ++i) {
      const double v = random.Normal();
      t->Set(n, i, n < 2 ? 0.3 : one_sided ? 1.5 + v / 8 : v);
    }
  }
}

// Whether the answer is suspected, with equal weights counted once or not.
bool Suspected(const TestProblem& t, bool once) {
  const NumericProfile profile = FindVariant("flash")->numeric;
  const AttentionEnvelope envelope(profile, t.problem, 16);
  oracle::ErrorModel model = envelope.error_model();
  EXPECT_EQ(model.equal_bits, 13);
  if (!once) model.equal_bits = 0;
  const auto truth =
      oracle::ComputeTruth(t.problem, t.inputs, model, {.threads = 1});
  const EnvelopeResult o = JudgeOutput(envelope, truth, nullptr, t.ProducedO());
  EXPECT_TRUE(o.Passed());
  return o.Suspicious();
}

TEST(Calibrated, CountsEqualWeightsOnce) {
  int independent = 0, lost = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TestProblem t;
    OneScore(seed, true, &t);
    AttentionEmulator(FindVariant("flash").value())
        .Run(t.problem, t.inputs, t.outputs);
    EXPECT_FALSE(Suspected(t, true)) << seed;
    independent += Suspected(t, false) ? 1 : 0;
    // A lost key of 1024 shows where values cancel.
    TestProblem signs;
    OneScore(seed, false, &signs);
    AttentionEmulator(FindVariant("flash").value())
        .Run(signs.problem, signs.inputs, signs.outputs);
    EXPECT_FALSE(Suspected(signs, true)) << seed;
    signs.problem.kv_len = 1023;
    AttentionEmulator(FindVariant("flash").value())
        .Run(signs.problem, signs.inputs, signs.outputs);
    signs.problem.kv_len = 1024;
    lost += Suspected(signs, true) ? 1 : 0;
  }
  EXPECT_GT(independent, 5);
  EXPECT_GT(lost, 10);
}

// Beside sums that are cut there is a line, too: right kernels keep it, and a
// lost key of 1024 is beyond it.
TEST(Calibrated, HasALineForSumsThatAreCut) {
  for (const char* name : {"mma-hopper", "flash-cut-sums"}) {
    const AttentionVariant variant = FindVariant(name).value();
    int right = 0, lost = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      TestProblem t;
      OneScore(seed, false, &t);
      // Scores of all sizes.
      TestRandom random(seed + 100);
      for (size_t i = 0; i < t.elements(1); ++i) {
        t.Set(1, i, random.Normal() / 2);
      }
      const AttentionEnvelope envelope(variant.numeric, t.problem, 16, 1e-3,
                                       RangeOf(t.inputs, variant.numeric));
      const auto truth = oracle::ComputeTruth(
          t.problem, t.inputs, envelope.error_model(), {.threads = 1});
      for (const int64_t keys : {1024, 1023}) {
        t.problem.kv_len = keys;
        AttentionEmulator(variant).Run(t.problem, t.inputs, t.outputs);
        t.problem.kv_len = 1024;
        const EnvelopeResult o =
            JudgeOutput(envelope, truth, nullptr, t.ProducedO());
        EXPECT_TRUE(o.Passed()) << name << seed;
        (keys == 1024 ? right : lost) += o.Suspicious() ? 1 : 0;
      }
    }
    EXPECT_EQ(right, 0) << name;
    EXPECT_GT(lost, 10) << name;
  }
}

// A weight below the smallest normal number is a whole number of 2^-149: its
// rounding is no 2^-24 of it, and a large value shows that.
TEST(Calibrated, KnowsThatSmallWeightsAreSubnormal) {
  TestProblem t;
  AttentionForwardProblem& p = t.problem;
  p.q_len = p.head_dim = p.value_dim = 1;
  p.kv_len = 2;
  p.scale = 1;
  t.Allocate();
  t.Set(0, 0, -100);
  t.Set(1, 1, 1);  // scores 0 and -100
  t.Set(2, 1, 1024);
  const AttentionEnvelope envelope(FindVariant("cpu")->numeric, p, 1);
  const auto truth =
      oracle::ComputeTruth(p, t.inputs, envelope.error_model(), {});
  const Bounds bounds =
      envelope.Output(truth, 0, 0, envelope.ForRow(truth.rows[0]));
  // exp(-100) is 26.55 of them.
  EXPECT_TRUE(bounds.likely.Contains(1024 * 27 * 0x1p-149));
  EXPECT_TRUE(bounds.likely.Contains(1024 * 26 * 0x1p-149));
}

// The line is there: an error of twice its width is suspected, not accused.
TEST(Calibrated, SuspectsErrorsBeyondTheLine) {
  TestProblem t;
  Spread(3, 60, &t);
  const AttentionVariant variant =
      FindVariant(t.problem.lane == Lane::kF32 ? "cpu" : "flash").value();
  AttentionEmulator(variant).Run(t.problem, t.inputs, t.outputs);
  const AttentionEnvelope envelope(variant.numeric, t.problem, 24 * 9);
  const auto truth =
      oracle::ComputeTruth(t.problem, t.inputs, envelope.error_model(), {});
  int planted = 0;
  for (size_t at = 0; at < truth.o.size(); ++at) {
    const Bounds bounds = envelope.Output(truth, at / 8, at % 8,
                                          envelope.ForRow(truth.rows[at / 8]));
    const double right = t.GetOutput(at);
    t.SetOutput(at, bounds.truth + 2 * bounds.likely_error);
    const double wrong = t.GetOutput(at);
    t.SetOutput(at, right);
    if (!(bounds.error > 2.5 * bounds.likely_error) ||
        !bounds.allowed.Contains(wrong) || wrong == bounds.likely.hi) {
      continue;
    }
    ++planted;
    EXPECT_FALSE(bounds.likely.Contains(wrong)) << at;
  }
  EXPECT_GT(planted, 10);
}

}  // namespace
}  // namespace lockstep::verify
