// What `lockstep identify` says of right scans, and that it learns no bug.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/verify/identify_questions.h"
#include "verify/emulator/mutants.h"

namespace lockstep::verify {
namespace {

Identified AskedSpec(const std::string& spec, Lane lane) {
  const auto candidate = ParseCandidate(spec);
  EXPECT_TRUE(candidate.ok()) << candidate.message();
  return AskedOf("mamba3_scan", *candidate.value(), lane);
}

TEST(IdentifyScan, SeesOperands) {
  const Identified siso = AskedSpec("variant:siso-a32", Lane::kBf16);
  EXPECT_FALSE(siso.CannotTell()) << IdentifiedText(siso);
  for (const char* key : {"query", "scaled", "score", "state", "decayed"}) {
    const FieldEvidence* field = siso.Find(std::string("scan.") + key);
    ASSERT_NE(field, nullptr) << key;
    EXPECT_EQ(field->word, Word::kSeen) << key;
    EXPECT_EQ(field->value, "bf16") << key;
  }
  const auto read = ParseProfile(IdentifiedText(siso), "identified");
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(ProfileText(read.value()), ProfileText(siso.profile));
  const Identified cut = AskedSpec("variant:scan-tf32-cut", Lane::kF32);
  EXPECT_EQ(ValueOf(cut.profile, "scan.state"), "tf32");
  EXPECT_EQ(ValueOf(cut.profile, "scan.operand_round"), "truncate");
}

struct Bug {
  const char* mutant;
  const char* said;  // the field that is reported, or cannot be told
};
constexpr Bug kBugs[] = {
    {"scan.tanh_coarse", "tanh_rel"},
    {"scan.trig_coarse", "scan.angle"},
    {"scan.angle_bf16", "scan.angle_carry"},
    {"scan.lambda_bf16", "scan.lambda"},
    {"scan.angle_never_reduced", "scan.angle_form"},
    {"scan.rate_without_tanh", "tanh_rel"},
    {"scan.rate_without_pi", "tanh_rel"},
    {"scan.angle_not_halved", "tanh_rel"},
    {"scan.conjugate", "scan.angle"},
    {"scan.sigmoid_twice", "scan.scaled"},
    {"scan.wrong_pairing", "scan.pairing"},
    {"scan.diag_missing", "scan.diagonal"},
};

class IdentifyScanBug : public testing::TestWithParam<size_t> {};

TEST_P(IdentifyScanBug, IsNotLearned) {
  const Bug& bug = kBugs[GetParam()];
  SCOPED_TRACE(bug.mutant);
  static const Identified right = AskedSpec("variant:scan", Lane::kF32);
  const Identified found =
      AskedSpec(std::string("mutant:") + bug.mutant, Lane::kF32);
  ExpectNotLearned(found, right, bug.said);
}
INSTANTIATE_TEST_SUITE_P(All, IdentifyScanBug,
                         testing::Range(size_t{0}, std::size(kBugs)));

}  // namespace
}  // namespace lockstep::verify
