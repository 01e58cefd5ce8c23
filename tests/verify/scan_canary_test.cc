// Canaries of scans: known-bad kernels that the judge has to catch whatever the
// candidate claims, and a judge that does not.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/verify/judge_line.h"

namespace lockstep::verify {
namespace {

// "mutant:scan.bias_missing,base=scan-bf16-lane": scan.bias_missing.
std::string NameOf(const std::string& spec) {
  const std::string name = spec.substr(spec.find(':') + 1);
  return name.substr(0, name.find(','));
}

TEST(ScanCanaries, AllAreCaughtWhateverIsClaimed) {
  std::set<std::string> met;
  for (const char* spec :
       {"builtin:optimized,threads=1", "variant:scan", "variant:siso-a16",
        "variant:mimo", "variant:step-bf16"}) {
    const bool f32 = std::string(spec) == "variant:scan";
    for (int seed = 0; seed < 24; ++seed) {
      const CaseResult result = JudgeSpec(
          "mamba3_scan t=9 n=8 p=3 s=2 seg=runs:4,1,4 carry=yes lane=" +
              std::string(f32 ? "f32" : "bf16") +
              (seed % 2 ? " variant=mimo r=2" : "") +
              " seed=" + std::to_string(seed),
          spec);
      ASSERT_EQ(result.canaries.size(), 1u) << spec << " " << result.reason;
      EXPECT_TRUE(result.canaries[0].caught)
          << spec << " " << result.canaries[0].candidate;
      met.insert(NameOf(result.canaries[0].candidate));
    }
  }
  EXPECT_EQ(met.size(), 6u);
}

// Behind an output norm, too: the probes survive it.
TEST(ScanCanaries, AreCaughtBehindTheNorm) {
  for (const char* spec :
       {"builtin:optimized,threads=1", "variant:siso-a16", "variant:mimo"}) {
    for (int seed = 0; seed < 12; ++seed) {
      const CaseResult result = JudgeSpec(
          "mamba3_scan t=9 n=8 p=3 s=2 seg=runs:4,1,4 carry=yes lane=bf16 "
          "norm=1e-5" +
              std::string(seed % 2 ? " variant=mimo r=2 gate=yes" : "") +
              " seed=" + std::to_string(seed),
          spec);
      ASSERT_EQ(result.canaries.size(), 1u) << spec << " " << result.reason;
      EXPECT_TRUE(result.canaries[0].caught)
          << spec << " " << result.canaries[0].candidate;
    }
  }
}

// The k of a carry counts once for each rank, with psi's sign: values of one
// size cancelled, and no probe showed a carry that is not folded in.
TEST(ScanCanaries, ProbesShowACarryThatIsNotFoldedIn) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (int seed = 0; seed < 4; ++seed) {
      const CaseResult result = JudgeSpec(
          "mamba3_scan t=9 n=4 p=1 variant=mimo r=" + std::to_string(ranks) +
              " lane=bf16 bias=no carry=yes regime=strong seed=" +
              std::to_string(seed),
          "mutant:scan.init_fold_missing,base=scan-bf16-lane",
          With("mimo-bf16"));
      EXPECT_EQ(result.verdict, Verdict::kFail) << ranks << " " << seed;
    }
  }
}

// Strong decay forgets the carry below every bf16 bound: only probes tell, and
// a judge that runs none says that it proves nothing.
TEST(ScanCanaries, AMissedOneMakesTheCaseUntrusted) {
  JudgeOptions options = With("siso-bf16-a16");
  int missed = 0;
  for (int seed = 0; seed < 24; ++seed) {
    const std::string line =
        "mamba3_scan t=9 n=4 p=2 lane=bf16 carry=yes regime=strong seed=" +
        std::to_string(seed);
    options.probes = false;
    const CaseResult blind = JudgeSpec(line, "variant:siso-a16", options);
    if (blind.canaries.empty() || blind.canaries[0].caught) continue;
    ++missed;
    EXPECT_EQ(blind.verdict, Verdict::kUntrusted) << line;
    options.probes = true;
    const CaseResult seeing = JudgeSpec(line, "variant:siso-a16", options);
    EXPECT_EQ(seeing.verdict, Verdict::kPass) << line << seeing.reason;
    EXPECT_TRUE(seeing.canaries[0].caught) << line;
  }
  EXPECT_GT(missed, 0);
}

// A fault of carries on a case without any leaves other roundings alone.
TEST(ScanCanaries, AreNoBugsWhereTheyChangeNothingThatIsClaimed) {
  for (const int seed : {1, 12, 16, 20}) {
    const CaseResult result =
        JudgeSpec("ssd_scan h=2 n=16 p=8 t=200 gate=yes regime=resets seed=" +
                      std::to_string(seed),
                  "variant:ssd");
    EXPECT_EQ(result.verdict, Verdict::kPass) << seed << result.reason;
    ASSERT_EQ(result.canaries.size(), 1u) << seed;
    EXPECT_TRUE(result.canaries[0].caught) << result.canaries[0].candidate;
  }
}

TEST(ScanCanaries, ThereIsNoneWhereProbesProveNothing) {
  for (const char* keys : {"variant=mimo r=5", "fill=probe:halves"}) {
    const CaseResult result =
        JudgeSpec("mamba3_scan t=9 n=4 p=2 seed=3 " + std::string(keys),
                  "builtin:reference");
    EXPECT_EQ(result.verdict, Verdict::kPass) << keys << result.reason;
    EXPECT_TRUE(result.canaries.empty()) << keys;
  }
}

// A bias rounded to bf16 is off by parts of itself, however much of it k or q
// cancels: with the sum's own size in its place 135 of 2000 drawn cases of a
// correct kernel were suspicious.
TEST(ScanCalibrated, ABiasThatCancelsIsNotSuspicious) {
  for (const char* keys :
       {"t=2 h=3 n=9 p=33 s=0 carry=yes regime=strong seed=111",
        "t=9 h=2 n=8 p=16 s=4 gate=yes carry=yes regime=strong seed=122",
        "t=8 h=3 n=9 p=33 s=0 carry=yes regime=short rate=signs:3 seed=47"}) {
    const CaseResult result =
        JudgeSpec("mamba3_scan lane=bf16 " + std::string(keys), "variant:mimo");
    EXPECT_EQ(result.verdict, Verdict::kPass) << keys << result.reason;
  }
}

}  // namespace
}  // namespace lockstep::verify
