// ssd_scan before the judge: the keys it has, the tensors it shows, the
// mamba3_scan that it is, right kernels and wrong ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/verify/judge_claims.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "verify/base/digest.h"
#include "verify/candidate/candidate.h"
#include "verify/domain/domain.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/emulator/mutants.h"
#include "verify/ops/op.h"
#include "verify/ops/ssd_scan/trial.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::verify {
namespace {

constexpr const char* kRuns =
    "ssd_scan t=40 h=4 g=2 n=9 p=5 cu=0,15,16,40 gate=yes carry=yes seed=3";

TEST(SsdCase, HasTheKeysOfMamba2Only) {
  for (const char* key :
       {"s=2", "variant=mimo", "r=1", "rot=bf16", "bias=no", "reduce=no",
        "norm=1e-5", "tau=const:0", "rate=const:0"}) {
    const auto c = ParseCase(std::string("ssd_scan t=4 n=8 p=2 ") + key);
    ASSERT_FALSE(c.ok()) << key;
    EXPECT_NE(c.message().find("of ssd_scan"), std::string::npos)
        << c.message();
  }
  const auto part = ParseCase("ssd_scan t=4 n=8 p=2 carry=hk");
  EXPECT_NE(part.message().find("expected 'no' or 'yes'"), std::string::npos)
      << part.message();
  const auto whole = ParseCase("ssd_scan t=4 n=8 p=2 carry=yes");
  ASSERT_TRUE(whole.ok()) << whole.message();
  EXPECT_TRUE(ValidateCase(whole.value()).ok());
  EXPECT_EQ(MinimalLine(whole.value()), "ssd_scan t=4 n=8 p=2 carry=yes");
}

TEST(SsdTrial, ShowsWhatMamba2Reads) {
  const auto trial = Open("ssd_scan t=4 h=2 g=1 n=8 p=3 carry=yes gate=yes");
  std::vector<std::string> names;
  for (const NamedTensor& x : trial->Inputs().tensors) names.push_back(x.name);
  EXPECT_EQ(names, (std::vector<std::string>{"q", "k", "v", "z", "dt", "a", "d",
                                             "init_h"}));
  const KernelInputs inputs = trial->Inputs();
  EXPECT_EQ(inputs.op, "ssd_scan");
  EXPECT_EQ(inputs.Find("q")->shape, (std::vector<int64_t>{1, 4, 1, 8}));
  EXPECT_EQ(inputs.Find("init_h")->shape, (std::vector<int64_t>{1, 2, 3, 8}));
  const auto has = [&](const char* name) {
    return std::any_of(inputs.scalars.begin(), inputs.scalars.end(),
                       [&](const auto& s) { return s.first == name; });
  };
  EXPECT_TRUE(has("n") && has("runs") && has("carry_in"));
  EXPECT_FALSE(has("r") || has("s") || has("bias") || has("norm_epsilon"));
  const OutputSet outputs = Reference(*trial);
  const KernelCall call = trial->Call(0, outputs);
  ASSERT_EQ(call.outputs.size(), 2u);
  EXPECT_EQ(call.outputs[0].shape, (std::vector<int64_t>{1, 4, 2, 3}));
  EXPECT_EQ(call.outputs[1].name, "carry_h");
  EXPECT_EQ(call.outputs[1].shape, (std::vector<int64_t>{1, 2, 3, 8}));
}

// Bit for bit the mamba3_scan that docs/ops/ssd_scan.md says it is: one whole
// computation, and the truth row by row.
TEST(SsdTrial, IsTheMamba3ScanWithoutItsParts) {
  for (const char* keys :
       {"t=40 h=4 g=2 n=9 p=5 cu=0,15,15,16,40 gate=yes carry=yes seed=3",
        "b=2 t=17 h=2 n=8 p=3 seg=[runs:3,14;ids:0*5,1*2,0*10] lane=bf16",
        "t=33 n=16 p=8 regime=short skip=no layout=bhtp pad=3 carry=yes",
        "t=20 h=2 n=8 p=4 fill=probe:integrate carry=yes"}) {
    const auto ssd = Open(std::string("ssd_scan ") + keys);
    const auto mamba3 = Open(std::string("mamba3_scan s=0 bias=no "
                                         "tau=const:inf ") +
                             keys);
    const OutputSet ours = Reference(*ssd);
    const OutputSet theirs = Reference(*mamba3);
    for (size_t t = 0; t < 2; ++t) {
      ASSERT_EQ(ssd->outputs()[t].name, mamba3->outputs()[t].name);
      EXPECT_EQ(DigestTensor(ours.tensors[t].const_view()),
                DigestTensor(theirs.tensors[t].const_view()))
          << keys << ": " << ssd->outputs()[t].name;
    }
    for (int64_t row = 0; row < ssd->rows(); ++row) {
      RowBits one, other;
      ssd->ReferenceRow(row, &one);
      mamba3->ReferenceRow(row, &other);
      other.resize(2);
      EXPECT_EQ(one, other) << keys << " row " << row;
    }
  }
}

// Every bug, on its smallest case, by a proof; and where nothing is wrong, no
// alarm: of the kernel that the bug is planted into.
TEST(SsdJudge, ProvesEveryBugAndNoRightKernel) {
  int64_t bugs = 0;
  for (const MutantInfo& info : Mutants()) {
    if (info.op() != "ssd_scan") continue;
    ++bugs;
    ExpectProven(info);
  }
  EXPECT_GE(bugs, 35);
}

TEST(SsdJudge, EveryCorrectKernelOfScansPasses) {
  for (const ScanVariant& variant : ScanZoo()) {
    const std::string line =
        std::string(kRuns) + " lane=" + LaneName(*variant.numeric.lane);
    const CaseResult result = JudgeSpec(line, "variant:" + variant.name());
    EXPECT_EQ(result.verdict, Verdict::kPass)
        << variant.name() << result.reason;
  }
  EXPECT_EQ(JudgeSpec(kRuns, "builtin:optimized,chunk=4").verdict,
            Verdict::kPass);
}

// One part in 10^4 of an output is outside of what f32 allows.
TEST(SsdJudge, TheEnvelopeOfASmallErrorIsNarrow) {
  const auto trial = Open(kRuns);
  const auto allowed =
      trial->envelopes().Envelope(Profile("scan-f32"), AllRows(*trial), 1);
  for (size_t t = 0; t < 2; ++t) {
    OutputSet outputs = Reference(*trial);
    const auto right = allowed->Judge(outputs);
    ASSERT_EQ(right.size(), 2u);
    EXPECT_EQ(right[t].outside, 0);
    auto* data = static_cast<float*>(outputs.tensors[t].view.data);
    data[0] += 1e-3f;
    EXPECT_EQ(allowed->Judge(outputs)[t].outside, 1);
    EXPECT_EQ(allowed->Judge(outputs)[1 - t].outside, 0);
  }
}

// What a call exports is all that the next one needs, but behind a value that
// is not finite: that law is then not tried.
TEST(SsdLaws, AChainIsTheWholeWhereItsTokensAreFinite) {
  const auto splits = [](const std::string& line) {
    const auto trial = Open(line);
    const auto law = trial->laws().MakeLaw("split", 1);
    EXPECT_TRUE(law.ok()) << law.message();
    return law->calls.size();
  };
  EXPECT_EQ(splits("ssd_scan t=2 n=2 p=1 seed=1"), 2u);
  EXPECT_EQ(splits("ssd_scan t=2 n=2 p=1 fill=special:1 seed=1"), 0u);
  EXPECT_EQ(splits("mamba3_scan t=2 n=4 p=1 fill=special:1 seed=1"), 2u);
  const CaseResult result = JudgeSpec(
      "ssd_scan t=2 n=2 p=1 fill=special:0.2 seed=1", "builtin:optimized");
  EXPECT_NE(result.verdict, Verdict::kFail) << result.reason;
}

// Features that no case of the op can have are not asked for.
TEST(SsdDomain, MeetsAllItsFeatures) { ExpectFeaturesMet("ssd_scan", 40); }

}  // namespace
}  // namespace lockstep::verify
