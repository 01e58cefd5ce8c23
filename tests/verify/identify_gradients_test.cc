// What `lockstep identify` says of right kernels of attention's gradients, and
// that it learns no bug.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/power/identify/measured.h"
#include "tests/verify/identify_gradients_kernel.h"
#include "tests/verify/identify_questions.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

constexpr const char* kOp = "attention_backward";

Identified AskedSpec(const std::string& spec, Lane lane) {
  const auto candidate = ParseCandidate(spec);
  EXPECT_TRUE(candidate.ok()) << candidate.message();
  return AskedOf(kOp, *candidate.value(), lane);
}

TEST(IdentifyGradients, ZooIsNeverHeldToMoreThanItHas) {
  const SeenZoo zoo = IdentifyZoo(*IdentifyRowsOf(kOp).front());
  EXPECT_TRUE(zoo.Passed()) << SeenText(zoo);
  EXPECT_GE(zoo.Seen(), 14 * zoo.kernels);
}

TEST(IdentifyGradients, KnownBugsStillFail) {
  AutoOptions options;
  options.only = {"grad.scale_", "grad.p_", "grad.ds_",
                  "grad.slope_", "grad.l",  "grad.f16_"};
  options.threads = 1;
  const auto result = JudgeIdentified(IdentifyRowsOf(kOp), options);
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_TRUE(result->Passed()) << AutoText(result.value());
  EXPECT_GE(result->Total(kOp, true, 0).own, 9);
  EXPECT_GE(result->Total(kOp, false, 0).own, 12);
}

TEST(IdentifyGradients, SeesPlacesUnitsAndWhoseForwardPassItIs) {
  const Identified tf32 = AskedSpec("variant:grad-tf32-ds-q", Lane::kF32);
  EXPECT_EQ(ValueOf(tf32.profile, "operand_qk"), "tf32");
  EXPECT_EQ(ValueOf(tf32.profile, "grad.dq_scale_at"), "ds");
  EXPECT_EQ(ValueOf(tf32.profile, "grad.dk_scale_at"), "q");
  EXPECT_EQ(ValueOf(tf32.profile, "grad.from"), "given");
  const Identified own = AskedSpec("variant:grad-efficient-own", Lane::kBf16);
  EXPECT_EQ(ValueOf(own.profile, "grad.from"), "own");
  EXPECT_EQ(ValueOf(own.profile, "grad.ds_from"), "rounded_p");
  EXPECT_EQ(ValueOf(own.profile, "grad.ds"), "bf16");
  EXPECT_EQ(ValueOf(own.profile, "grad.acc_dp"), "mma:16,1");
}

TEST(IdentifyGradients, SeesNumbersBetweenTensorsOfF16) {
  const Identified found = AskedSpec("variant:grad-mma-f16", Lane::kF16);
  EXPECT_EQ(ValueOf(found.profile, "grad.p"), "f16");
  EXPECT_EQ(ValueOf(found.profile, "grad.ds"), "f16");
  EXPECT_EQ(ValueOf(found.profile, "acc_qk"), "mma:16,1");
  EXPECT_EQ(ValueOf(found.profile, "grad.acc_dp"), "mma:16,1");
  const Identified exact = AskedSpec("variant:grad-exact-f16", Lane::kF16);
  EXPECT_EQ(ValueOf(exact.profile, "grad.ds"), "tf32");
}

// A library's product may apply the scale in either factor, by its shape.
TEST(IdentifyGradients, PlaceOfTheScaleMayHangOnTheLength) {
  GradDials dials;
  dials.scale_in_operands_from = 5;
  DialledGradients kernel(dials);
  const Identified found = AskedOf(kOp, kernel, Lane::kF32);
  EXPECT_FALSE(found.CannotTell()) << IdentifiedText(found);
  EXPECT_EQ(ValueOf(found.profile, "grad.dq_scale_at"), "ds");
  EXPECT_EQ(ValueOf(found.profile, "grad.dk_scale_at"), "ds");
  EXPECT_NE(IdentifiedText(found).find("a scale in q"), std::string::npos)
      << IdentifiedText(found);
}

TEST(IdentifyGradients, TextIsTheProfile) {
  for (const auto& [spec, lane] :
       {std::pair{"variant:grad-cpu-fma", Lane::kF32},
        std::pair{"variant:grad-cpu-own-no-lse", Lane::kF32},
        std::pair{"mutant:grad.log2e_kept", Lane::kF32}}) {
    const Identified found = AskedSpec(spec, lane);
    const auto read = ParseProfile(IdentifiedText(found), "identified");
    ASSERT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(ProfileText(read.value()), ProfileText(found.profile)) << spec;
  }
}

float ToBf16(float x) { return RoundTo(x, NumberType::kBf16); }
float CutBf16(float x) { return TruncateTo(x, NumberType::kBf16); }

struct Bug {
  const char* name;
  const char* said;    // the field that is reported, or cannot be told
  std::string mutant;  // of the catalogue; empty: the kernel above
  Lane lane = Lane::kF32;
  void (*turn)(GradDials*) = nullptr;
};

const std::vector<Bug>& Bugs() {
  static const std::vector<Bug> kBugs = {
      {"p_in_bf16", "grad.p", "", Lane::kF32,
       [](GradDials* d) { d->p = &ToBf16; }},
      {"p_cut_to_bf16", "grad.p", "", Lane::kBf16,
       [](GradDials* d) { d->p = &CutBf16; }},
      {"ds_in_bf16", "grad.ds", "", Lane::kF32,
       [](GradDials* d) { d->ds = &ToBf16; }},
      {"ds_of_dq_alone_in_bf16", "grad.ds", "", Lane::kF32,
       [](GradDials* d) { d->ds_of_dq = &ToBf16; }},
      {"q_alone_in_bf16", "operand_qk", "", Lane::kF32,
       [](GradDials* d) { d->q = &ToBf16; }},
      {"do_alone_in_bf16", "operand_v", "", Lane::kF32,
       [](GradDials* d) { d->d_o = &ToBf16; }},
      {"dp_summed_in_bf16", "grad.acc_dp", "", Lane::kF32,
       [](GradDials* d) { d->dp = &ToBf16; }},
      {"dq_summed_in_bf16", "grad.acc_dq", "", Lane::kF32,
       [](GradDials* d) { d->dq = &ToBf16; }},
      {"dq_scale_in_bf16", "grad.dq_scale_at", "", Lane::kF32,
       [](GradDials* d) { d->scale_dq = 1 + 0x1p-7; }},
      {"dk_with_log2e", "operand_qk", "", Lane::kF32,
       [](GradDials* d) { d->scale_dk = 0x1.715476p0; }},
      {"cap_2_percent_off", "tanh_rel", "", Lane::kF32,
       [](GradDials* d) { d->cap = 1.02; }},
      {"tanh_cut_to_11_bits", "tanh_rel", "", Lane::kF32,
       [](GradDials* d) {
         d->tanh = [](float x) { return TruncateToBits(std::tanh(x), 11); };
       }},
      {"log2e_as_1_44", "grad.p", "", Lane::kF32,
       [](GradDials* d) {
         d->exp = [](float x) { return std::exp2(x * 1.44f); };
       }},
      {"exp_cut_to_13_bits", "exp_rel", "", Lane::kF32,
       [](GradDials* d) {
         d->exp = [](float x) { return TruncateToBits(std::exp(x), 13); };
       }},
      {"lse_in_base_2", "grad.from", "", Lane::kF32,
       [](GradDials* d) { d->lse = 0x1.62e43p-1f; }},
      {"lse_with_a_constant", "grad.from", "", Lane::kF32,
       [](GradDials* d) { d->lse_plus = 0.25f; }},
      {"delta_with_a_constant", "grad.from", "", Lane::kF32,
       [](GradDials* d) { d->delta_plus = 0.125f; }},
      {"catalogue_dkv_in_bf16", "grad.dkv_state", "grad.dkv_in_bf16"},
      {"catalogue_dq_in_bf16", "grad.dq_state", "grad.dq_in_bf16"},
      {"catalogue_scale_twice_dq", "grad.dq_scale_at", "grad.scale_twice_dq"},
      {"catalogue_scale_missing_dk", "grad.dk_scale_at",
       "grad.scale_missing_dk"},
      {"catalogue_scale_missing_dk_of_bf16", "grad.dk_scale_at",
       "grad.scale_missing_dk", Lane::kBf16},
      {"catalogue_log2e_kept", "operand_qk", "grad.log2e_kept"},
      {"catalogue_delta_of_unrounded_o", "grad.from",
       "grad.delta_of_unrounded_o", Lane::kBf16},
      {"catalogue_own_lse_in_base2", "grad.from", "grad.own_lse_in_base2"},
      {"catalogue_mask_multiplies", "masked_nan_safe", "grad.mask_multiplies"},
  };
  return kBugs;
}

std::unique_ptr<Candidate> Open(const Bug& bug) {
  if (!bug.mutant.empty()) {
    return std::move(ParseCandidate("mutant:" + bug.mutant).value());
  }
  GradDials dials;
  bug.turn(&dials);
  return std::make_unique<DialledGradients>(dials);
}

std::unique_ptr<Candidate> RightOf(const Bug& bug) {
  if (bug.mutant.empty())
    return std::make_unique<DialledGradients>(GradDials{});
  const auto mutant = ParseMutant(bug.mutant);
  return std::move(
      ParseCandidate("variant:" + mutant->grad.numeric.name).value());
}

// By right kernel: many bugs share one.
const Identified& RightAnswer(const Bug& bug) {
  static std::map<std::string, Identified> known;
  const auto right = RightOf(bug);
  const std::string name = right->Spec({}) + LaneName(bug.lane);
  auto at = known.find(name);
  if (at == known.end()) {
    at = known.emplace(name, AskedOf(kOp, *right, bug.lane)).first;
  }
  return at->second;
}

class IdentifyGradientBug : public testing::TestWithParam<size_t> {};

TEST_P(IdentifyGradientBug, IsNotLearned) {
  const Bug& bug = Bugs()[GetParam()];
  SCOPED_TRACE(bug.name);
  const auto wrong = Open(bug);
  const Identified found = AskedOf(kOp, *wrong, bug.lane);
  const Identified& right = RightAnswer(bug);
  ExpectNotLearned(found, right, bug.said);
  const std::string lane = bug.lane == Lane::kBf16 ? " lane=bf16 p=bf16" : "";
  const std::vector<std::string> lines = {
      "attention_backward sq=5 skv=17 d=8 cap=2 scale=0.3 seed=3" + lane,
      "attention_backward sq=4 skv=6 d=8 mask=causal seed=4" + lane,
      "attention_backward sq=2 skv=2 d=4 valid_q=1 "
      "fill=normal:1+poison:masked" +
          lane};
  EXPECT_TRUE(FailsBy(found.profile, *wrong, lines) ||
              !FailsBy(right.profile, *wrong, lines));
}

std::vector<size_t> AllBugs() {
  std::vector<size_t> all;
  for (size_t n = 0; n < Bugs().size(); ++n) all.push_back(n);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, IdentifyGradientBug,
                         testing::ValuesIn(AllBugs()));

// The kernel that the bugs are planted in.
TEST(IdentifyGradients, KnowsTheKernelWithoutABug) {
  DialledGradients kernel({});
  for (const Lane lane : {Lane::kF32, Lane::kBf16}) {
    const Identified found = AskedOf(kOp, kernel, lane);
    EXPECT_FALSE(found.CannotTell()) << IdentifiedText(found);
    for (const FieldEvidence& field : found.fields) {
      EXPECT_NE(field.word, Word::kReported) << IdentifiedText(found);
    }
    JudgeOptions options;
    options.profile = found.profile;
    const char* line =
        lane == Lane::kF32
            ? "attention_backward hq=2 hkv=1 sq=7 skv=19 d=8 cap=20 seed=3"
            : "attention_backward sq=7 skv=19 d=8 cap=20 lane=bf16 p=bf16 "
              "seed=3";
    EXPECT_EQ(JudgeLine(line, kernel, options).verdict, Verdict::kPass);
  }
}

}  // namespace
}  // namespace lockstep::verify
