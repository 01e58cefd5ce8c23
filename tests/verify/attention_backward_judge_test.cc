// attention_backward before the judge: fields, envelopes, probes, declarations.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/verify/attention_backward_trial.h"
#include "tests/verify/fake_candidate.h"
#include "tests/verify/judge_claims.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "verify/base/elements.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// A right kernel that says nothing of the scale's place fails an exact probe,
// and the report names the place, not another rounding.
TEST(BackwardJudge, ThePlaceOfTheScaleIsAField) {
  const struct {
    const char* line;
    const char* kernel;
    const char* profile;
    const char* field;
  } kPlaces[] = {
      {"attention_backward sq=56 skv=56 d=24 lane=bf16 p=bf16 mask=causal "
       "seed=3",
       "variant:grad-flash-end-ds", "flash-bf16", "grad.dk_scale_at = ds"},
      {"attention_backward sq=56 skv=56 d=24 lane=bf16 p=bf16 mask=causal "
       "seed=3",
       "variant:grad-flash-ds-sum", "flash-bf16", "grad.dq_scale_at = ds"},
      {"attention_backward hq=8 hkv=1 sq=3 skv=1 d=2 dv=3 seed=764779",
       "variant:grad-cpu-end-head", "cpu-f32", "grad.dk_scale_at = head"}};
  for (const auto& [line, kernel, profile, field] : kPlaces) {
    EXPECT_EQ(JudgeSpec(line, kernel).verdict, Verdict::kPass) << kernel;
    JudgeOptions options = With(profile);
    options.one_field = true;
    const CaseResult unsaid = JudgeSpec(line, kernel, options);
    EXPECT_EQ(unsaid.verdict, Verdict::kFail) << kernel;
    EXPECT_EQ(unsaid.one_field, field) << kernel;
  }
}

// dS of the P that was rounded for dv, as torch's memory-efficient attention
// has it: rows of few keys show it, where dP - D cancels.
TEST(BackwardJudge, TheWeightInDsIsAField) {
  const char* line =
      "attention_backward hq=8 hkv=1 sq=6 skv=6 d=32 lane=bf16 p=bf16 "
      "mask=causal seed=1";
  const char* kernel = "variant:grad-flash-rounded-p";
  EXPECT_EQ(JudgeSpec(line, kernel).verdict, Verdict::kPass);
  JudgeOptions options = With("flash-bf16");
  options.one_field = true;
  const CaseResult unsaid = JudgeSpec(line, kernel, options);
  EXPECT_EQ(unsaid.verdict, Verdict::kFail);
  EXPECT_EQ(unsaid.one_field, "grad.ds_from = rounded_p");
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
      for (const PlantedFault& fault : trial->faults().PlantFaults(1)) {
        if (fault.kind != (of_query ? "query" : "key")) continue;
        seen = true;
        shown |= Shows(*trial, profile, fault);
      }
    }
    EXPECT_TRUE(seen && shown) << of_query;
  }
}

// The o of a query without keys is 0, so that a kernel may sum do * o over
// every row; such queries still count in dsink, by dlse.
TEST(BackwardProbes, QueriesWithoutKeysHaveNoOutput) {
  for (const char* probe : {"grad-keys", "grad-queries-powers"}) {
    const auto opened = Open(
        "attention_backward b=2 sq=3 skv=2 d=2 dv=3 valid_q=3,1 "
        "valid_kv=2,0 sinklogit=const:0 dlse=normal:1 fill=probe:" +
        std::string(probe));
    const auto& data =
        dynamic_cast<const AttentionBackwardTrial&>(*opened).data();
    double dsink = 0;
    for (int64_t row = 0; row < 6; ++row) {
      double delta = -double{data.inputs.dlse(row / 3, 0, row % 3)};
      EXPECT_EQ(std::fabs(delta), 4);
      for (int64_t c = 0; c < 3; ++c) {
        const float o = data.inputs.o.Float(row / 3, 0, row % 3, c);
        delta +=
            double{o} * double{data.inputs.d_o.Float(row / 3, 0, row % 3, c)};
        if (row >= 3) EXPECT_EQ(o, 0);
      }
      dsink -= delta;  // every weight is 1
    }
    EXPECT_EQ(double{ElementOf(Reference(*opened), 3, 0)}, dsink);
  }
}

// The same where the scale, no power of two, is rounded into every term.
TEST(BackwardProbes, ShowOnePairAtEveryPlaceOfTheScale) {
  for (const char* kernel :
       {"grad-cpu-ds-ds", "grad-cpu-k-q", "grad-cpu-end-head",
        "grad-flash-ds-ds", "grad-flash-k-q", "grad-flash-end-head"}) {
    const NumericProfile profile = FindGradVariant(kernel)->numeric;
    for (const char* shape : {"sq=4 skv=4096", "sq=4096 skv=4"}) {
      const Case c =
          ParseCase("attention_backward hq=2 hkv=1 d=24 mask=causal align=br " +
                    std::string(shape) + LaneWord(profile))
              .value();
      bool shown = false;
      for (const Case& probe : c.op->trial->probe_cases(c, profile)) {
        const auto trial = Open(probe);
        for (const PlantedFault& fault : trial->faults().PlantFaults(1)) {
          if (fault.kind != "query" && fault.kind != "key") continue;
          shown |= Shows(*trial, profile, fault);
        }
      }
      EXPECT_TRUE(shown) << kernel << " " << shape;
    }
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
  EXPECT_NE(Open("attention_backward sq=4 skv=6 d=8")
                ->envelopes()
                .WhyUndeclared(profile),
            "");
}

// A product of do and v, or a D, that overflows, times a weight of 0: as NaN of
// a query.
TEST(BackwardJudge, MaskedOverflowIsADeclaration) {
  NumericProfile safe = LoadProfile("cpu-f32").value();
  NumericProfile unsafe = safe;
  unsafe.masked_nan_safe = MaskedNan::kNo;
  JudgeOptions options;
  for (const char* line :
       {"attention_backward b=2 hq=2 hkv=1 sq=4 skv=40 d=8 mask=causal "
        "align=br do=normal:1+huge:0.01 seed=2",
        "attention_backward sq=5 skv=5 d=4 mask=causal do=normal:8 "
        "fill=normal:1+v.huge:0.03 seed=3",
        "attention_backward sq=5 skv=5 d=4 mask=causal do=normal:8 "
        "fill=normal:1+v.huge:0.03 seed=7",
        "attention_backward hq=2 hkv=1 sq=40 skv=40 d=8 mask=causal "
        "q_seg=runs:9,20,11 kv_seg=runs:9,20,11 do=normal:1+huge:0.01 "
        "seed=5"}) {
    options.profile = safe;
    EXPECT_EQ(JudgeSpec(line, "mutant:grad.mask_multiplies", options).verdict,
              Verdict::kFail)
        << line;
    options.profile = unsafe;
    for (const char* kernel :
         {"variant:grad-cpu-masked", "mutant:grad.mask_multiplies"}) {
      const CaseResult result = JudgeSpec(line, kernel, options);
      EXPECT_NE(result.verdict, Verdict::kFail)
          << line << ": " << result.reason;
    }
    // Nothing else is left open: a pair of large numbers hides no other fault.
    EXPECT_EQ(JudgeSpec(line, "mutant:grad.delta_missing", options).verdict,
              Verdict::kFail)
        << line;
  }
}

// NaN and infinity of a query times a weight of 0, as every kernel by matrices
// has it, behind a mask of the same head: right where masked NaN is declared
// unsafe, wrong elsewhere.
TEST(BackwardJudge, MaskedNaNOfQueriesIsADeclaration) {
  const std::string line =
      "attention_backward b=2 hq=2 hkv=1 sq=4 skv=40 d=8 mask=causal align=br "
      "do=normal:1+special:0.02 seed=4";
  NumericProfile safe = LoadProfile("cpu-f32").value();
  NumericProfile unsafe = safe;
  unsafe.masked_nan_safe = MaskedNan::kNo;
  JudgeOptions options;
  options.evidence = options.canaries = false;
  options.profile = safe;
  EXPECT_EQ(JudgeSpec(line, "mutant:grad.mask_multiplies", options).verdict,
            Verdict::kFail);
  options.profile = unsafe;
  for (const char* kernel :
       {"variant:grad-cpu-masked", "mutant:grad.mask_multiplies"}) {
    const CaseResult result = JudgeSpec(line, kernel, options);
    EXPECT_NE(result.verdict, Verdict::kFail) << result.reason;
  }
  // Of batch rows without such a query everything stays bounded.
  const auto trial = Open(line);
  const auto* own = dynamic_cast<const AttentionBackwardTrial*>(trial.get());
  const OutputSet right = Reference(*trial);
  int64_t open = 0, closed = 0;
  for (int64_t b = 0; b < 2; ++b) {
    bool wild = false;
    const auto& d_o = own->data().inputs.d_o;
    ForElements(d_o.shape, [&](const At& at) {
      wild |= at[0] == b &&
              !std::isfinite(ElementValue(d_o.lane, ElementBits(d_o, at)));
    });
    std::vector<int64_t> rows;
    for (int64_t j = 0; j < 40; ++j) {
      rows.push_back(own->RowOf({BackwardRow::Kind::kKey, b, 0, j}));
    }
    const auto judged =
        trial->envelopes().Envelope(unsafe, rows, 1)->Judge(right);
    EXPECT_EQ(judged[1].unbounded > 0, wild) << b;
    (wild ? open : closed) += 1;
  }
  EXPECT_EQ(open, 1);
  EXPECT_EQ(closed, 1);
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
