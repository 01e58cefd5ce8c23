// attention_backward before the judge: right kernels and wrong ones, envelopes,
// probes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/verify/attention_backward_trial.h"
#include "tests/verify/judge_claims.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "verify/base/compare.h"
#include "verify/domain/domain.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/emulator/mutants.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::verify {
namespace {

// Every bug, on its smallest case, by a proof; and where nothing is wrong, no
// alarm: of the kernel that the bug is planted into.
TEST(BackwardJudge, ProvesEveryBugAndNoRightKernel) {
  int64_t bugs = 0;
  for (const MutantInfo& info : Mutants()) {
    if (!info.gradients()) continue;
    ++bugs;
    EXPECT_EQ(info.op(), "attention_backward");
    ExpectProven(info);
  }
  EXPECT_GE(bugs, 60);
}

// P and dS recomputed and rounded, dq in bf16 between tiles, split sums and all
// others are right under their own profiles.
TEST(BackwardJudge, EveryCorrectKernelPasses) {
  for (const GradVariant& variant : GradZoo()) {
    const std::string lane =
        *variant.numeric.lane == Lane::kBf16 ? " lane=bf16 p=bf16" : "";
    const CaseResult result =
        JudgeSpec(kEverything + lane, "variant:" + variant.name());
    EXPECT_EQ(result.verdict, Verdict::kPass)
        << variant.name() << ": " << result.reason;
  }
}

// The emulated contract has the contract's bits.
TEST(BackwardEmulator, ExactVariantsHaveTheReferencesBits) {
  const Domain& domain = *FindDomain("attention_backward").value();
  for (uint64_t n = 0; n < 300; ++n) {
    const Case c = DrawCase(domain, {}, 5, n)[0];
    const auto opened = Open(c);
    const auto* trial =
        dynamic_cast<const AttentionBackwardTrial*>(opened.get());
    for (const char* name : {"grad-exact", "grad-exact-wide"}) {
      const OutputSet expected = Reference(*trial);
      auto outputs = trial->Allocate(0);
      ASSERT_TRUE(outputs.ok());
      GradEmulator(FindGradVariant(name).value())
          .Run(trial->data().problem, trial->data().inputs,
               BackwardViews(outputs.value()));
      for (size_t t = 0; t < expected.tensors.size(); ++t) {
        EXPECT_TRUE(CompareTensors("x", expected.tensors[t].const_view(),
                                   outputs->tensors[t].const_view())
                        .Passed())
            << name << " " << trial->outputs()[t].name << " " << MinimalLine(c);
      }
    }
  }
}

// What f32 allows is narrow: a relative change of 2^-12 of the largest element
// of any output is outside.
TEST(BackwardEnvelope, OfF32IsNarrow) {
  ExpectNarrow(*Open(kEverything), "cpu-f32", 0x1p-12f);
}

// On a probe one pair more or less is outside, at any length; without it the
// envelope would allow that.
TEST(BackwardProbes, ShowOnePairAmongMany) {
  const char* line =
      "attention_backward hq=2 hkv=1 sq=4 skv=4096 d=16 mask=causal align=br";
  const NumericProfile profile = LoadProfile("cpu-f32").value();
  const Case c = ParseCase(line).value();
  const std::vector<Case> probes = c.op->trial->probe_cases(c, profile);
  ASSERT_EQ(probes.size(), 2u);
  for (const bool of_query : {true, false}) {
    bool shown = false, seen = false;
    for (const Case& probe : probes) {
      const auto trial = Open(probe);
      for (const PlantedFault& fault : trial->Faults(1)) {
        if (fault.kind != (of_query ? "query" : "key")) continue;
        seen = true;
        shown |= Shows(*trial, profile, fault);
      }
    }
    EXPECT_TRUE(seen && shown) << of_query;
  }
}

// A profile whose exp(0) is not 1, or whose sums are too narrow, has no exact
// expectation.
TEST(BackwardProbes, AreLeftOutWhereTheyProveNothing) {
  const Case c = ParseCase("attention_backward sq=4 skv=6 d=8").value();
  NumericProfile profile = LoadProfile("cpu-f32").value();
  profile.exp_zero = ExpZero::kWeights;
  EXPECT_TRUE(c.op->trial->probe_cases(c, profile).empty());
  profile.exp_zero = ExpZero::kExact;
  profile.grad.reset();
  EXPECT_TRUE(c.op->trial->probe_cases(c, profile).empty());
  EXPECT_NE(Open("attention_backward sq=4 skv=6 d=8")->WhyUndeclared(profile),
            "");
}

// Roundings to bf16 among its subnormal numbers are no shares of what is
// rounded: cut P and dS, and sums kept in bf16.
TEST(AttentionBackwardJudge, SubnormalNumbersOfBf16AreAllowedTheirUnit) {
  const struct {
    const char* kernel;
    const char* line;
  } kSeen[] = {
      {"variant:grad-flash-cut",
       "attention_backward b=3 hq=3 sq=3 skv=33 d=64 lane=bf16 cap=50 "
       "mask=full&sink:3&prefix:26,18,28|window:inf,5&(window:3,inf|window:3,"
       "inf)&chunked:32 align=br fill=qk.normal:1+v.signature seed=643102 "
       "grad=f32 do=onehot dlse=const:0"},
      {"variant:grad-flash-dkv-bf16",
       "attention_backward hq=4 hkv=2 sq=7 skv=24 d=8 lane=bf16 scale=2 "
       "mask=sink:0 mask.h2=(causal&causal|window:3,2&causal|full&chunked:3)&("
       "blocks:7x1:0.8|full&prefix:18|chunked:24&causal) mask.h3=sink:24 "
       "valid_q=1 fill=int:-3,3 seed=449320 sinklogit=const:0 grad=f32 "
       "do=normal:0.01 dlse=normal:1"}};
  for (const auto& [kernel, line] : kSeen) {
    JudgeOptions options;
    options.probes = options.evidence = options.canaries = false;
    const CaseResult result = JudgeSpec(line, kernel, options);
    for (const Finding& finding : result.findings) {
      EXPECT_NE(finding.tier, Tier::kEnvelope) << kernel << finding.message;
    }
    EXPECT_NE(result.verdict, Verdict::kFail) << kernel;
  }
}

}  // namespace
}  // namespace lockstep::verify
