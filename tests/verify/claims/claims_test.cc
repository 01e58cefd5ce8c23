// Claims: who keeps them, who breaks which, and where it begins.
#include "verify/judge/claims/claims.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/verify/claims/try_claims.h"
#include "verify/emulator/mutants_claims.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {
namespace {

const ClaimTried& TriedOf(Claim claim, const CaseResult& result) {
  for (const ClaimTried& tried : result.claims_tried) {
    if (tried.claim == claim) return tried;
  }
  static const ClaimTried kNone;
  ADD_FAILURE() << ClaimName(claim) << " was not tried";
  return kNone;
}

// A line for each feature that pairs have to carry over.
constexpr const char* kOurs[] = {
    "attention_forward hq=4 hkv=2 sq=24 skv=24 d=8 mask=causal cap=5 "
    "sinklogit=const:1",
    "attention_forward b=3 hq=2 sq=9 skv=40 d=16 lane=bf16 p=bf16 "
    "mask=window:7,0 align=br q_seg=runs:9 kv_seg=runs:31,9",
    "attention_forward sq=30 skv=30 d=8 mask=(causal&random:0.5) layout=bshd",
    "attention_forward b=2 hq=2 hkv=2 sq=12 skv=20 d=4 dv=6 valid_kv=20,11 "
    "mask=(prefix:3|chunked:8) mask.h1=full",
    "attention_backward hq=4 hkv=2 sq=12 skv=12 d=8 mask=causal cap=3 "
    "sinklogit=const:1 dlse=normal:1",
    "mamba3_scan h=4 g=2 t=24 n=8 p=4 s=3 gate=yes",
    "mamba3_scan variant=mimo reduce=yes bias=yes skip=yes gate=yes norm=1e-5 "
    "carry=thkv layout=bhtp lane=bf16 r=2 h=4 g=1 t=24 n=8 p=4 s=3 "
    "seg=runs:10,14",
    "mamba3_scan h=2 t=24 n=4 p=4 cu=0,5,5,24",
    "mamba3_step h=2 t=9 n=4 p=4 s=2",
    "ssd_scan h=4 g=2 t=24 n=4 p=4",
    "mamba3_scan_backward b=2 h=4 g=2 t=12 n=4 p=4 s=2",
};

TEST(Claims, OurKernelsKeepAll) {
  for (const char* line : kOurs) {
    for (const char* spec : {"builtin:optimized", "builtin:reference"}) {
      const CaseResult result = JudgeSpec(line, spec, TryAll());
      EXPECT_EQ(result.verdict, Verdict::kPass) << line << result.reason;
      for (const ClaimTried& tried : result.claims_tried) {
        const bool fine = tried.state == ClaimState::kKept ||
                          tried.state == ClaimState::kNotApplicable;
        EXPECT_TRUE(fine) << spec << " " << line << " "
                          << ClaimName(tried.claim) << " " << tried.why_not
                          << tried.pair;
        const bool counted =
            tried.state != ClaimState::kKept || tried.pairs > 0;
        EXPECT_TRUE(counted) << line;
      }
      EXPECT_NE(TriedOf(Claim::kBatch, result).longest, 0) << line;
    }
  }
}

TEST(Claims, EachBugBreaksItsOwnAndNoneOutsideItsRow) {
  EXPECT_GE(ClaimBugs().size(), 16u);
  for (const ClaimBug& bug : ClaimBugs()) {
    const CaseResult result =
        JudgeSpec(bug.pattern, std::string("mutant:") + bug.name, TryAll());
    const ClaimSet also = ParseClaims(bug.also).value();
    EXPECT_EQ(TriedOf(bug.claim, result).state, ClaimState::kBroken)
        << bug.name;
    for (const ClaimTried& tried : result.claims_tried) {
      if (tried.state != ClaimState::kBroken) continue;
      EXPECT_TRUE(tried.claim == bug.claim || also.Has(tried.claim))
          << bug.name << " breaks " << ClaimName(tried.claim) << ": "
          << tried.pair;
    }
  }
}

// What is not claimed is no finding.
TEST(Claims, BugsPassWhereNothingIsClaimed) {
  for (const ClaimBug& bug : ClaimBugs()) {
    if (bug.claim == Claim::kRepeat) continue;
    const CaseResult result =
        JudgeSpec(bug.pattern, std::string("mutant:") + bug.name);
    EXPECT_EQ(result.verdict, Verdict::kPass) << bug.name << result.reason;
    EXPECT_TRUE(result.claims_tried.empty()) << bug.name;
  }
}

TEST(Claims, ABrokenClaimFails) {
  const ClaimBug& bug = *FindClaimBug("claim.split_by_batch").value();
  JudgeOptions options =
      With("base = cpu-f32; name = mine; claims = batch, decode");
  options.claim_budget.work = kSmallWork;
  const CaseResult result =
      JudgeSpec(bug.pattern, std::string("mutant:") + bug.name, options);
  EXPECT_EQ(result.verdict, Verdict::kFail);
  ASSERT_EQ(result.findings.size(), 1u);
  const Finding& finding = result.findings[0];
  EXPECT_EQ(finding.check, "claim_batch");
  EXPECT_EQ(finding.tier, Tier::kInvariance);
  EXPECT_EQ(finding.message.find(
                "breaks its claim batch: batch row 0 alone, and in a batch of "
                "4; begins at 4 batch rows, 5 keys: o differs in"),
            0u)
      << finding.message;
  // The line shows it alone.
  const CaseResult again =
      JudgeSpec(finding.line, std::string("mutant:") + bug.name, options);
  ASSERT_FALSE(again.findings.empty());
  EXPECT_EQ(again.findings[0].check, "claim_batch");
  ASSERT_EQ(result.claims_tried.size(), 2u);
  EXPECT_TRUE(result.claims_tried[0].claimed);
  EXPECT_EQ(result.claims_tried[1].state, ClaimState::kKept);
}

}  // namespace
}  // namespace lockstep::verify
