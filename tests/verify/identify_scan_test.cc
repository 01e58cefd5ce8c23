// What `lockstep identify` says of right scans and their gradients, and that it
// learns no bug.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/verify/identify_questions.h"
#include "verify/candidate/mutant_mamba3_scan.h"
#include "verify/candidate/mutant_mamba3_scan_backward.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/emulator/mutants.h"

namespace lockstep::verify {
namespace {

constexpr const char* kScan = "mamba3_scan";
constexpr const char* kGradients = "mamba3_scan_backward";

// Chunks have 16 tokens at least in front of those that are asked, which is too
// slow for every bug: the second round is as long as the first.
Identified Asked(const std::string& op, Candidate& candidate, Lane lane) {
  return AskedOf(op, candidate, lane, 0);
}

Identified AskedSpec(const std::string& op, const std::string& spec,
                     Lane lane) {
  const auto candidate = ParseCandidate(spec);
  EXPECT_TRUE(candidate.ok()) << candidate.message();
  return Asked(op, *candidate.value(), lane);
}

void ExpectSeen(const Identified& found, const std::string& key,
                const std::string& value) {
  const FieldEvidence* field = found.Find(key);
  ASSERT_NE(field, nullptr) << key;
  EXPECT_EQ(field->word, Word::kSeen) << key << ": " << field->evidence;
  EXPECT_EQ(field->value, value) << key;
}

void ExpectTextIsTheProfile(const Identified& found) {
  const auto read = ParseProfile(IdentifiedText(found), "identified");
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(ProfileText(read.value()), ProfileText(found.profile));
}

TEST(IdentifyScan, SeesOperands) {
  const Identified siso = AskedSpec(kScan, "variant:siso-a32", Lane::kBf16);
  EXPECT_FALSE(siso.CannotTell()) << IdentifiedText(siso);
  for (const char* key : {"query", "scaled", "score", "state", "decayed"}) {
    ExpectSeen(siso, std::string("scan.") + key, "bf16");
  }
  ExpectTextIsTheProfile(siso);
  const Identified cut = AskedSpec(kScan, "variant:scan-tf32-cut", Lane::kF32);
  EXPECT_EQ(ValueOf(cut.profile, "scan.state"), "tf32");
  EXPECT_EQ(ValueOf(cut.profile, "scan.operand_round"), "truncate");
}

// Kernels that read no tau are asked where it is +infinity, by either name.
TEST(IdentifyScan, AsksMamba2) {
  for (const auto& [name, lane] :
       {std::pair{"ssd", Lane::kF32}, std::pair{"ssd-masked", Lane::kF32},
        std::pair{"ssd-bf16", Lane::kBf16}}) {
    SCOPED_TRACE(name);
    const std::string spec = std::string("variant:") + name;
    const std::string type = lane == Lane::kF32 ? "f32" : "bf16";
    for (const char* op : {kScan, "ssd_scan"}) {
      const Identified found = AskedSpec(op, spec, lane);
      EXPECT_FALSE(found.CannotTell()) << IdentifiedText(found);
      ExpectSeen(found, "scan.state", type);
      ExpectSeen(found, "scan.scaled", type);
      ExpectTextIsTheProfile(found);
    }
  }
}

// A step and a look-ahead are told from a k that is rounded with them.
TEST(IdentifyScan, SeesWhichFactorIsRounded) {
  ScanVariant variant = FindScanVariant("scan-bf16-lane").value();
  const auto asked = [&] {
    const auto kernel = MakeEmulatedScan("variant", "planted", variant, {});
    return Asked(kScan, *kernel, Lane::kBf16);
  };
  variant.numeric.scan->dt = NumberType::kBf16;
  const Identified step = asked();
  ExpectSeen(step, "scan.dt", "bf16");
  ExpectSeen(step, "scan.weight", "f32");
  ExpectSeen(step, "scan.scaled", "f32");
  variant.numeric.scan->dt = NumberType::kF32;
  variant.numeric.scan->weight = NumberType::kBf16;
  const Identified weight = asked();
  ExpectSeen(weight, "scan.weight", "bf16");
  ExpectSeen(weight, "scan.scaled", "f32");
  EXPECT_EQ(ValueOf(weight.profile, "scan.dt"), "f32");
}

// The probes learn what a kernel with ranks rounds besides operands, although k
// is rounded, too. The kernel passes by the profile that they make.
TEST(IdentifyScan, SeesWhatRanksRound) {
  for (const auto& [name, lane, type] :
       {std::tuple{"mimo", Lane::kBf16, "bf16"},
        std::tuple{"mimo-f16", Lane::kF16, "f16"},
        std::tuple{"siso-f16", Lane::kF16, "f32"}}) {
    SCOPED_TRACE(name);
    const std::string spec = std::string("variant:") + name;
    const Identified found = AskedSpec(kScan, spec, lane);
    EXPECT_FALSE(found.CannotTell()) << IdentifiedText(found);
    for (const char* key :
         {"dt", "weight", "param", "diagonal", "gate", "rank_sum"}) {
      ExpectSeen(found, std::string("scan.") + key, type);
    }
    ExpectSeen(found, "scan.lambda", "f32");
    const std::string line =
        std::string(
            "mamba3_scan t=7 h=2 n=16 p=17 variant=mimo r=4 gate=yes "
            "reduce=yes norm=1e-05 seed=9 lane=") +
        LaneName(lane);
    const auto kernel = ParseCandidate(spec);
    JudgeOptions options;
    options.profile = found.profile;
    EXPECT_NE(JudgeLine(line, *kernel.value(), options).verdict,
              Verdict::kFail);
  }
}

// The exported angles are as coarse as those that turn k.
TEST(IdentifyScan, SeesAnglesOfTheirCarry) {
  const Identified found = AskedSpec(kScan, "variant:siso-a16", Lane::kBf16);
  EXPECT_FALSE(found.CannotTell()) << IdentifiedText(found);
  ExpectSeen(found, "scan.angle_carry", "bf16");
  ExpectSeen(found, "scan.angle", "bf16");
}

TEST(IdentifyScanGradients, SeesOperands) {
  const Identified found =
      AskedSpec(kGradients, "variant:scan-grad-siso-pairs", Lane::kBf16);
  EXPECT_FALSE(found.CannotTell()) << IdentifiedText(found);
  for (const char* key :
       {"query", "decayed", "state", "grad_state", "grad_do"}) {
    ExpectSeen(found, std::string("scan.") + key, "bf16");
  }
  for (const char* key : {"gate", "key", "dt", "lambda", "grad_partial"}) {
    ExpectSeen(found, std::string("scan.") + key, "f32");
  }
  ExpectTextIsTheProfile(found);
}

// dv and dk have products of two tokens, or the state's cotangent.
TEST(IdentifyScanGradients, SeesProductsOfTwoTokens) {
  for (const auto& [name, lane, type] :
       {std::tuple{"scan-grad-siso-scores", Lane::kBf16, "bf16"},
        std::tuple{"scan-grad-siso-pairs", Lane::kBf16, "f32"},
        std::tuple{"scan-grad-siso-f16-partial", Lane::kF16, "f32"},
        std::tuple{"scan-grad-f16-lane", Lane::kF16, "f32"}}) {
    SCOPED_TRACE(name);
    const Identified found =
        AskedSpec(kGradients, std::string("variant:") + name, lane);
    EXPECT_FALSE(found.CannotTell()) << IdentifiedText(found);
    ExpectSeen(found, "scan.score", type);
  }
  ScanGradVariant variant =
      FindScanGradVariant("scan-grad-siso-f16-pairs").value();
  variant.scores = true;
  const auto half = MakeEmulatedScanGradients("variant", "planted", variant,
                                              ScanGradFault::kNone);
  ExpectSeen(Asked(kGradients, *half, Lane::kF16), "scan.score", "f16");
  variant = FindScanGradVariant("scan-grad-pairs").value();
  variant.scores = true;
  variant.scan.numeric.scan->score = NumberType::kBf16;
  const auto kernel = MakeEmulatedScanGradients("variant", "planted", variant,
                                                ScanGradFault::kNone);
  ExpectNotLearned(Asked(kGradients, *kernel, Lane::kF32),
                   AskedSpec(kGradients, "variant:scan-grad-pairs", Lane::kF32),
                   "scan.score");
}

// A state that is rounded where chunks meet is f32 in one round, and f16 in the
// other: no value is learned, and the base's f16 is none that was seen.
TEST(IdentifyScan, KeepsTheStrictValueWhereLengthsDiffer) {
  const auto kernel = ParseCandidate("mutant:ssd.f16_state,base=scan-f16-lane");
  ASSERT_TRUE(kernel.ok());
  const Identified found = AskedOf("ssd_scan", *kernel.value(), Lane::kF16, 7);
  ASSERT_NE(found.Find("scan.state"), nullptr);
  EXPECT_EQ(found.Find("scan.state")->word, Word::kCannotTell);
  EXPECT_EQ(ValueOf(found.profile, "scan.state"), "f32");
}

// A step reads its state and its query in f16, and nothing else is rounded.
TEST(IdentifyScan, AsksStepsInF16) {
  const Identified found =
      AskedSpec("mamba3_step", "variant:step-f16", Lane::kF16);
  EXPECT_FALSE(found.CannotTell()) << IdentifiedText(found);
  ExpectSeen(found, "scan.state", "f16");
  ExpectSeen(found, "scan.query", "f16");
  for (const char* key : {"key", "carry_key", "dt", "weight", "decayed"}) {
    ExpectSeen(found, std::string("scan.") + key, "f32");
  }
}

// A token's own products that were exact have no error of tf32.
TEST(IdentifyScan, SeesExactProductsOfAToken) {
  const Identified exact =
      AskedSpec(kScan, "variant:scan-f16-lane", Lane::kF16);
  EXPECT_EQ(exact.profile.scan->diagonal_rel, 0);
  const Identified tf32 = AskedSpec(kScan, "variant:siso-f16", Lane::kF16);
  EXPECT_EQ(tf32.profile.scan->diagonal_rel, 0x1p-10);
}

// f16 of one operand alone is no matrix unit's.
TEST(IdentifyScanGradients, LearnsNoLoneF16) {
  for (const auto& [bug, field] :
       {std::pair{"sgrad.f16_cotangent", "scan.grad_do"},
        std::pair{"sgrad.f16_state", "scan.grad_state"},
        std::pair{"sgrad.f16_of_heads", "scan.grad_partial"}}) {
    SCOPED_TRACE(bug);
    const Identified found = AskedSpec(
        kGradients, std::string("mutant:") + bug + ",base=scan-grad-f16-lane",
        Lane::kF16);
    ASSERT_NE(found.Find(field), nullptr);
    EXPECT_EQ(found.Find(field)->word, Word::kReported);
    for (const char* key : {"grad_do", "grad_state", "grad_partial", "query",
                            "decayed", "state", "score"}) {
      EXPECT_EQ(ValueOf(found.profile, std::string("scan.") + key), "f32")
          << key;
    }
  }
  const Identified partial =
      AskedSpec(kGradients, "variant:scan-grad-siso-f16-partial", Lane::kF16);
  for (const char* key : {"grad_do", "grad_state", "grad_partial"}) {
    ExpectSeen(partial, std::string("scan.") + key, "f16");
  }
}

// The second round is as long as the first, or longer: the length changes
// nothing.
TEST(IdentifyScanGradients, SeesTheSameAtTwoLengths) {
  const auto kernel = ParseCandidate("variant:scan-grad-siso-partial");
  ASSERT_TRUE(kernel.ok());
  const Identified longer =
      AskedOf(kGradients, *kernel.value(), Lane::kBf16, 7);
  EXPECT_FALSE(longer.CannotTell()) << IdentifiedText(longer);
  ExpectSeen(longer, "scan.grad_partial", "bf16");
}

TEST(IdentifyScanGradients, SeesUnitsAndGates) {
  const Identified cut =
      AskedSpec(kGradients, "variant:scan-grad-tf32-cut", Lane::kF32);
  ExpectSeen(cut, "scan.grad_state", "tf32");
  EXPECT_EQ(ValueOf(cut.profile, "scan.operand_round"), "truncate");
  const Identified mimo =
      AskedSpec(kGradients, "variant:scan-grad-mimo", Lane::kBf16);
  ExpectSeen(mimo, "scan.gate", "bf16");
  ExpectSeen(mimo, "scan.dt", "bf16");
  ExpectSeen(mimo, "scan.key", "bf16");
}

// Every value that was not asked for has a reason.
TEST(IdentifyScan, SaysWhyFieldsAreAssumed) {
  for (const auto& [op, spec, lane] :
       {std::tuple{kScan, "variant:scan", Lane::kF32},
        std::tuple{"ssd_scan", "variant:ssd-bf16", Lane::kBf16},
        std::tuple{kGradients, "variant:scan-grad", Lane::kF32}}) {
    const std::string text = IdentifiedText(AskedSpec(op, spec, lane));
    EXPECT_EQ(text.find("not asked\n"), std::string::npos) << text;
  }
}

// A bug of the catalogue, or a type or an error that a right kernel is given.
struct Bug {
  const char* said;              // the field that is reported, or not told
  const char* mutant = nullptr;  // of the catalogue; null: planted
  void (*plant)(NumericProfile*) = nullptr;
};

template <NumberType ScanNumeric::* kSite>
void ToBf16(NumericProfile* numeric) {
  numeric->scan.value().*kSite = NumberType::kBf16;
}
void Unreduced(NumericProfile* numeric) {
  numeric->scan->angle_form = AngleForm::kUnreduced;
}
void CoarseTanh(NumericProfile* numeric) { numeric->tanh_rel = 0x1p-8; }
void CoarseExp(NumericProfile* numeric) { numeric->exp_rel = 0x1p-9; }
void CoarseSigmoid(NumericProfile* numeric) {
  numeric->scan->sigmoid_rel = 0x1p-9;
}
void CoarseTrig(NumericProfile* numeric) { numeric->scan->trig_abs = 0x1p-9; }

using S = ScanNumeric;
constexpr Bug kScanBugs[] = {
    {"tanh_rel", "scan.tanh_coarse"},
    {"scan.angle", "scan.trig_coarse"},
    {"scan.angle_carry", "scan.angle_bf16"},
    {"scan.lambda", "scan.lambda_bf16"},
    {"scan.angle_form", "scan.angle_never_reduced"},
    {"tanh_rel", "scan.rate_without_tanh"},
    {"tanh_rel", "scan.rate_without_pi"},
    {"tanh_rel", "scan.angle_not_halved"},
    {"scan.angle", "scan.conjugate"},
    {"scan.scaled", "scan.sigmoid_twice"},
    {"scan.pairing", "scan.wrong_pairing"},
    {"scan.diagonal", "scan.diag_missing"},
    {"exp_rel", "scan.exp2_of_natural"},
    {"exp_rel", "scan.log2e_twice"},
    {"exp_rel", nullptr, &CoarseExp},
    {"scan.sigmoid_rel", nullptr, &CoarseSigmoid},
    {"scan.query", nullptr, &ToBf16<&S::query>},
    {"scan.scaled", nullptr, &ToBf16<&S::scaled>},
    {"scan.decayed", nullptr, &ToBf16<&S::decayed>},
    {"scan.state", nullptr, &ToBf16<&S::state>},
    {"scan.chunk", "scan.state_bf16"},
    {"scan.score", nullptr, &ToBf16<&S::score>},
    {"scan.dt", nullptr, &ToBf16<&S::dt>},
    {"scan.weight", nullptr, &ToBf16<&S::weight>},
};
constexpr Bug kGradientBugs[] = {
    {"tanh_rel", nullptr, &CoarseTanh},
    {"exp_rel", nullptr, &CoarseExp},
    {"scan.sigmoid_rel", nullptr, &CoarseSigmoid},
    {"scan.angle", nullptr, &CoarseTrig},
    {"scan.angle_form", nullptr, &Unreduced},
    {"scan.angle", nullptr, &ToBf16<&S::angle>},
    {"scan.query", nullptr, &ToBf16<&S::query>},
    {"scan.key", nullptr, &ToBf16<&S::key>},
    {"scan.state", nullptr, &ToBf16<&S::state>},
    {"scan.grad_state", nullptr, &ToBf16<&S::grad_state>},
    {"scan.grad_do", nullptr, &ToBf16<&S::grad_do>},
    {"scan.grad_partial", nullptr, &ToBf16<&S::grad_partial>},
    {"scan.dt", nullptr, &ToBf16<&S::dt>},
    {"scan.lambda", nullptr, &ToBf16<&S::lambda>},
    {"scan.gate", nullptr, &ToBf16<&S::gate>},
    {"scan.chunk", "sgrad.state_in_bf16"},
    {"scan.grad_do", "sgrad.cotangent_in_bf16"},
    {"exp_rel", "sgrad.decay_missing"},
    {"exp_rel", "sgrad.decay_twice"},
    {"scan.sigmoid_rel", "sgrad.ddt_without_lambda"},
    {"scan.query", "sgrad.theta_sign"},
    {"scan.query", "sgrad.theta_per_radian"},
    {"tanh_rel", "sgrad.ddt_without_angles"},
    {"scan.dt", "sgrad.then_by_lambda"},
    {"scan.grad_do", "sgrad.silu_missing"},
};

std::string NameOf(const Bug& bug, size_t n) {
  std::string name = bug.mutant != nullptr ? bug.mutant : bug.said;
  for (char& c : name) c = c == '.' ? '_' : c;
  return name + "_" + std::to_string(n);
}

class IdentifyScanBug : public testing::TestWithParam<size_t> {};

TEST_P(IdentifyScanBug, IsNotLearned) {
  const Bug& bug = kScanBugs[GetParam()];
  static const Identified right = AskedSpec(kScan, "variant:scan", Lane::kF32);
  if (bug.mutant != nullptr) {
    ExpectNotLearned(
        AskedSpec(kScan, std::string("mutant:") + bug.mutant, Lane::kF32),
        right, bug.said);
    return;
  }
  ScanVariant variant = FindScanVariant("scan").value();
  bug.plant(&variant.numeric);
  const auto kernel = MakeEmulatedScan("variant", "planted", variant, {});
  ExpectNotLearned(Asked(kScan, *kernel, Lane::kF32), right, bug.said);
}
INSTANTIATE_TEST_SUITE_P(All, IdentifyScanBug,
                         testing::Range(size_t{0}, std::size(kScanBugs)),
                         [](const auto& info) {
                           return NameOf(kScanBugs[info.param], info.param);
                         });

class IdentifyScanGradientBug : public testing::TestWithParam<size_t> {};

TEST_P(IdentifyScanGradientBug, IsNotLearned) {
  const Bug& bug = kGradientBugs[GetParam()];
  static const Identified right =
      AskedSpec(kGradients, "variant:scan-grad", Lane::kF32);
  if (bug.mutant != nullptr) {
    ExpectNotLearned(
        AskedSpec(kGradients, std::string("mutant:") + bug.mutant, Lane::kF32),
        right, bug.said);
    return;
  }
  ScanGradVariant variant = FindScanGradVariant("scan-grad").value();
  bug.plant(&variant.scan.numeric);
  const auto kernel = MakeEmulatedScanGradients("variant", "planted", variant,
                                                ScanGradFault::kNone);
  ExpectNotLearned(Asked(kGradients, *kernel, Lane::kF32), right, bug.said);
}
INSTANTIATE_TEST_SUITE_P(All, IdentifyScanGradientBug,
                         testing::Range(size_t{0}, std::size(kGradientBugs)),
                         [](const auto& info) {
                           return NameOf(kGradientBugs[info.param], info.param);
                         });

}  // namespace
}  // namespace lockstep::verify
