// The first witness on trial: it vouches for nothing that the envelope does not
// hold, for most of what it does, and is found when it is wrong itself.
#include "verify/ops/attention_forward/witness.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/oracle/attention_forward/truth.h"

namespace lockstep::verify {
namespace {

struct Scene {
  const char* line;
  const char* profile;
  double vouched = 0.9;  // least share of rows that it vouches for
  // Not 0: products this much more exact than the witness's, and one coarse
  // exp.
  int64_t chain_qk = 0;
};

// Sinks, segments, groups, windows, caps, empty rows, both lanes.
constexpr Scene kScenes[] = {
    {"attention_forward hq=4 hkv=2 sq=200 skv=260 d=32 dv=24 lane=bf16 cap=20 "
     "mask=causal align=br sinklogit=normal:1 seed=1",
     "flash-bf16"},
    {"attention_forward hq=2 sq=300 skv=300 d=16 dv=32 lane=bf16 "
     "mask=causal&window:90,0 q_seg=runs:100,1,199 kv_seg=runs:100,1,199 "
     "seed=2",
     "mma-bf16", 0.5},
    {"attention_forward b=2 hq=2 hkv=1 sq=150 skv=200 d=64 dv=16 lane=bf16 "
     "valid_q=150,97 valid_kv=200,131 mask=window:40,40 seed=3",
     "splash-bf16", 0.5},
    {"attention_forward hq=4 hkv=2 sq=160 skv=240 d=32 dv=24 cap=30 "
     "mask=causal align=br sinklogit=normal:2 seed=4",
     "cpu-f32", 0.5},
    {"attention_forward hq=2 sq=300 skv=300 d=16 dv=32 mask=causal&window:64,0 "
     "q_seg=runs:7,143,150 kv_seg=runs:7,143,150 seed=5",
     "cpu-f32", 0.5},
    {"attention_forward hq=2 sq=200 skv=400 d=128 dv=16 mask=random:0.5 "
     "fill=q.normal:3 seed=6",
     "cpu-f32", 0.5},
    {"attention_forward hq=2 sq=400 skv=800 d=32 lane=bf16 p=bf16 cap=50 "
     "mask=causal align=br fill=q.normal:6 seed=7",
     "flash-bf16", 0.5},
    {"attention_forward hq=2 sq=200 skv=260 d=128 dv=16 seed=8", "cpu-f32", 0.5,
     4},
};

// A case, what our own kernel says of it, and the witness of a profile.
struct Stage {
  std::unique_ptr<Trial> trial;
  OutputSet produced;
  NumericProfile profile;
  std::unique_ptr<AttentionWitness> witness;

  explicit Stage(const Scene& scene) {
    const Result<Case> c = ParseCase(scene.line);
    EXPECT_TRUE(c.ok()) << c.message();
    trial = std::move(TrialRowOf(c.value())->open(c.value(), {}).value());
    produced = Optimized(*trial);
    profile = LoadProfile(scene.profile).value();
    if (scene.chain_qk != 0) {
      profile.chain_qk = scene.chain_qk;
      profile.exp_rel = 0x1p-11;
      profile.splits = 1;
      profile.acc_pv = profile.acc_l = {Accumulator::Kind::kTrunc32, 0, 0};
      profile.max = {MaxPolicy::Kind::kTwoPass, 0};
    }
    witness = AttentionWitness::Make(data(), profile, 1);
  }
  const AttentionForwardData& data() const {
    return dynamic_cast<const AttentionForwardTrial&>(*trial).data();
  }
};

// The next number of the lane beyond x, away from what is allowed.
uint32_t Beyond(Lane lane, double x, bool up) {
  const auto narrow = static_cast<float>(x);
  if (lane == Lane::kF32) {
    return std::bit_cast<uint32_t>(
        std::nextafter(narrow, up ? HUGE_VALF : -HUGE_VALF));
  }
  const uint32_t bits = std::bit_cast<uint32_t>(narrow) >> 16;
  if ((bits & 0x7fff) == 0) return up ? 1 : 0x8001;
  const bool grows = (bits >> 15 == 0) == up;
  return grows ? bits + 1 : bits - 1;
}

// Puts a number just outside its set into each element of the rows that the
// witness vouches for, one at a time. Returns how many.
int64_t PlantOutside(Stage* stage, const AttentionEnvelope& envelope,
                     const oracle::AttentionTruth& truth) {
  const AttentionForwardProblem& p = stage->data().problem;
  int64_t planted = 0;
  for (int64_t row = 0; row < stage->trial->rows(); ++row) {
    if (stage->witness->Doubt(row, stage->produced)) continue;
    const auto r = static_cast<size_t>(row);
    const RowSlack slack = envelope.ForRow(truth.rows[r]);
    const auto plant = [&](size_t t, int64_t c, const ValueSet& set) {
      if (set.Unbounded()) return;
      const LaneTensor& tensor = stage->produced.tensors[t];
      const At at = LineIndex(stage->trial->outputs()[t], row, c);
      const uint32_t was = ElementBits(tensor.const_view(), at);
      for (const bool up : {false, true}) {
        const uint32_t bits =
            Beyond(tensor.view.lane, up ? set.hi : set.lo, up);
        SetElement(tensor.view, at, bits);
        const double x = ElementValue(tensor.view.lane, bits);
        ASSERT_FALSE(set.Contains(x)) << x << " " << set.lo << " " << set.hi;
        ASSERT_TRUE(stage->witness->Doubt(row, stage->produced).has_value())
            << "output " << t << " row " << row << " channel " << c << ": " << x
            << " is outside " << set.lo << " .. " << set.hi;
      }
      SetElement(tensor.view, at, was);
      ++planted;
    };
    for (int64_t c = 0; c < p.value_dim; ++c) {
      plant(0, c,
            envelope.Output(truth, r, static_cast<size_t>(c), slack).allowed);
    }
    plant(1, 0, envelope.Lse(truth, r).allowed);
    if (testing::Test::HasFatalFailure()) break;
  }
  return planted;
}

// The float next to x on the side of zero distance to `inner`.
float Towards(double inner, double x) {
  const auto narrow = static_cast<float>(x);
  const bool beyond = inner < x ? static_cast<double>(narrow) > x
                                : static_cast<double>(narrow) < x;
  return beyond ? std::nextafter(narrow, static_cast<float>(inner)) : narrow;
}

enum class Push { kLse, kAll };

// Puts the witness where it may just be: `side` times its own bound from the
// truth, and its sums of w |v| as far above theirs; or its lse alone.
void PushWitness(const Stage& stage, double side, Push push) {
  const AttentionForwardData& data = stage.data();
  const WitnessInputs wide =
      std::move(WidenForWitness(data.problem, data.inputs).value());
  const AttentionEnvelope envelope(WitnessProfile(), wide.problem, 1);
  const oracle::AttentionTruth truth = oracle::ComputeTruth(
      wide.problem, wide.inputs, envelope.error_model(), {.threads = 1});
  auto* o = static_cast<float*>(stage.witness->o().view.data);
  auto* lse = static_cast<float*>(stage.witness->lse().view.data);
  const auto channels = static_cast<size_t>(wide.problem.value_dim);
  for (size_t r = 0; r < truth.rows.size(); ++r) {
    if (truth.rows[r].kind != oracle::RowKind::kOrdinary) continue;
    const RowSlack slack = envelope.ForRow(truth.rows[r]);
    for (size_t c = 0; push == Push::kAll && c < channels; ++c) {
      const Bounds bounds = envelope.Output(truth, r, c, slack);
      const double way = c < channels / 2 ? side : 1;
      o[r * channels + c] =
          Towards(bounds.truth, bounds.truth + way * bounds.error);
    }
    const Bounds bounds = envelope.Lse(truth, r);
    lse[r] = Towards(bounds.truth, bounds.truth + side * bounds.error);
  }
}

TEST(FirstWitness, VouchesForNothingOutsideTheEnvelope) {
  int64_t planted = 0;
  int64_t at_its_worst = 0;
  for (const Scene& scene : kScenes) {
    SCOPED_TRACE(scene.line);
    Stage stage(scene);
    ASSERT_NE(stage.witness, nullptr);
    const AttentionForwardData& data = stage.data();
    const AttentionEnvelope envelope(stage.profile, data.problem, 1, 1e-3,
                                     RangeOf(data.inputs, stage.profile));
    const oracle::AttentionTruth truth = oracle::ComputeTruth(
        data.problem, data.inputs, envelope.error_model(), {.threads = 1});
    planted += PlantOutside(&stage, envelope, truth);
    for (const Push push : {Push::kLse, Push::kAll}) {
      for (const double side : {-1.0, 1.0}) {
        PushWitness(stage, side, push);
        at_its_worst += PlantOutside(&stage, envelope, truth);
      }
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(planted, 100000);
  EXPECT_GE(at_its_worst, 100000);
}

// The sum of w |v| that a margin rests on is never more than the true one,
// however far above it the witness's may be: where errors of scores are about
// as large as a witness may have them, and where sums are of one sign.
TEST(FirstWitness, KnowsSumsFromBelow) {
  constexpr const char* kLines[] = {
      "attention_forward hq=2 sq=80 skv=120 d=64 dv=8 "
      "fill=q.normal:8+k.normal:8 seed=8",
      "attention_forward hq=2 sq=80 skv=120 d=64 dv=8 cap=5 "
      "fill=v.uniform:1,2 sinklogit=normal:1 seed=9"};
  double largest_growth = 1;
  for (const char* line : kLines) {
    SCOPED_TRACE(line);
    const Stage stage({line, "cpu-f32"});
    const AttentionForwardData& data = stage.data();
    const WitnessModel model(stage.profile, data.problem,
                             RangeOf(data.inputs, stage.profile));
    const WitnessInputs wide =
        std::move(WidenForWitness(data.problem, data.inputs).value());
    const AttentionEnvelope own(WitnessProfile(), wide.problem, 1);
    const oracle::AttentionTruth truth = oracle::ComputeTruth(
        wide.problem, wide.inputs, own.error_model(), {.threads = 1});
    int64_t known = 0;
    for (size_t r = 0; r < truth.rows.size(); ++r) {
      const auto head = r / 80;
      const double sink =
          data.problem.sink ? std::fabs(static_cast<double>(
                                  data.inputs.sink(static_cast<int64_t>(head))))
                            : 0;
      const auto margin = model.ForRow({truth.rows[r].visible,
                                        wide.q_norm[r] * wide.k_norm[head],
                                        sink, wide.value[head]});
      if (!margin) continue;
      ++known;
      largest_growth = std::max(largest_growth, margin->growth);
      const RowSlack slack = own.ForRow(truth.rows[r]);
      for (size_t c = 8; c < 16; ++c) {
        const Bounds bounds = own.Output(truth, r, c, slack);
        const double most = static_cast<double>(
            Towards(bounds.truth, bounds.truth + bounds.error));
        ASSERT_LE(WitnessModel::LeastSum(*margin, most), bounds.truth);
      }
    }
    EXPECT_GT(known, 0);
  }
  EXPECT_GT(largest_growth, 1.005);
}

// What a trial computes of the witness, from the inputs as they are, is the
// truth of the problem that the witness answered.
TEST(FirstWitness, IsTriedByTheTruthOfItsOwnProblem) {
  for (const Scene& scene : kScenes) {
    SCOPED_TRACE(scene.line);
    const Stage stage(scene);
    const AttentionForwardData& data = stage.data();
    const WitnessInputs wide =
        std::move(WidenForWitness(data.problem, data.inputs).value());
    const AttentionEnvelope own(WitnessProfile(), wide.problem, 1);
    const oracle::AttentionTruth whole = oracle::ComputeTruth(
        wide.problem, wide.inputs, own.error_model(), {.threads = 1});
    const oracle::TruthRequest request = {
        .model = own.error_model(), .likely = false, .sizes = true};
    const oracle::AttentionTruth truth = oracle::ComputeTruths(
        data.problem, data.inputs, {&request, 1}, {.threads = 1})[0];
    EXPECT_EQ(truth.value_dim, whole.value_dim);
    EXPECT_EQ(truth.o, whole.o);
    EXPECT_EQ(truth.abs_sum, whole.abs_sum);
    EXPECT_EQ(truth.phi_sum, whole.phi_sum);
  }
}

// The trial judges the candidate's rows, too, as the profile's envelope does.
TEST(FirstWitness, JudgesTheCandidateOnItsTrial) {
  Stage stage(kScenes[0]);
  const std::vector<int64_t> trials = stage.witness->Trials(7);
  const auto inside = [&] {
    bool passed = true;
    const auto tried = stage.witness->OnTrial(trials, stage.produced);
    const auto alone = stage.trial->envelopes()
                           .Envelope(stage.profile, trials, 1)
                           ->Judge(stage.produced);
    EXPECT_EQ(tried.produced.size(), alone.size());
    for (size_t t = 0; t < alone.size(); ++t) {
      EXPECT_EQ(tried.produced[t].Passed(), alone[t].Passed());
      EXPECT_EQ(tried.produced[t].outside, alone[t].outside);
      EXPECT_EQ(tried.produced[t].unlikely, 0);
      passed = passed && tried.produced[t].Passed();
    }
    return passed;
  };
  EXPECT_TRUE(inside());
  SetElement(stage.produced.tensors[0].view,
             LineIndex(stage.trial->outputs()[0], trials[3], 5), 0x7fc0);
  EXPECT_FALSE(inside());
}

TEST(FirstWitness, VouchesForMostRowsThatAreRight) {
  for (const Scene& scene : kScenes) {
    SCOPED_TRACE(scene.line);
    const Stage stage(scene);
    ASSERT_NE(stage.witness, nullptr);
    int64_t vouched = 0;
    for (int64_t row = 0; row < stage.trial->rows(); ++row) {
      vouched += stage.witness->Doubt(row, stage.produced) ? 0 : 1;
    }
    EXPECT_GE(static_cast<double>(vouched),
              scene.vouched * static_cast<double>(stage.trial->rows()));
  }
}

// What goes to the oracle: both ends of every head, and one row of 64.
TEST(FirstWitness, IsTriedItselfAndFoundWhenWrong) {
  for (const Scene& scene : kScenes) {
    SCOPED_TRACE(scene.line);
    const Stage stage(scene);
    ASSERT_NE(stage.witness, nullptr);
    const std::vector<int64_t> trials = stage.witness->Trials(7);
    EXPECT_GE(trials.size(), static_cast<size_t>(stage.trial->rows() / 64));
    EXPECT_EQ(trials.front(), 0);
    EXPECT_EQ(trials.back(), stage.trial->rows() - 1);
    const auto sound = [&] {
      bool passed = true;
      const auto tried = stage.witness->OnTrial(trials, stage.produced);
      for (const EnvelopeResult& found : tried.witness) {
        passed = passed && found.Passed();
      }
      return passed;
    };
    EXPECT_TRUE(sound());
    // The last row is ordinary in all scenes but where counts end it.
    const auto row = static_cast<size_t>(trials[trials.size() / 2]);
    for (const LaneTensor* tensor :
         {&stage.witness->o(), &stage.witness->lse()}) {
      const auto width = static_cast<size_t>(tensor->view.shape[3]);
      // Of o the first channel, and the last one of |v|.
      for (const size_t at : {row * width, row * width + width - 1}) {
        float& element = static_cast<float*>(tensor->view.data)[at];
        const float was = element;
        element += 0.125f * (std::fabs(was) + 1);
        EXPECT_FALSE(sound());
        element = was;
      }
    }
  }
}

TEST(FirstWitness, LooksAtNaNAndAtProfilesThatAreTighterThanItself) {
  Stage stage(kScenes[0]);
  ASSERT_NE(stage.witness, nullptr);
  ASSERT_FALSE(stage.witness->Doubt(100, stage.produced).has_value());
  SetElement(stage.produced.tensors[0].view,
             LineIndex(stage.trial->outputs()[0], 100, 3), 0x7fc0);
  EXPECT_TRUE(stage.witness->Doubt(100, stage.produced).has_value());
  // Where nothing makes good for more exact scores it vouches for no row.
  NumericProfile tight = stage.profile;
  tight.chain_qk = 4;
  tight.splits = 1;
  tight.max = {MaxPolicy::Kind::kTwoPass, 0};
  tight.exp_rel = WitnessProfile().exp_rel;
  const auto idle = AttentionWitness::Make(stage.data(), tight, 1);
  ASSERT_NE(idle, nullptr);
  EXPECT_TRUE(idle->Doubt(101, stage.produced).has_value());
  tight = stage.profile;
  tight.max = {MaxPolicy::Kind::kNone, 0};
  EXPECT_EQ(AttentionWitness::Make(stage.data(), tight, 1), nullptr);
}

}  // namespace
}  // namespace lockstep::verify
