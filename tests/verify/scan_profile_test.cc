// What a scan's profile says beyond sizes of errors: NaN behind a mask that
// multiplies, NaN that has to show, operands that are cut off, and keys that a
// scan does not have.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/verify/judge_line.h"
#include "verify/ops/envelopes.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {
namespace {

// scan-f32 with further lines.
JudgeOptions Scan(const std::string& lines) {
  const auto profile =
      ParseProfile("base = scan-f32\nname = own\n" + lines, "own");
  EXPECT_TRUE(profile.ok()) << profile.message();
  JudgeOptions options;
  options.profile = profile.value();
  return options;
}

// k of the last token is NaN.
constexpr const char* kLate =
    "ssd_scan t=3 n=29 p=1 fill=special:0.02 seed=661009";
// All of run 1 is.
constexpr const char* kOtherRun = "ssd_scan t=9 n=4 p=2 seg=runs:4,5 poison=1";

TEST(ScanNaN, OfALaterTokenOfTheChunkMayShowWhereTheProfileSaysSo) {
  EXPECT_EQ(JudgeSpec(kLate, "variant:ssd-masked", Scan("")).verdict,
            Verdict::kFail);
  // Nothing of y is left to be judged.
  EXPECT_EQ(JudgeSpec(kLate, "variant:ssd-masked").verdict, Verdict::kSkipped);
  const std::string longer = "ssd_scan t=40 n=29 p=1 fill=special:0.001 ";
  for (const char* seed : {"seed=1", "seed=2", "seed=3", "seed=4"}) {
    for (const char* spec : {"variant:ssd-masked", "variant:ssd"}) {
      const CaseResult result = JudgeSpec(longer + seed, spec);
      EXPECT_NE(result.verdict, Verdict::kFail) << seed << result.reason;
    }
  }
}

// Chunks of one token have no mask, and a chunk of 2 reaches one token.
TEST(ScanNaN, ReachesNoFurtherThanAChunk) {
  for (const char* chunk : {"scan.chunk = 1\n", "scan.chunk = 2\n"}) {
    const JudgeOptions options =
        Scan(std::string(chunk) + "masked_nan_safe = no\n");
    EXPECT_EQ(JudgeSpec(kLate, "variant:ssd-masked", options).verdict,
              Verdict::kFail)
        << chunk;
  }
}

TEST(ScanNaN, OfAnotherRunNeverShows) {
  EXPECT_EQ(JudgeSpec(kOtherRun, "variant:ssd-masked").findings.size(), 0u);
  const CaseResult leak =
      JudgeSpec(kOtherRun, "mutant:ssd.mask_multiplies,base=ssd-masked");
  EXPECT_EQ(leak.verdict, Verdict::kFail) << leak.reason;
}

// The law, too: its call has NaN in one run, the case has none.
TEST(ScanNaN, LawsOfIsolationStand) {
  JudgeOptions options;
  options.only_law = "isolation";
  int leaks = 0;
  // The fault leaks from an earlier run: where the law draws that.
  for (int seed = 1; seed <= 6; ++seed) {
    const std::string line =
        "ssd_scan t=9 n=4 p=2 seg=runs:4,5 seed=" + std::to_string(seed);
    EXPECT_EQ(JudgeSpec(line, "variant:ssd-masked", options).verdict,
              Verdict::kPass);
    const CaseResult leak =
        JudgeSpec(line, "mutant:ssd.mask_multiplies,base=ssd-masked", options);
    leaks += leak.verdict == Verdict::kFail ? 1 : 0;
  }
  EXPECT_GT(leaks, 0);
}

TEST(ScanNaN, HasToShowWhereItPropagates) {
  const std::string line =
      "mamba3_scan t=12 h=2 n=8 p=4 s=2 gate=yes carry=yes "
      "fill=normal:1+special:0.002 seed=";
  for (const char* seed : {"1", "2", "3", "4", "5", "6"}) {
    for (const char* spec :
         {"variant:scan", "variant:scan-recurrent", "builtin:reference"}) {
      const CaseResult result =
          JudgeSpec(line + seed, spec, Scan("nan = propagate\n"));
      EXPECT_NE(result.verdict, Verdict::kFail) << seed << result.reason;
    }
  }
}

// Zeros in place of NaN.
TEST(ScanNaN, IsAllThatPropagateAllows) {
  const auto c = ParseCase(kLate);
  const auto trial = TrialRowOf(c.value()).value().open(c.value(), {});
  Result<OutputSet> zeros = trial.value()->Allocate(0);
  for (LaneTensor& tensor : zeros->tensors) {
    std::memset(tensor.buffer.data(), 0,
                static_cast<size_t>(tensor.buffer.bytes()));
  }
  const auto open = [&](const std::string& lines) {
    int64_t unbounded = 0;
    const auto allowed =
        trial.value()->envelopes().Envelope(*Scan(lines).profile, {0}, 1);
    for (const auto& found : allowed->Judge(zeros.value())) {
      unbounded += found.unbounded;
    }
    return unbounded;
  };
  // y of the last token; of the state one coordinate is NaN, the others not.
  EXPECT_EQ(open(""), 1 + 29);
  EXPECT_EQ(open("nan = propagate\n"), 28);
}

TEST(ScanOperands, CutOffOnesAreTwiceAsFarOff) {
  const std::string types =
      "scan.chunk = 8\nscan.query = tf32\nscan.scaled = tf32\n"
      "scan.score = tf32\nscan.state = tf32\nscan.decayed = tf32\n";
  const char* line = "ssd_scan t=2 n=1 p=4 skip=no a=const:0 seed=1";
  EXPECT_EQ(JudgeSpec(line, "variant:scan-tf32", Scan(types)).verdict,
            Verdict::kPass);
  EXPECT_EQ(JudgeSpec(line, "variant:scan-tf32-cut", Scan(types)).verdict,
            Verdict::kFail);
  EXPECT_EQ(JudgeSpec(line, "variant:scan-tf32-cut",
                      Scan(types + "scan.operand_round = truncate\n"))
                .verdict,
            Verdict::kPass);
}

TEST(ScanProfiles, RefuseKeysOfAttentionByName) {
  const auto message = [](const std::string& lines) {
    return ParseProfile("base = scan-f32\nname = own\n" + lines, "own.profile")
        .message();
  };
  EXPECT_EQ(message("lse = none\n"),
            "own.profile:3: 'lse' is a key of attention; a scan has "
            "scan.lacks, for a carry that the kernel does not export");
  EXPECT_EQ(message("ftz = yes\nsplits = 4\n"),
            "own.profile:4: 'splits' is a key of attention; leave it out: it "
            "describes something that a scan does not have");
  EXPECT_EQ(message("operand_round = truncate\n"),
            "own.profile:3: 'operand_round' is a key of attention; a scan has "
            "scan.operand_round");
  EXPECT_NE(message("grad.p = bf16\n").find("own.profile:3: 'grad.p'"),
            std::string::npos);
  // Also where the keys of scans come later, without a base.
  EXPECT_NE(ParseProfile("name = own\nlse = none\nlane = f32\ntanh_rel = 0\n"
                         "exp_rel = 0\nscan.form = chunked\nscan.chunk = any\n"
                         "scan.decay = prefix\nscan.angle_form = turns\n",
                         "own")
                .message()
                .find("own:2: 'lse'"),
            std::string::npos);
}

// What is printed of a scan's profile is the profile again.
TEST(ScanProfiles, SayAllThatTheyHold) {
  const NumericProfile profile = *Scan(
                                      "masked_nan_safe = no\nnan = propagate\n"
                                      "scan.operand_round = truncate\n")
                                      .profile;
  EXPECT_EQ(ParseProfile(ProfileText(profile), "again").value(), profile);
}

}  // namespace
}  // namespace lockstep::verify
