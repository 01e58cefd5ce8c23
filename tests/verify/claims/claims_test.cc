// Claims: who keeps them, who breaks which, and where it begins.
#include "verify/judge/claims/claims.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/verify/claims/try_claims.h"
#include "tests/verify/fake_candidate.h"
#include "verify/base/mixing.h"
#include "verify/emulator/mutants_claims.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {
namespace {

// The reference, with another bit in calls that are picked by their shape.
class ShapedCandidate final : public Candidate {
 public:
  using Picks = std::function<bool(const AttentionForwardProblem&)>;
  explicit ShapedCandidate(Picks picks)
      : Candidate({.backend = "optimized", .ours = true}),
        picks_(std::move(picks)) {}

  std::string Spec(const Variation&) const override { return "shaped"; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }
  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation& how,
                 const OutputSet& outputs, Execution* execution) override {
    const RunOutcome ran =
        trial.kernels().RunOptimized(how, outputs, execution);
    const auto& forward = static_cast<const AttentionForwardTrial&>(trial);
    if (picks_(forward.data().problem)) FlipBit(&ElementOf(outputs, 0, 0));
    return ran;
  }

 private:
  Picks picks_;
};

const ClaimTried& TriedOf(Claim claim, const CaseResult& result) {
  for (const ClaimTried& tried : result.claims_tried) {
    if (tried.claim == claim) return tried;
  }
  static const ClaimTried kNone;
  ADD_FAILURE() << ClaimName(claim) << " was not tried";
  return kNone;
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

// A kernel of which one call in four, by its number, has another bit.
FakeCandidate OneInFour(int64_t seed) {
  return FakeCandidate([seed](int64_t run, const Variation&,
                              const OutputSet& outputs, Execution*) {
    const auto word = Mix(static_cast<uint64_t>(seed * 1000 + run));
    if (word % 4 == 0) FlipBit(&ElementOf(outputs, 0, 5));
    return RunOutcome{};
  });
}

// Whichever claim meets it first, and alone.
TEST(Claims, ARaceIsNamedRepeat) {
  for (int64_t seed = 0; seed < 4; ++seed) {
    for (size_t n = 0; n < kClaims; ++n) {
      JudgeOptions options = With("base = cpu-f32; name = mine; claims = none");
      options.profile->claims.Add(static_cast<Claim>(n));
      options.only_claims = true;
      options.claim_budget.work = kSmallWork;
      FakeCandidate candidate = OneInFour(seed);
      const CaseResult result = JudgeLine(
          "attention_forward b=2 hq=2 hkv=2 sq=9 skv=9 d=4 mask=causal",
          candidate, options);
      // Those of splits are too few to meet it each time.
      if (static_cast<Claim>(n) != Claim::kSplit) {
        EXPECT_EQ(result.verdict, Verdict::kFail) << seed << " " << n;
      }
      for (const Finding& finding : result.findings) {
        EXPECT_EQ(finding.check, "repeat") << n << finding.message;
      }
    }
  }
}

// Answers that were computed elsewhere hold none to such pairs.
TEST(Claims, WhatWasNotLookedAtIsNotKept) {
  FakeCandidate candidate([](int64_t, const Variation&, const OutputSet&,
                             Execution*) { return RunOutcome{}; });
  candidate.repeatable = false;
  const CaseResult result =
      JudgeLine("attention_forward hq=2 sq=9 skv=9 d=4 mask=causal", candidate,
                With("base = cpu-f32; name = mine; claims = batch"));
  EXPECT_EQ(result.verdict, Verdict::kUntrusted) << result.reason;
  ASSERT_EQ(result.claims_tried.size(), 1u);
  EXPECT_EQ(result.claims_tried[0].state, ClaimState::kNotRun);
  EXPECT_NE(result.reason.find("no answer to claim_batch"), std::string::npos)
      << result.reason;
}

// Outputs that are wrong in one call of a pair only, past a size: the smallest
// is found and told.
TEST(Claims, TheSmallestSizeIsFound) {
  const struct {
    Claim claim;
    int64_t keys, width;
  } kBreaks[] = {{Claim::kBatch, 100, 5}, {Claim::kHeads, 40, 3}};
  for (const auto& [claim, keys, width] : kBreaks) {
    JudgeOptions options = TryAll(int64_t{1} << 24);
    options.try_claims = {};
    options.try_claims.Add(claim);
    ShapedCandidate candidate([&](const AttentionForwardProblem& p) {
      const int64_t wide = claim == Claim::kBatch ? p.batch : p.kv_heads;
      return p.kv_len >= keys && wide >= width;
    });
    const CaseResult result =
        JudgeLine("attention_forward sq=1 skv=1 d=1", candidate, options);
    const ClaimTried& tried = TriedOf(claim, result);
    EXPECT_EQ(tried.state, ClaimState::kBroken);
    EXPECT_EQ(tried.begins_length, keys);
    EXPECT_EQ(tried.begins_width, width);
    EXPECT_EQ(tried.length_unit, "keys");
    ASSERT_TRUE(tried.difference.has_value());
    EXPECT_EQ(tried.difference->max_ulp, 1u);
    EXPECT_NE(tried.whole_line.find("skv=" + std::to_string(keys)),
              std::string::npos);
  }
}

// Lengths are past tiles and splits.
TEST(Claims, LongSequencesAreTried) {
  JudgeOptions options = TryAll(int64_t{1} << 24);
  const CaseResult result = JudgeSpec("attention_forward sq=1 skv=3 d=1",
                                      "builtin:optimized", options);
  for (const Claim claim : {Claim::kBatch, Claim::kPadding, Claim::kHeads}) {
    EXPECT_EQ(TriedOf(claim, result).longest, 4097) << ClaimName(claim);
  }
  EXPECT_GE(TriedOf(Claim::kChunk, result).longest, 1025);
}

// What the zoo's kernels keep, and what some do not.
TEST(Claims, CorrectKernelsBreakNoneThatTheyKeep) {
  constexpr const char* kForward =
      "attention_forward hq=2 hkv=2 sq=24 skv=24 d=8 mask=causal";
  constexpr const char* kScan = "mamba3_scan h=2 g=2 t=24 n=4 p=4";
  constexpr const char* kGradient =
      "attention_backward hq=2 hkv=2 sq=12 skv=12 d=8 mask=causal";
  const struct {
    const char* variant;
    const char* line;
    const char* breaks;
  } kKernels[] = {
      {"exact", kForward, "none"},
      {"cpu", kForward, "none"},
      {"cpu-tile1", kForward, "none"},
      {"cpu-descending", kForward, "none"},
      {"cpu-eager", kForward, "none"},
      {"cpu-lazy", kForward, "none"},
      {"cpu-unfused", kForward, "none"},
      // Its rows without a key are means of what it visits, padding included.
      {"cpu-finite-mask",
       "attention_forward b=2 sq=12 skv=6 d=4 mask=causal align=br", "none"},
      // Full tiles last: which those are depends on the queries of a tile.
      {"cpu-partial-first", kForward, "padding, chunk, decode"},
      // Parts of the tiles that the queries of a tile see.
      {"cpu-split3", kForward, "chunk"},
      {"scan-recurrent-turns", kScan, "none"},
      // Its chunks begin where a row does.
      {"scan", kScan, "batch, chunk, decode"},
      {"scan-run-grid", kScan, "chunk, decode"},
      {"grad-cpu", kGradient, "none"},
      {"grad-cpu-descending", kGradient, "none"},
      // Parts of all tiles, those of the padding among them.
      {"grad-cpu-split3", kGradient, "padding"},
      {"scan-grad", "mamba3_scan_backward h=2 g=2 t=12 n=4 p=4", "none"},
  };
  for (const auto& [variant, line, breaks] : kKernels) {
    const CaseResult result =
        JudgeSpec(line, std::string("variant:") + variant, TryAll());
    EXPECT_EQ(ClaimsThatAre(ClaimState::kBroken, result), breaks) << variant;
    EXPECT_EQ(ClaimsThatAre(ClaimState::kNotRun, result), "none") << variant;
  }
}

TEST(Claims, SizesAreWords) {
  EXPECT_EQ(SizeWords(5, "batch rows", 257, "keys"), "5 batch rows, 257 keys");
  EXPECT_EQ(SizeWords(1, "queries a chunk", 1, "keys"),
            "1 query a chunk, 1 key");
  EXPECT_EQ(SizeWords(1, "positions of padding", 0, "keys"),
            "1 position of padding");
  EXPECT_EQ(SizeWords(0, "", 1, "tokens"), "1 token");
}

}  // namespace
}  // namespace lockstep::verify
