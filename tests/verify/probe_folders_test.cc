// Answers to a case's probes as files.
#include "verify/candidate/probe_folders.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/verify/fake_candidate.h"
#include "tests/verify/judge_line.h"
#include "verify/base/io/files.h"
#include "verify/base/io/safetensors.h"
#include "verify/registry/ops.h"
#include "verify/report/export.h"

namespace lockstep::verify {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProbedCase =
    "attention_forward sq=9 skv=40 d=8 lane=bf16 mask=causal align=br";

// Case and probes as files, all answered by the reference.
class ProbeFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(testing::TempDir()) /
        ("probe files " +
         std::string(
             testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    const Case c = ParseCase(kProbedCase).value();
    Answer(c, folder_);
    fs::create_directory(folder_ / "probes");
    const std::vector<ProbeFolder> probes = ProbeFolders(c);
    ASSERT_GE(probes.size(), 6u);
    for (const ProbeFolder& probe : probes) {
      Answer(probe.call, folder_ / "probes" / probe.name);
    }
    ASSERT_TRUE(WriteFileAtomically((folder_ / "probes/index.txt").string(),
                                    FormatProbeIndex(probes))
                    .ok());
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void Answer(const Case& c, const fs::path& folder) {
    ASSERT_TRUE(ExportCase(c, folder.string(), true, {}).ok());
    fs::copy(folder / "expected.safetensors", folder / "outputs.safetensors");
  }
  CaseResult Judge() const {
    JudgeOptions options = With("flash-bf16");
    return JudgeSpec(kProbedCase, "files:" + folder_.string(), options);
  }

  fs::path folder_;
};

TEST_F(ProbeFiles, AreJudgedAsThoseOfARun) {
  const CaseResult result = Judge();
  EXPECT_TRUE(result.findings.empty()) << result.reason;
  EXPECT_EQ(result.probes_met.size(),
            JudgeSpec(kProbedCase, "variant:flash", With("flash-bf16"))
                .probes_met.size());
  EXPECT_TRUE(result.probes_missed.empty());
}

TEST_F(ProbeFiles, WithoutAnAnswerAreNamed) {
  fs::remove(folder_ / "probes/cancel/outputs.safetensors");
  const CaseResult result = Judge();
  EXPECT_EQ(result.probes_missed, std::vector<std::string>{"cancel"});
  EXPECT_GE(result.probes_met.size(), 5u);
}

// By its name where nobody kept the index.
TEST_F(ProbeFiles, NeedNoIndex) {
  fs::remove(folder_ / "probes/index.txt");
  EXPECT_TRUE(Judge().probes_missed.empty());
}

TEST_F(ProbeFiles, AreFoundByTheIndex) {
  fs::rename(folder_ / "probes/cancel", folder_ / "probes/mine");
  const std::string line = "mine\t" + std::string(kProbedCase) +
                           " fill=probe:cancel\n../x\tnonsense\n";
  ASSERT_TRUE(
      WriteFileAtomically((folder_ / "probes/index.txt").string(), line).ok());
  EXPECT_TRUE(Judge().probes_missed.empty());
}

TEST_F(ProbeFiles, AnswersToAnotherProbeAreAnError) {
  fs::copy(folder_ / "probes/prefix/outputs.safetensors",
           folder_ / "probes/cancel/outputs.safetensors",
           fs::copy_options::overwrite_existing);
  const CaseResult result = Judge();
  EXPECT_EQ(result.verdict, Verdict::kError) << result.reason;
  EXPECT_NE(result.reason.find("another case"), std::string::npos);
}

// The replay line names the probe and its folder.
TEST_F(ProbeFiles, AWrongAnswerFailsAndReplays) {
  const fs::path place = folder_ / "probes/cancel";
  const auto bytes =
      ReadWholeFile((place / "expected.safetensors").string(), 1 << 20);
  const auto file = SafetensorsFile::Parse("memory", bytes.value());
  std::vector<SafetensorsTensor> tensors = file->tensors();
  std::vector<uint8_t> wrong;
  for (SafetensorsTensor& tensor : tensors) {
    if (tensor.name != "o") continue;
    wrong.assign(tensor.bytes.begin(), tensor.bytes.end());
    wrong[1] = 0x41;  // 8 or more
    tensor.bytes = wrong;
  }
  ASSERT_TRUE(WriteFileAtomically((place / "outputs.safetensors").string(),
                                  FormatSafetensors(tensors, {}).value())
                  .ok());
  const CaseResult result = Judge();
  EXPECT_EQ(result.verdict, Verdict::kFail) << result.reason;
  ASSERT_FALSE(result.findings.empty());
  const std::string line = ReplayLine(result, result.findings[0]);
  EXPECT_NE(line.find("fill=probe:cancel' --candidate 'files:"),
            std::string::npos)
      << line;
  EXPECT_NE(line.find("probes/cancel'"), std::string::npos) << line;
}

// A canary is caught by what the candidate met, not by what it did not.
TEST(FilesCanary, OneKeyAmongManyIsNotSeenWithoutProbes) {
  const std::string line =
      "attention_forward sq=4 skv=2048 d=8 lane=bf16 seed=1";
  FakeCandidate candidate([](int64_t, const Variation&, const OutputSet&,
                             Execution*) { return RunOutcome{}; });
  candidate.repeatable = false;
  CaseResult result = JudgeLine(line, candidate, With("mma-bf16"));
  ASSERT_EQ(result.canaries.size(), 1u);
  EXPECT_FALSE(result.canaries[0].caught);
  EXPECT_EQ(result.verdict, Verdict::kUntrusted);
  candidate.repeatable = true;
  result = JudgeLine(line, candidate, With("mma-bf16"));
  ASSERT_EQ(result.canaries.size(), 1u);
  EXPECT_TRUE(result.canaries[0].caught);
}

}  // namespace
}  // namespace lockstep::verify
