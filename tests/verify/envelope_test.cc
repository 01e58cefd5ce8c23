// Envelopes on trial: correct variants lie inside, planted defects outside, and
// the verdicts state passing.
#include "verify/allowed/attention_forward/envelope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/verify/envelope_problem.h"
#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/zoo.h"

namespace lockstep::verify {
namespace {

// A correct candidate's answer, its truth and its envelope.
struct Judged {
  TestProblem t;
  std::optional<AttentionEnvelope> envelope;
  oracle::AttentionTruth truth;

  EnvelopeResult O() const {
    return JudgeOutput(*envelope, truth, nullptr, t.ProducedO());
  }
  EnvelopeResult L() const {
    return JudgeLse(*envelope, truth, nullptr, t.ProducedLse());
  }
  Bounds Output(size_t r, size_t c) const {
    return envelope->Output(truth, r, c, envelope->ForRow(truth.rows[r]));
  }
};

void RunVariant(const AttentionVariant& variant, Judged* j) {
  AttentionEmulator(variant).Run(j->t.problem, j->t.inputs, j->t.outputs);
  j->envelope.emplace(variant.numeric, j->t.problem, 1e6);
  j->truth = oracle::ComputeTruth(j->t.problem, j->t.inputs,
                                  j->envelope->error_model(), {.threads = 1});
}

// Causal attention of 33 keys with ordinary data.
void Causal(Lane lane, Judged* j) {
  AttentionForwardProblem& p = j->t.problem;
  p.q_heads = p.kv_heads = 2;
  p.q_len = p.kv_len = 33;
  p.head_dim = p.value_dim = 8;
  p.scale = 0.375;
  p.softcap = 20;
  p.lane = lane;
  p.masks[0].kind = MaskExpr::Kind::kCausal;
  j->t.Allocate();
  TestRandom random(7);
  for (size_t n = 0; n < 3; ++n) {
    for (size_t i = 0; i < j->t.elements(n); ++i) {
      j->t.Set(n, i, random.Normal());
    }
  }
  RunVariant(FindVariant(lane == Lane::kF32 ? "cpu" : "flash").value(), j);
}

TEST(RoundedSet, RoundsOnceToNearestEven) {
  const auto bf16 = [](double lo, double hi) {
    return RoundedSet(lo, hi, Lane::kBf16, Rounding::kNearest);
  };
  EXPECT_EQ(bf16(1, 1).lo, 1);
  // Halfway between 1 and 1 + 2^-7: to even. Just above: not through f32.
  EXPECT_EQ(bf16(1 + 0x1p-8, 1 + 0x1p-8).hi, 1);
  EXPECT_EQ(bf16(1 + 0x1p-8 + 0x1p-40, 2).lo, 1 + 0x1p-7);
  EXPECT_EQ(bf16(1 + 3 * 0x1p-8, 2).lo, 1 + 0x1p-6);
  EXPECT_EQ(bf16(-1 - 0x1p-8, 0).lo, -1);
  EXPECT_EQ(bf16(0x1p-133, 0x1p-133).hi, 0x1p-133);
  EXPECT_EQ(bf16(0x1p-134, 0x1p-134).hi, 0);
  EXPECT_EQ(bf16(0x1.fep127, 0x1.fep127).hi, 0x1.fep127);
  EXPECT_EQ(bf16(0, 0x1.ffp127).hi, kInf);
  EXPECT_EQ(bf16(-0x1.ffp127, 0).lo, -kInf);
  const ValueSet f32 =
      RoundedSet(1 + 0x1p-24, 1 + 0x1.8p-23, Lane::kF32, Rounding::kNearest);
  EXPECT_EQ(f32.lo, 1);
  EXPECT_EQ(f32.hi, 1 + 0x1p-22);
  EXPECT_FALSE(f32.nan);
}

TEST(RoundedSet, KnowsDirectedRounding) {
  const auto set = [](double lo, double hi, Rounding rounding) {
    return RoundedSet(lo, hi, Lane::kBf16, rounding);
  };
  const ValueSet faithful = set(1.001, 1.001, Rounding::kFaithful);
  EXPECT_EQ(faithful.lo, 1);
  EXPECT_EQ(faithful.hi, 1 + 0x1p-7);
  EXPECT_EQ(set(1.007, 1.007, Rounding::kTruncate).hi, 1);
  EXPECT_EQ(set(-1.007, -1.007, Rounding::kTruncate).lo, -1);
  EXPECT_EQ(set(-1.007, -1.007, Rounding::kTruncate).hi, -1);
}

TEST(RoundedSet, OfNaNIsTheWholeLine) {
  EXPECT_TRUE(RoundedSet(kNaN, 1, Lane::kF32, Rounding::kNearest).Unbounded());
  EXPECT_TRUE(RoundedSet(0, kNaN, Lane::kF32, Rounding::kNearest).Unbounded());
  EXPECT_FALSE(RoundedSet(0, 1, Lane::kF32, Rounding::kNearest).Unbounded());
}

TEST(ValueSet, ContainsNaNOnlyWhereSaid) {
  const ValueSet set{1, 2, false};
  EXPECT_TRUE(set.Contains(1));
  EXPECT_TRUE(set.Contains(2));
  EXPECT_FALSE(set.Contains(0.999));
  EXPECT_FALSE(set.Contains(2.001));
  EXPECT_FALSE(set.Contains(kNaN));
  EXPECT_FALSE(set.Contains(kInf));
  EXPECT_TRUE((ValueSet{1, -1, true}).Contains(kNaN));
  EXPECT_FALSE((ValueSet{1, -1, true}).Contains(0));
}

TEST(EnvelopeResult, PassesOnlyWhenEverythingWasJudged) {
  EnvelopeResult result;
  EXPECT_FALSE(result.Passed());
  result.expected = 3;
  result.inside = 2;
  EXPECT_FALSE(result.Passed());
  result.unbounded = 1;
  EXPECT_TRUE(result.Passed());
  EXPECT_FALSE(result.Vacuous());
  result.outside = 1;
  EXPECT_FALSE(result.Passed());
  EnvelopeResult vacuous;
  vacuous.expected = vacuous.unbounded = 3;
  EXPECT_TRUE(vacuous.Passed());
  EXPECT_TRUE(vacuous.Vacuous());
}

// Open elements count neither as inside nor as judged away.
TEST(EnvelopeResult, OneInSixteenMayBeOpen) {
  EnvelopeResult result;
  result.expected = 32;
  result.inside = 30;
  result.unbounded = result.vacuous = 1;
  EXPECT_TRUE(result.Passed());
  EXPECT_EQ(result.Open(), 2);
  EXPECT_FALSE(result.MostlyOpen());
  result.inside = 29;
  EXPECT_FALSE(result.Passed());
  result.vacuous = 2;
  EXPECT_TRUE(result.Passed());
  EXPECT_TRUE(result.MostlyOpen());
}

// Rows without an answer do not count, until they are more than the others.
TEST(EnvelopeResult, RowsWithoutAnAnswerMayBeHalf) {
  EnvelopeResult result;
  result.expected = 32;
  result.inside = 16;
  result.unbounded = result.unclaimed = 16;
  EXPECT_TRUE(result.Passed());
  EXPECT_FALSE(result.MostlyOpen());
  result.vacuous = 2;  // of the others
  EXPECT_TRUE(result.MostlyOpen());
  result.vacuous = 0;
  result.unbounded = result.unclaimed = 17;
  EXPECT_TRUE(result.MostlyOpen());
}

TEST(Envelope, NeverAccusesTheZoo) {
  int64_t judged = 0;
  for (uint64_t seed = 1000; seed < 1060; ++seed) {
    Judged j;
    RandomProblem(seed, &j.t);
    for (const AttentionVariant& variant : AttentionZoo()) {
      if (!Fits(variant.numeric, j.t)) continue;
      RunVariant(variant, &j);
      const EnvelopeResult o = j.O();
      EXPECT_TRUE(o.Passed()) << variant.name() << " seed " << seed;
      if (HasLse(variant.numeric)) {
        EXPECT_TRUE(j.L().Passed()) << variant.name() << " seed " << seed;
      }
      EXPECT_EQ(o.expected, o.inside + o.Open() + o.outside);
      judged += o.inside;
    }
  }
  EXPECT_GT(judged, 100000);
}

// Every element by itself: judging the first, or the first tensor, will not do.
TEST(Envelope, SeesADefectAnywhere) {
  for (const Lane lane : {Lane::kF32, Lane::kBf16}) {
    Judged j;
    Causal(lane, &j);
    ASSERT_TRUE(j.O().Passed());
    ASSERT_TRUE(j.L().Passed());
    const size_t elements = j.truth.o.size();
    for (size_t at = 0; at < elements; at += elements / 37) {
      const double right = j.t.GetOutput(at);
      const double ulp =
          std::fabs(right) * (lane == Lane::kF32 ? 0x1p-22 : 0x1p-6);
      const double error = j.Output(at / 8, at % 8).error * 1.01;
      for (const double wrong :
           {right + 2 * error + ulp, right - 2 * error - ulp, kNaN, kInf, -kInf,
            -right, right + 1}) {
        j.t.SetOutput(at, wrong);
        const EnvelopeResult result = j.O();
        EXPECT_FALSE(result.Passed()) << at << " " << wrong;
        EXPECT_EQ(result.outside, 1);
        ASSERT_TRUE(result.first.has_value());
        const auto& index = result.first->index;
        EXPECT_EQ(((index[1] * 33 + index[2]) * 8 + index[3]),
                  static_cast<int64_t>(at));
      }
      j.t.SetOutput(at, right);
    }
    for (const size_t at : {size_t{0}, size_t{40}, j.t.lse.size() - 1}) {
      const float right = j.t.lse[at];
      for (const double wrong :
           {static_cast<double>(right) + 1e-2,
            static_cast<double>(right) - 1e-2, kNaN, kInf, -kInf}) {
        j.t.lse[at] = static_cast<float>(wrong);
        EXPECT_FALSE(j.L().Passed()) << at << " " << wrong;
      }
      j.t.lse[at] = right;
    }
    EXPECT_TRUE(j.O().Passed());
  }
}

// The bound is as wide as its derivation says, neither more nor less.
TEST(Envelope, HasTheWidthOfItsProfile) {
  Judged flash;
  Causal(Lane::kBf16, &flash);
  Judged cpu;
  Causal(Lane::kF32, &cpu);
  for (size_t r = 1; r < 66; ++r) {
    for (size_t c = 0; c < 8; ++c) {
      if (r % 33 == 0) continue;  // one key: its weight is exactly 1
      const size_t at = r * 8 + c;
      const double abs_sum = flash.truth.abs_sum[at];
      const Bounds bounds = flash.Output(r, c);
      // bf16 weights: 2^-8 of sum w |v|, and little else.
      EXPECT_GE(bounds.error, 0x1p-8 * abs_sum);
      EXPECT_LE(bounds.error, 0x1.1p-8 * abs_sum);
      EXPECT_LT(bounds.likely_error, bounds.error * 1.0001);
      EXPECT_GT(bounds.likely_error, bounds.error * 0.1);
      const Bounds f32 = cpu.Output(r, c);
      EXPECT_GE(f32.error, 0x1p-23 * cpu.truth.abs_sum[at]);
      EXPECT_LE(f32.error, 0x1p-14 * cpu.truth.abs_sum[at]);
      EXPECT_GE(f32.error, cpu.truth.phi_sum[at]);
    }
  }
  EXPECT_GT(flash.O().shares[static_cast<size_t>(Cause::kP)], 0.4);
  EXPECT_TRUE(cpu.O().Dominant().find("acc_qk") != std::string::npos ||
              cpu.O().Dominant().find("_") != std::string::npos)
      << cpu.O().Dominant();
}

TEST(Envelope, WidthFollowsEachField) {
  Judged j;
  Causal(Lane::kF32, &j);
  const NumericProfile base = FindVariant("cpu").value().numeric;
  const auto width = [&](const NumericProfile& profile) {
    const AttentionEnvelope envelope(profile, j.t.problem, 1e6);
    const auto truth = oracle::ComputeTruth(j.t.problem, j.t.inputs,
                                            envelope.error_model(), {});
    return envelope.Output(truth, 20, 3, envelope.ForRow(truth.rows[20])).error;
  };
  const double plain = width(base);
  const auto wider = [&](auto&& change) {
    NumericProfile changed = base;
    change(&changed);
    return width(changed) / plain;
  };
  using P = NumericProfile*;
  EXPECT_GT(wider([](P p) { p->tanh_rel = 0x1p-11; }), 3);
  EXPECT_GT(wider([](P p) { p->exp_rel = 0x1p-11; }), 3);
  EXPECT_GT(wider([](P p) { p->p = NumberType::kBf16; }), 3);
  EXPECT_GT(wider([](P p) { p->score = NumberType::kBf16; }), 3);
  EXPECT_GT(wider([](P p) { p->state = NumberType::kBf16; }), 3);
  EXPECT_GT(wider([](P p) { p->division_rel = 0x1p-8; }), 3);
  EXPECT_GT(wider([](P p) { p->acc_pv.kind = Accumulator::Kind::kF16; }), 3);
  EXPECT_GT(wider([](P p) { p->acc_qk.kind = Accumulator::Kind::kF16; }), 3);
  EXPECT_GT(wider([](P p) { p->acc_l.kind = Accumulator::Kind::kF16; }), 3);
  EXPECT_LT(wider([](P p) { p->tile_kv = 32, p->splits = 1; }), 0.9);
  EXPECT_GT(wider([](P p) { p->operand_qk = NumberType::kTf32; }), 3);
  EXPECT_GT(wider([](P p) { p->operand_v = NumberType::kTf32; }), 3);
  const auto before = [](P p) {
    p->normalise = Normalise::kBefore;
    p->max = {MaxPolicy::Kind::kTwoPass, 0};
    p->splits = 1;
  };
  // Nothing is rescaled, and each quotient counts.
  EXPECT_LT(wider(before), 1);
  EXPECT_GT(wider([&](P p) { before(p), p->division_rel = 0x1p-8; }), 3);
  EXPECT_GT(wider([&](P p) { before(p), p->p = NumberType::kTf32; }), 3);
}

// Too many rescales are the fault of what does not limit them.
TEST(Envelope, NamesTheFieldThatMultiplies) {
  Judged j;
  Causal(Lane::kF32, &j);
  const auto share = [&](int64_t tile_kv, Cause cause) {
    AttentionVariant variant = FindVariant("cpu").value();
    variant.numeric.exp_rel = 0x1p-18;
    variant.numeric.splits = 1;
    variant.numeric.tile_kv = tile_kv;
    RunVariant(variant, &j);
    return j.O().shares[static_cast<size_t>(cause)];
  };
  EXPECT_GT(share(0, Cause::kTileKv), share(0, Cause::kExpRel));
  EXPECT_EQ(share(4, Cause::kTileKv), 0);
  EXPECT_GT(share(4, Cause::kExpRel), 0.5);
}

TEST(Envelope, LseHasTheTypeOfItsProfile) {
  Judged j;
  Causal(Lane::kF32, &j);
  NumericProfile profile = FindVariant("cpu").value().numeric;
  const auto bounds = [&] {
    return AttentionEnvelope(profile, j.t.problem, 1e6).Lse(j.truth, 40);
  };
  const Bounds plain = bounds();
  profile.lse = LseLane::kBf16;
  const Bounds narrow = bounds();
  EXPECT_EQ(narrow.allowed.lo,
            static_cast<double>(ToFloat(reference::RoundToBf16(
                static_cast<float>(plain.truth - plain.error)))));
  EXPECT_FALSE(narrow.allowed.Contains(narrow.allowed.hi + 1));
  profile.lse = LseLane::kF32;
  profile.lse_base = ExpBase::kTwo;
  EXPECT_NEAR(bounds().truth, plain.truth / std::log(2.0), 1e-9);
  EXPECT_GT(bounds().error, plain.error);
  EXPECT_LT(bounds().error, plain.error * 4);
}

TEST(Envelope, NonFiniteAndEmptyRowsFollowTheProfile) {
  Judged j;
  Causal(Lane::kF32, &j);
  j.t.inputs.valid_q = {30};
  j.t.Set(2, 0, kInf);  // visible to every row of head 0, channel 0
  RunVariant(FindVariant("cpu").value(), &j);
  EXPECT_TRUE(j.O().Passed());
  EXPECT_TRUE(j.L().Passed());
  j.t.SetOutput(0, 1.0);
  EXPECT_FALSE(j.O().Passed());
  j.t.SetOutput(0, kInf);
  EXPECT_TRUE(j.O().Passed());
  j.t.SetOutput(0, -kInf);
  EXPECT_FALSE(j.O().Passed());
  j.t.SetOutput(0, kNaN);  // 0 * inf
  EXPECT_TRUE(j.O().Passed());
  const size_t empty = 31 * 8;
  for (const double wrong : {1e-30, kNaN, kInf}) {
    j.t.SetOutput(empty, wrong);
    EXPECT_FALSE(j.O().Passed()) << wrong;
  }
  j.t.SetOutput(empty, -0.0);
  EXPECT_TRUE(j.O().Passed());
  for (const double wrong : {kInf, kNaN, 0.0, -1e30}) {
    j.t.lse[31] = static_cast<float>(wrong);
    EXPECT_FALSE(j.L().Passed()) << wrong;
  }
  j.t.lse[31] = static_cast<float>(-kInf);
  EXPECT_TRUE(j.L().Passed());
}

TEST(Envelope, ARowOfNaNMustBeNaN) {
  Judged j;
  Causal(Lane::kF32, &j);
  j.t.Set(0, 3 * 8, kNaN);  // query 3 of head 0
  RunVariant(FindVariant("cpu").value(), &j);
  EXPECT_TRUE(j.O().Passed());
  EXPECT_TRUE(j.L().Passed());
  j.t.SetOutput(3 * 8 + 2, 0.5);
  EXPECT_FALSE(j.O().Passed());
  j.t.lse[3] = 0;
  EXPECT_FALSE(j.L().Passed());
}

TEST(Envelope, JudgesSampledRowsAtTheirPlace) {
  Judged j;
  Causal(Lane::kF32, &j);
  const std::vector<int64_t> rows = {5, 40, 65};
  const auto truth = oracle::ComputeTruth(
      j.t.problem, j.t.inputs, j.envelope->error_model(), {.rows = &rows});
  EXPECT_TRUE(JudgeOutput(*j.envelope, truth, &rows, j.t.ProducedO()).Passed());
  j.t.SetOutput(6 * 8, 100);
  EXPECT_TRUE(JudgeOutput(*j.envelope, truth, &rows, j.t.ProducedO()).Passed());
  j.t.SetOutput(65 * 8 + 7, 100);
  const auto result = JudgeOutput(*j.envelope, truth, &rows, j.t.ProducedO());
  EXPECT_FALSE(result.Passed());
  EXPECT_EQ(result.first->index, (std::array<int64_t, 4>{0, 1, 32, 7}));
}

TEST(EnvelopeModel, GammaIsTheTextbooks) {
  EXPECT_EQ(Gamma(0, 0x1p-24), 0);
  EXPECT_DOUBLE_EQ(Gamma(1, 0x1p-8), 1.0 / 255);
  EXPECT_DOUBLE_EQ(Gamma(100, 0x1p-8), 100.0 / 156);
  EXPECT_EQ(Gamma(128, 0x1p-8), kInf);
}

}  // namespace
}  // namespace lockstep::verify
