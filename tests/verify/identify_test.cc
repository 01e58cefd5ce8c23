// What `lockstep identify` says of right kernels, and that it learns no bug.
#include "verify/identify/identify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/power/identify/measured.h"
#include "tests/verify/identify_kernel.h"
#include "tests/verify/identify_questions.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

Identified Asked(Candidate& candidate, Lane lane) {
  return AskedOf("attention_forward", candidate, lane);
}

Identified AskedSpec(const std::string& spec, Lane lane) {
  const auto candidate = ParseCandidate(spec);
  EXPECT_TRUE(candidate.ok()) << candidate.message();
  return Asked(*candidate.value(), lane);
}

TEST(Identify, ZooIsNeverHeldToMoreThanItHas) {
  const SeenZoo zoo = IdentifyZoo(*IdentifyRowsOf("attention_forward").front());
  EXPECT_TRUE(zoo.Passed()) << SeenText(zoo);
  EXPECT_GE(zoo.Seen(), 10 * static_cast<int64_t>(AttentionZoo().size()));
}

// A bug by its own profile and by what is identified of it.
TEST(Identify, KnownBugsStillFail) {
  AutoOptions options;
  options.only = {"attn.cap_wrong", "attn.lse_log2",  "attn.exp_coarse",
                  "attn.p_",        "attn.drop_last", "attn.scale_",
                  "attn.f16_"};
  options.threads = 1;
  const auto result =
      JudgeIdentified(IdentifyRowsOf("attention_forward"), options);
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_TRUE(result->Passed()) << AutoText(result.value());
  EXPECT_GE(result->Total("attention_forward", false, 0).own, 20);
  EXPECT_GE(result->Total("attention_forward", true, 0).own, 3);
}

TEST(Identify, BugsOfScansInF16StillFail) {
  AutoOptions options;
  options.only = {"scan.f16_"};
  options.threads = 1;
  const auto result = JudgeIdentified(IdentifyRowsOf("mamba3_scan"), options);
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_TRUE(result->Passed()) << AutoText(result.value());
  EXPECT_EQ(result->Total("mamba3_scan", false, 0).own, 12);
}

// A length that follows another is judged first by the rows that told there.
// The counts stay the same.
TEST(Identify, LengthsDoNotDependOnEachOther) {
  AutoOptions options;
  options.only = {"attn.lse_log2", "attn.lse_drops", "attn.l_bf16"};
  options.threads = 1;
  options.lengths = {64, 96};
  const auto both =
      JudgeIdentified(IdentifyRowsOf("attention_forward"), options);
  options.lengths = {96};
  const auto alone =
      JudgeIdentified(IdentifyRowsOf("attention_forward"), options);
  ASSERT_TRUE(both.ok() && alone.ok()) << both.message() << alone.message();
  for (const bool convention : {false, true}) {
    const AutoCount one = both->Total("attention_forward", convention, 96);
    const AutoCount other = alone->Total("attention_forward", convention, 96);
    EXPECT_GT(one.own, 0);
    EXPECT_EQ(one.own, other.own);
    EXPECT_EQ(one.kept, other.kept);
  }
}

TEST(Identify, TextIsTheProfile) {
  for (const auto& [spec, lane] :
       {std::pair{"variant:cpu", Lane::kF32},
        std::pair{"variant:hopper", Lane::kBf16},
        std::pair{"variant:hopper-tf32-unfused", Lane::kF32},
        std::pair{"variant:splash", Lane::kBf16},
        std::pair{"mutant:attn.scale_missing", Lane::kF32}}) {
    const Identified found = AskedSpec(spec, lane);
    const auto read = ParseProfile(IdentifiedText(found), "identified");
    ASSERT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(ProfileText(read.value()), ProfileText(found.profile)) << spec;
  }
}

TEST(Identify, SeesAMatrixUnit) {
  const Identified found = AskedSpec("variant:hopper", Lane::kBf16);
  EXPECT_EQ(ValueOf(found.profile, "acc_qk"), "mma:16,2");
  EXPECT_EQ(ValueOf(found.profile, "acc_pv"), "mma:16,2");
  EXPECT_EQ(ValueOf(found.profile, "p"), "bf16");
  EXPECT_FALSE(found.CannotTell());
  const Identified ampere = AskedSpec("variant:ampere-tf32", Lane::kF32);
  EXPECT_EQ(ValueOf(ampere.profile, "acc_qk"), "mma:4,1");
  EXPECT_EQ(ValueOf(ampere.profile, "operand_qk"), "tf32");
  EXPECT_EQ(ValueOf(ampere.profile, "operand_round"), "truncate");
}

TEST(Identify, RefusesWhatCannotBeAsked) {
  const auto files = ParseCandidate("files:.");
  ASSERT_TRUE(files.ok());
  IdentifyRequest request;
  request.op = "attention_forward";
  request.light_keys = 7;  // this kernel is slow
  EXPECT_FALSE(Identify(request, *files.value()).ok());
  IdentifyRequest scan;
  scan.op = "block_plan";
  const auto cpu = ParseCandidate("variant:cpu");
  const auto found = Identify(scan, *cpu.value());
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.message().find("block_plan"), std::string::npos);
}

float ToBf16(float x) { return RoundTo(x, NumberType::kBf16); }
float CutBf16(float x) { return TruncateTo(x, NumberType::kBf16); }

// exp by its exponent's bits: good to 3 %.
float RoughExp(float x) {
  if (x == 0) return 1;
  if (std::isnan(x)) return x;
  constexpr double kInfinity = 0x7f800000;
  const double bits =
      std::min(double{x} * 12102203.0 + 1064866805.0, kInfinity);
  if (bits < 0) return 0;
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

struct Bug {
  const char* name;
  const char* said;    // the field that is reported, or cannot be told
  std::string mutant;  // of the catalogue; empty: the kernel above
  Lane lane = Lane::kF32;
  void (*turn)(KernelDials*) = nullptr;
};

const std::vector<Bug>& Bugs() {
  static const std::vector<Bug> kBugs = {
      {"log2e_as_1_44", "exp_rel", "", Lane::kF32,
       [](KernelDials* d) {
         d->exp = [](float x) { return std::exp2(x * 1.44f); };
       }},
      {"log2e_of_4_digits", "exp_rel", "", Lane::kF32,
       [](KernelDials* d) {
         d->exp = [](float x) { return std::exp2(x * 1.4427f); };
       }},
      {"exp_cut_to_8_bits", "p", "", Lane::kF32,
       [](KernelDials* d) {
         d->exp = [](float x) { return TruncateToBits(std::exp(x), 8); };
       }},
      {"exp_cut_to_13_bits", "exp_rel", "", Lane::kF32,
       [](KernelDials* d) {
         d->exp = [](float x) { return TruncateToBits(std::exp(x), 13); };
       }},
      {"exp_by_its_bits", "exp_rel", "", Lane::kF32,
       [](KernelDials* d) { d->exp = &RoughExp; }},
      {"exp_as_a_power", "exp_rel", "", Lane::kF32,
       [](KernelDials* d) {
         d->exp = [](float x) { return std::pow(1 + x / 4096, 4096.0f); };
       }},
      {"cap_2_percent_off", "tanh_rel", "", Lane::kF32,
       [](KernelDials* d) { d->cap = 1.02; }},
      {"cap_2^-11_off", "tanh_rel", "", Lane::kF32,
       [](KernelDials* d) { d->cap = 1 + 0x1p-11; }},
      {"tanh_cut_to_11_bits", "tanh_rel", "", Lane::kF32,
       [](KernelDials* d) {
         d->tanh = [](float x) { return TruncateToBits(std::tanh(x), 11); };
       }},
      {"tanh_of_11_bits", "tanh_rel", "", Lane::kF32,
       [](KernelDials* d) {
         d->tanh = [](float x) { return std::tanh(RoundToBits(x, 11)); };
       }},
      {"tanh_of_8_bits", "tanh_rel", "", Lane::kF32,
       [](KernelDials* d) {
         d->tanh = [](float x) { return std::tanh(ToBf16(x)); };
       }},
      {"exp2_of_11_bits", "exp_rel", "", Lane::kF32,
       [](KernelDials* d) {
         d->exp = [](float x) {
           return std::exp2(RoundToBits(x * 0x1.715476p0f, 11));
         };
       }},
      {"tanh_as_a_clamp", "tanh_rel", "", Lane::kF32,
       [](KernelDials* d) {
         d->tanh = [](float x) { return std::clamp(x, -1.0f, 1.0f); };
       }},
      {"scale_1_by_d", "lse", "", Lane::kF32,
       [](KernelDials* d) {
         d->scale = [](double, int64_t n) {
           return 1 / static_cast<double>(n);
         };
       }},
      {"scale_in_bf16", "scale_at", "", Lane::kF32,
       [](KernelDials* d) {
         d->scale = [](double s, int64_t) {
           return double{ToBf16(static_cast<float>(s))};
         };
       }},
      {"p_cut_to_bf16", "p", "", Lane::kF32,
       [](KernelDials* d) { d->p = &CutBf16; }},
      {"p_in_bf16_of_f32_tensors", "p", "", Lane::kF32,
       [](KernelDials* d) { d->p = &ToBf16; }},
      {"v_alone_in_bf16", "operand_v", "", Lane::kF32,
       [](KernelDials* d) { d->v = &ToBf16; }},
      {"q_alone_in_bf16", "operand_qk", "", Lane::kF32,
       [](KernelDials* d) { d->q = &ToBf16; }},
      {"sum_of_values_in_bf16", "acc_pv", "", Lane::kF32,
       [](KernelDials* d) { d->sum = &ToBf16; }},
      {"o_in_bf16_of_f32_tensors", "operand_v", "", Lane::kF32,
       [](KernelDials* d) { d->o = &ToBf16; }},
      {"lse_in_base_2", "lse_base", "", Lane::kF32,
       [](KernelDials* d) { d->lse = 0x1.715476p0f; }},
      {"lse_off_by_2^-12", "lse", "", Lane::kF32,
       [](KernelDials* d) { d->lse = 1 + 0x1p-12f; }},
      {"lse_with_a_constant", "lse", "", Lane::kF32,
       [](KernelDials* d) { d->lse_plus = 0.25f; }},
      {"last_key_dropped", "operand_v", "", Lane::kF32,
       [](KernelDials* d) { d->dropped = 1; }},
      {"first_key_twice", "p", "", Lane::kF32,
       [](KernelDials* d) { d->first_twice = true; }},
      {"catalogue_p_truncated", "p", "attn.p_truncated,base=flash",
       Lane::kBf16},
      {"catalogue_l_from_other", "l_from", "attn.l_from_other,base=flash",
       Lane::kBf16},
      {"catalogue_dot_bf16", "score", "attn.dot_bf16,base=cpu", Lane::kF32},
      {"catalogue_pv_bf16", "acc_pv", "attn.pv_bf16,base=flash", Lane::kBf16},
      {"catalogue_score_bf16", "score", "attn.score_bf16,base=cpu", Lane::kF32},
      {"catalogue_lse_log2", "lse_base", "attn.lse_log2,base=flash",
       Lane::kBf16},
      {"catalogue_operands_cut", "operand_round",
       "attn.operands_cut,base=hopper-tf32-rounded", Lane::kF32},
      {"catalogue_lse_plus_inf", "empty_row", "attn.lse_plus_inf,base=cpu",
       Lane::kF32},
      {"catalogue_mask_multiplies_p", "masked_nan_safe",
       "attn.mask_multiplies_p,base=cpu", Lane::kF32},
      {"catalogue_fp8_p_scale_wrong_power", "p",
       "attn.fp8_p_scale_wrong_power,base=fp8-p-e4m3", Lane::kBf16},
      {"catalogue_fp8_v_scale_twice", "vscale_at",
       "attn.fp8_v_scale_twice,base=flash", Lane::kBf16},
      {"catalogue_max_of_row_pair", "tanh_rel", "attn.max_of_row_pair,base=cpu",
       Lane::kF32},
  };
  return kBugs;
}

std::unique_ptr<Candidate> Open(const Bug& bug) {
  if (!bug.mutant.empty()) {
    return std::move(ParseCandidate("mutant:" + bug.mutant).value());
  }
  KernelDials dials;
  bug.turn(&dials);
  return std::make_unique<DialledKernel>(dials);
}

// The right kernel that it would be without the bug.
std::unique_ptr<Candidate> RightOf(const Bug& bug) {
  if (bug.mutant.empty()) {
    return std::make_unique<DialledKernel>(KernelDials{});
  }
  const std::string base = bug.mutant.substr(bug.mutant.find("base=") + 5);
  return std::move(ParseCandidate("variant:" + base).value());
}

// By right kernel: many bugs share one.
const Identified& RightAnswer(const Bug& bug) {
  static std::map<std::string, Identified> known;
  const std::string name =
      bug.mutant.empty() ? "" : bug.mutant.substr(bug.mutant.find("base="));
  auto at = known.find(name);
  if (at == known.end()) {
    at = known.emplace(name, Asked(*RightOf(bug), bug.lane)).first;
  }
  return at->second;
}

// Small cases.
std::vector<std::string> LinesOf(const Bug& bug) {
  const std::string lane = bug.lane == Lane::kBf16 ? " lane=bf16 p=bf16" : "";
  std::vector<std::string> lines;
  for (const char* line :
       {"attention_forward sq=5 skv=65 d=16 cap=20 scale=0.3 mask=causal "
        "align=br seed=3",
        "attention_forward sq=4 skv=6 d=8 mask=causal seed=4",
        "attention_forward sq=9 skv=600 d=4 dv=2 seed=5",
        "attention_forward sq=2 skv=2 d=4 scale=1 fill=spread:300 seed=2",
        "attention_forward sq=6 skv=3 d=8 mask=causal align=br "
        "fill=normal:1+poison:masked seed=6"}) {
    lines.push_back(line + lane);
  }
  return lines;
}

class IdentifyBug : public testing::TestWithParam<size_t> {};

// Nothing of the bug is in the profile, somebody is told of it, and the judge
// fails it by that profile wherever it does by the right kernel's.
TEST_P(IdentifyBug, IsNotLearned) {
  const Bug& bug = Bugs()[GetParam()];
  SCOPED_TRACE(bug.name);
  const auto wrong = Open(bug);
  const Identified found = Asked(*wrong, bug.lane);
  const Identified& right = RightAnswer(bug);
  ExpectNotLearned(found, right, bug.said);
  const std::vector<std::string> lines = LinesOf(bug);
  EXPECT_TRUE(FailsBy(found.profile, *wrong, lines) ||
              !FailsBy(right.profile, *wrong, lines));
}

std::vector<size_t> AllBugs() {
  std::vector<size_t> all;
  for (size_t n = 0; n < Bugs().size(); ++n) all.push_back(n);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, IdentifyBug, testing::ValuesIn(AllBugs()));

// Numbers that one length flushes may be flushed: public code takes other paths
// at other lengths.
TEST(Identify, SeesWhatOneLengthFlushes) {
  KernelDials dials;
  dials.flushes_from = 8;  // the second round has 7 more
  DialledKernel kernel(dials);
  const Identified found = Asked(kernel, Lane::kF32);
  EXPECT_FALSE(found.CannotTell()) << IdentifiedText(found);
  EXPECT_TRUE(found.profile.ftz);
  EXPECT_EQ(found.Find("ftz")->word, Word::kSeen);
}

// A vector of keys whose exp is off by a factor: no ratio of weights shows it.
TEST(Identify, ReportsWhatAllWeightsHaveInCommon) {
  KernelDials dials;
  dials.many = 1 - 0x1.8p-15f;
  DialledKernel kernel(dials);
  const Identified found = Asked(kernel, Lane::kF32);
  const FieldEvidence* field = found.Find("exp_zero");
  ASSERT_NE(field, nullptr) << IdentifiedText(found);
  EXPECT_EQ(field->word, Word::kReported);
  EXPECT_EQ(field->line, "exp_zero = weights, exp_rel = 0x1p-14");
  EXPECT_EQ(found.profile.exp_zero, LoadProfile("cpu-f32")->exp_zero);
  EXPECT_EQ(found.profile.exp_rel, LoadProfile("cpu-f32")->exp_rel);
}

// Every value that was not asked for has a reason.
TEST(Identify, SaysWhyFieldsAreAssumed) {
  for (const auto& [spec, lane] : {std::pair{"variant:cpu", Lane::kF32},
                                   std::pair{"variant:hopper", Lane::kBf16}}) {
    const std::string text = IdentifiedText(AskedSpec(spec, lane));
    EXPECT_EQ(text.find("not asked\n"), std::string::npos) << text;
    EXPECT_NE(text.find("# tile_kv = "), std::string::npos);
  }
}

// The kernel that the bugs are planted in.
TEST(Identify, KnowsTheKernelWithoutABug) {
  DialledKernel kernel({});
  for (const Lane lane : {Lane::kF32, Lane::kBf16}) {
    const Identified found = Asked(kernel, lane);
    EXPECT_FALSE(found.CannotTell()) << IdentifiedText(found);
    for (const FieldEvidence& field : found.fields) {
      EXPECT_NE(field.word, Word::kReported) << IdentifiedText(found);
    }
    JudgeOptions options;
    options.profile = found.profile;
    const char* line = lane == Lane::kF32
                           ? "attention_forward sq=7 skv=33 d=8 cap=20 seed=3"
                           : "attention_forward sq=7 skv=33 d=8 cap=20 "
                             "lane=bf16 p=bf16 seed=3";
    EXPECT_EQ(JudgeLine(line, kernel, options).verdict, Verdict::kPass);
  }
}

}  // namespace
}  // namespace lockstep::verify
