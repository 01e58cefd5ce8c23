// Kernels of attention's gradients whose o and lse are their own: what they
// hand back, what they are held against, and what shows a fault of theirs.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/verify/attention_backward_trial.h"
#include "tests/verify/judge_claims.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

constexpr const char* kLine =
    "attention_backward hq=4 hkv=2 sq=21 skv=26 d=9 dv=5 cap=10 mask=causal "
    "align=br sinklogit=normal:1 dlse=normal:1 seed=3";

std::unique_ptr<Trial> OpenFor(const std::string& line,
                               const NumericProfile& profile) {
  const Case c = ParseCase(line).value();
  auto trial = TrialRowOf(c).value().open(c, OptionsFor(&profile));
  EXPECT_TRUE(trial.ok()) << trial.message();
  return std::move(trial.value());
}

std::string OutputsFor(const char* profile) {
  const auto trial = OpenFor(kLine, LoadProfile(profile).value());
  std::string names;
  for (const OutputSpec& spec : trial->outputs()) {
    names += (names.empty() ? "" : " ") + spec.name;
  }
  return names;
}

TEST(OwnForward, IsHandedBackWhereTheProfileSaysSo) {
  EXPECT_EQ(OutputsFor("cpu-f32"), "dv dk dq dsink");
  EXPECT_EQ(OutputsFor("base = cpu-f32; name = x; grad.from = given"),
            "dv dk dq dsink");
  EXPECT_EQ(OutputsFor("base = cpu-f32; name = x; grad.from = own"),
            "dv dk dq dsink own_o own_lse");
  EXPECT_EQ(OutputsFor("base = cpu-f32; name = x; grad.from = own; lse = none"),
            "dv dk dq dsink own_o");
}

TEST(OwnForward, WhatPAndDWereMadeOfHasOneForm) {
  for (const char* also : {"lse = bf16", "lse_base = 2", "out = f32"}) {
    const auto profile = LoadProfile(
        std::string("base = cpu-f32; name = x; grad.from = own; ") + also);
    ASSERT_FALSE(profile.ok()) << also;
    EXPECT_NE(profile.message().find("grad.from = own needs"),
              std::string::npos)
        << profile.message();
  }
}

// Every element is part of one row, and has its bits.
TEST(OwnForward, IsPartOfTheRowsOfQueries) {
  const auto trial =
      OpenFor(kLine, FindGradVariant("grad-cpu-own").value().numeric);
  const OutputSet whole = Reference(*trial);
  std::vector<int64_t> seen(trial->outputs().size());
  for (int64_t row = 0; row < trial->rows(); ++row) {
    RowBits bits;
    trial->ReferenceRow(row, &bits);
    for (size_t t = 0; t < seen.size(); ++t) {
      size_t at = 0;
      for (const int64_t line : trial->Lines(t, row)) {
        ++seen[t];
        for (int64_t c = 0; c < trial->outputs()[t].shape[3]; ++c, ++at) {
          ASSERT_EQ(bits[t][at],
                    ElementBits(whole.tensors[t].const_view(),
                                LineIndex(trial->outputs()[t], line, c)));
        }
      }
      EXPECT_EQ(at, bits[t].size());
    }
  }
  for (size_t t = 0; t < seen.size(); ++t) {
    EXPECT_EQ(seen[t], trial->outputs()[t].lines());
  }
}

// A right kernel passes under its honest profile and fails under the same one
// with the o and lse that it never looked at; what is wrong fails under both.
TEST(OwnForward, IsADeclaration) {
  const struct {
    const char* kernel;
    bool right;
  } kKernels[] = {{"variant:grad-cpu-own", true},
                  {"variant:grad-tf32-own-k-q", true},
                  {"variant:grad-flash-own", true},
                  {"variant:grad-flash-own-no-lse", true},
                  {"variant:grad-cudnn-own", true},
                  {"variant:grad-efficient-own", true},
                  {"mutant:grad.own_forward_uncapped", false},
                  {"mutant:grad.own_o_of_other_head", false},
                  {"mutant:grad.delta_missing,base=grad-flash-own", false}};
  for (const auto& [kernel, right] : kKernels) {
    JudgeOptions options;
    options.profile = ParseCandidate(kernel).value()->traits().claims;
    const bool bf16 = options.profile->lane == Lane::kBf16;
    const std::string line =
        kLine + std::string(bf16 ? " lane=bf16 p=bf16" : "");
    const CaseResult own = JudgeSpec(line, kernel, options);
    EXPECT_EQ(own.verdict, right ? Verdict::kPass : Verdict::kFail)
        << kernel << ": " << own.reason;
    options.profile->grad->from = GradFrom::kGiven;
    EXPECT_EQ(JudgeSpec(line, kernel, options).verdict, Verdict::kFail)
        << kernel;
  }
}

// A softmax that keeps its weights sums them and dP for D: of an o that is
// rounded to bf16 that is another number.
TEST(OwnForward, WhatDIsASumOverIsADeclaration) {
  for (const char* kernel :
       {"grad-cpu-own-weights", "grad-flash-own-weights"}) {
    JudgeOptions options;
    options.profile = FindGradVariant(kernel)->numeric;
    const bool bf16 = options.profile->lane == Lane::kBf16;
    const std::string line =
        kLine + std::string(bf16 ? " lane=bf16 p=bf16" : "");
    const std::string spec = std::string("variant:") + kernel;
    EXPECT_EQ(JudgeSpec(line, spec, options).verdict, Verdict::kPass) << spec;
    if (!bf16) continue;
    options.profile->grad->delta_from = DeltaFrom::kO;
    EXPECT_EQ(JudgeSpec(line, spec, options).verdict, Verdict::kFail) << spec;
  }
  const auto given =
      LoadProfile("base = cpu-f32; name = x; grad.delta_from = weights");
  ASSERT_FALSE(given.ok());
  EXPECT_NE(given.message().find("needs grad.from = own"), std::string::npos);
}

// A kernel that uses what it is given may hand that back.
TEST(OwnForward, OfOurKernelsIsTheGivenOne) {
  for (const char* kernel : {"builtin:optimized", "variant:grad-cpu"}) {
    JudgeOptions options;
    options.profile = FindGradVariant("grad-cpu-own")->numeric;
    const CaseResult result = JudgeSpec(kLine, kernel, options);
    EXPECT_EQ(result.verdict, Verdict::kPass) << kernel << result.reason;
  }
}

// What is allowed is narrow in every output, those handed back included, and
// the gradients of a kernel without an lse.
TEST(OwnForward, IsBoundedAsAWhole) {
  for (const char* kernel : {"grad-cpu-own", "grad-cpu-own-no-lse"}) {
    const NumericProfile profile = FindGradVariant(kernel)->numeric;
    const auto trial = OpenFor(kLine, profile);
    const auto allowed =
        trial->envelopes().Envelope(profile, AllRows(*trial), 1);
    OutputSet right = Reference(*trial);
    for (const EnvelopeResult& found : allowed->Judge(right)) {
      EXPECT_TRUE(found.Passed()) << kernel << found.tensor;
      EXPECT_FALSE(found.MostlyOpen()) << kernel << found.tensor;
    }
    for (size_t t = 0; t < right.tensors.size(); ++t) {
      OutputSet wrong = Reference(*trial);
      auto* data = static_cast<float*>(wrong.tensors[t].view.data);
      data[7 % trial->outputs()[t].lines()] += 0x1p-7f;
      int64_t outside = 0;
      for (const EnvelopeResult& found : allowed->Judge(wrong)) {
        outside += found.outside;
      }
      EXPECT_GE(outside, 1) << kernel << " " << trial->outputs()[t].name;
    }
  }
}

// One pair more or less among 4096 is outside, wherever the scale goes in.
TEST(OwnForwardProbes, ShowOnePairAmongMany) {
  for (const char* kernel :
       {"grad-cpu-own", "grad-tf32-own", "grad-cpu-own-no-lse",
        "grad-flash-own", "grad-flash-own-ds-ds", "grad-flash-own-k-q",
        "grad-efficient-own"}) {
    const NumericProfile profile = FindGradVariant(kernel)->numeric;
    for (const bool keys : {true, false}) {
      const Case c =
          ParseCase("attention_backward hq=2 hkv=1 d=24 mask=causal align=br " +
                    std::string(keys ? "sq=4 skv=4096" : "sq=4096 skv=4") +
                    (profile.lane == Lane::kBf16 ? " lane=bf16 p=bf16" : ""))
              .value();
      const std::vector<Case> probes = c.op->trial->probe_cases(c, profile);
      ASSERT_EQ(probes.size(), 2u);
      bool shown = false;
      for (const Case& probe : probes) {
        const auto trial = OpenFor(MinimalLine(probe), profile);
        for (const PlantedFault& fault : trial->faults().PlantFaults(1)) {
          if (fault.kind != (keys ? "query" : "key")) continue;
          shown |= Shows(*trial, profile, fault);
        }
      }
      EXPECT_TRUE(shown) << kernel << " " << keys;
    }
  }
}

// Nor does a forward pass hide a weight among 4097: sums of equal weights are
// exact, and so are their o and lse.
TEST(OwnForwardProbes, ShowOneWeightOfTheForwardPass) {
  const char* line = "attention_backward sq=1 skv=4097 d=4 sinklogit=const:1";
  JudgeOptions options;
  options.causes = options.invariance = options.evidence = false;
  const CaseResult wrong =
      JudgeSpec(line, "mutant:grad.own_forward_without_sink", options);
  EXPECT_EQ(wrong.verdict, Verdict::kFail);
  ASSERT_FALSE(wrong.findings.empty());
  EXPECT_EQ(wrong.findings[0].tier, Tier::kProbes);
  EXPECT_NE(JudgeSpec(line, "variant:grad-cpu-own", options).verdict,
            Verdict::kFail);
}

// A long case earns its trust by them.
TEST(OwnForwardProbes, MakeLongCasesCount) {
  JudgeOptions options;
  options.causes = false;
  const char* line =
      "attention_backward sq=200 skv=200 d=8 lane=bf16 p=bf16 mask=causal "
      "seed=4";
  const CaseResult right = JudgeSpec(line, "variant:grad-flash-own", options);
  EXPECT_EQ(right.verdict, Verdict::kPass) << right.reason;
  options.probes = false;
  EXPECT_EQ(JudgeSpec(line, "variant:grad-flash-own", options).verdict,
            Verdict::kUntrusted);
}

}  // namespace
}  // namespace lockstep::verify
