// ssd_scan before the judge: the keys it has, the tensors it shows, the
// mamba3_scan that it is, right kernels and wrong ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/verify/judge_line.h"
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

std::unique_ptr<Trial> Open(const std::string& line) {
  const Result<Case> c = ParseCase(line);
  EXPECT_TRUE(c.ok()) << line << ": " << c.message();
  auto trial = c->op->trial->open(c.value(), {});
  EXPECT_TRUE(trial.ok()) << line << ": " << trial.message();
  return std::move(trial.value());
}

OutputSet Reference(const Trial& trial) {
  auto outputs = trial.Allocate(0);
  EXPECT_TRUE(outputs.ok());
  Execution execution;
  trial.RunReference(outputs.value(), &execution);
  return std::move(outputs.value());
}

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

TEST(SsdJudge, PassesOurKernelsOnEveryCaseOfTheFile) {
  const auto file = ReadCaseFile("data/cases/ssd_scan.cases", Ops());
  ASSERT_TRUE(file.ok()) << file.message();
  int64_t judged = 0;
  for (const CaseFileEntry& entry : file->entries) {
    if (entry.sequence[0].expect == Expect::kRefuse) {
      EXPECT_FALSE(ValidateCase(entry.sequence[0]).ok());
      continue;
    }
    if (entry.sequence[0].expect != Expect::kPass) continue;
    const std::string line = MinimalLine(entry.sequence[0]);
    const CaseResult result = JudgeSpec(line, "builtin:optimized");
    EXPECT_EQ(result.verdict, Verdict::kPass) << line << result.reason;
    ++judged;
  }
  EXPECT_GE(judged, 70);
}

// Every bug, on its smallest case, by a proof; and where nothing is wrong, no
// alarm: of the kernel that the bug is planted into.
TEST(SsdJudge, ProvesEveryBugAndNoRightKernel) {
  int64_t bugs = 0;
  for (const MutantInfo& info : Mutants()) {
    if (info.op() != "ssd_scan") continue;
    ++bugs;
    const CaseResult wrong =
        JudgeSpec(info.pattern, std::string("mutant:") + info.name);
    EXPECT_EQ(wrong.verdict, Verdict::kFail) << info.name << wrong.reason;
    const CaseResult right =
        JudgeSpec(info.pattern, std::string("variant:") + info.base);
    EXPECT_NE(right.verdict, Verdict::kFail) << info.name << right.reason;
  }
  EXPECT_GE(bugs, 35);
}

TEST(SsdJudge, EveryCorrectKernelOfScansPasses) {
  for (const ScanVariant& variant : ScanZoo()) {
    std::string line = kRuns;
    if (*variant.numeric.lane == Lane::kBf16) line += " lane=bf16";
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
  std::vector<int64_t> rows(static_cast<size_t>(trial->rows()));
  for (size_t n = 0; n < rows.size(); ++n) rows[n] = static_cast<int64_t>(n);
  const auto allowed =
      trial->Envelope(LoadProfile("scan-f32").value(), rows, 1);
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
    const auto law = trial->MakeLaw("split", 1);
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
TEST(SsdDomain, MeetsAllItsFeatures) {
  const Domain& domain = *FindDomain("ssd_scan").value();
  FeatureSet met;
  for (uint64_t n = 0; n < 3000; ++n) {
    for (const Case& c : DrawCase(domain, {}, 1, n)) {
      met.Add(domain.features_of(c));
    }
  }
  const auto names = domain.features();
  ASSERT_EQ(met.has.size(), names.size());
  for (size_t n = 0; n < names.size(); ++n) EXPECT_TRUE(met.has[n]) << names[n];
  EXPECT_GE(names.size(), 40u);
}

}  // namespace
}  // namespace lockstep::verify
