// attention_backward before the judge: the keys it has, the tensors it shows,
// the rows of its truth, right kernels and wrong answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/verify/judge_line.h"
#include "verify/base/compare.h"
#include "verify/base/digest.h"
#include "verify/domain/domain.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::verify {
namespace {

constexpr const char* kEverything =
    "attention_backward b=2 hq=4 hkv=2 sq=21 skv=26 d=9 dv=5 cap=10 "
    "mask=causal|sink:2 align=br q_seg=runs:9,12 kv_seg=runs:10,16 "
    "valid_q=21,17 valid_kv=26,20 sinklogit=normal:1 dlse=normal:1 seed=3";

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

std::string Refusal(const std::string& keys) {
  const auto c = ParseCase("attention_backward sq=4 skv=4 d=8 " + keys);
  if (!c.ok()) return c.message();
  return ValidateCase(c.value()).message();
}

TEST(BackwardCase, HasKeysOfItsOwnAndRefusesInOneLine) {
  EXPECT_NE(Refusal("order=chain").find("unknown key 'order'"),
            std::string::npos);
  EXPECT_NE(Refusal("grad=bf16").find("grad=bf16 with lane=f32"),
            std::string::npos);
  EXPECT_NE(Refusal("do=caps:1,2").find("want a family of one tensor"),
            std::string::npos);
  EXPECT_NE(Refusal("do=q.normal:1").find("without a prefix"),
            std::string::npos);
  EXPECT_NE(Refusal("do=normal:-1").find("do: fill normal:-1"),
            std::string::npos);
  EXPECT_NE(Refusal("dlse=onehot").find("a cotangent of lse"),
            std::string::npos);
  EXPECT_NE(Refusal("fill=probe:cancel").find("nothing about gradients"),
            std::string::npos);
  const char* line =
      "attention_backward sq=4 skv=4 d=8 lane=bf16 grad=f32 "
      "do=normal:1+zero:0.5 dlse=const:2";
  const auto whole = ParseCase(line);
  ASSERT_TRUE(whole.ok()) << whole.message();
  EXPECT_EQ(ParseCase(MinimalLine(whole.value())).value(), whole.value());
  EXPECT_EQ(ParseCase(CanonicalLine(whole.value())).value(), whole.value());
  // The default of grad is the lane.
  EXPECT_EQ(MinimalLine(ParseCase("attention_backward sq=4 skv=4 d=8 lane=bf16 "
                                  "grad=bf16")
                            .value()),
            "attention_backward sq=4 skv=4 d=8 lane=bf16");
}

TEST(BackwardTrial, ShowsWhatAKernelReads) {
  const auto trial = Open(kEverything);
  const KernelInputs inputs = trial->Inputs();
  EXPECT_EQ(inputs.op, "attention_backward");
  for (const char* name : {"q", "k", "v", "o", "lse", "do", "dlse", "sink",
                           "q_seg", "kv_seg", "valid_q", "valid_kv"}) {
    EXPECT_NE(inputs.Find(name), nullptr) << name;
  }
  EXPECT_EQ(inputs.Find("do")->shape, (std::vector<int64_t>{2, 4, 21, 5}));
  const OutputSet outputs = Reference(*trial);
  const KernelCall call = trial->Call(0, outputs);
  ASSERT_EQ(call.outputs.size(), 4u);
  EXPECT_EQ(call.outputs[3].name, "dsink");
  EXPECT_EQ(call.outputs[3].shape, (std::vector<int64_t>{4}));
}

// Every element is part of one row, and has its bits.
TEST(BackwardTrial, RowsAreTheWhole) {
  for (const std::string line :
       {std::string(kEverything), std::string(kEverything) + " lane=bf16",
        std::string("attention_backward hq=3 sq=5 skv=7 d=4 p=bf16")}) {
    const auto trial = Open(line);
    const OutputSet whole = Reference(*trial);
    std::vector<int64_t> seen(trial->outputs().size());
    for (int64_t row = 0; row < trial->rows(); ++row) {
      RowBits bits;
      trial->ReferenceRow(row, &bits);
      for (size_t t = 0; t < seen.size(); ++t) {
        const OutputSpec& spec = trial->outputs()[t];
        size_t at = 0;
        for (const int64_t out : trial->Lines(t, row)) {
          ++seen[t];
          for (int64_t c = 0; c < spec.shape[3]; ++c, ++at) {
            ASSERT_EQ(bits[t][at], ElementBits(whole.tensors[t].const_view(),
                                               LineIndex(spec, out, c)))
                << line << " " << spec.name << " row " << row;
          }
        }
        EXPECT_EQ(at, bits[t].size());
      }
    }
    for (size_t t = 0; t < seen.size(); ++t) {
      EXPECT_EQ(seen[t], trial->outputs()[t].lines());
    }
  }
}

// A long case has o and lse of the fast forward pass: the same bits.
TEST(BackwardTrial, LongInputsAreTheForwardOpsOwn) {
  const auto trial =
      Open("attention_backward sq=200 skv=300 d=64 mask=causal align=br");
  const auto* backward =
      dynamic_cast<const AttentionBackwardTrial*>(trial.get());
  const auto forward =
      Open("attention_forward sq=200 skv=300 d=64 mask=causal align=br");
  const OutputSet outputs = Reference(*forward);
  EXPECT_EQ(DigestTensor(outputs.tensors[0].const_view()),
            DigestTensor(backward->data().o.const_view()));
  EXPECT_EQ(DigestTensor(outputs.tensors[1].const_view()),
            DigestTensor(backward->data().lse.const_view()));
}

// Each planted fault changes a row that it names, but where the truth itself
// cannot tell: then its answer is the truth, to the bit.
TEST(BackwardFaults, AreOfEveryKindAndShow) {
  const auto trial = Open(kEverything);
  std::vector<std::string> kinds;
  for (const PlantedFault& fault : trial->Faults(5)) {
    bool shows = false;
    for (const int64_t row : fault.rows) {
      RowBits wrong, right;
      fault.row(row, &wrong);
      trial->ReferenceRow(row, &right);
      shows = shows || wrong != right;
    }
    EXPECT_TRUE(shows) << fault.kind << ": " << fault.what;
    kinds.push_back(fault.kind);
  }
  for (const char* kind : {"key", "query", "mask", "channel", "do", "kv_head",
                           "batch", "dlse", "sink"}) {
    EXPECT_NE(std::find(kinds.begin(), kinds.end(), kind), kinds.end()) << kind;
  }
}

TEST(BackwardLaws, HoldForOurKernelsAndHaveAMeaning) {
  const auto trial = Open(kEverything);
  EXPECT_EQ(trial->Laws(), (std::vector<std::string>{"neighbours", "queries",
                                                     "keys", "rows", "heads"}));
  const OutputSet own = Reference(*trial);
  for (const std::string& name : trial->Laws()) {
    bool any_kept = false, any_other = false;
    for (const uint64_t salt : {1u, 4099u, 12345u}) {
      const auto law = trial->MakeLaw(name, salt);
      ASSERT_TRUE(law.ok()) << law.message();
      for (const LawCall& call : law->calls) {
        const OutputSet there = Reference(*call.trial);
        for (size_t t = 0; t < call.kept.size(); ++t) {
          const OutputSpec& spec = trial->outputs()[t];
          for (const LinePair& pair : call.kept[t]) {
            for (int64_t c = 0; c < spec.shape[3]; ++c) {
              ASSERT_EQ(ElementBits(there.tensors[t].const_view(),
                                    LineIndex(spec, pair.here, c)),
                        ElementBits(own.tensors[t].const_view(),
                                    LineIndex(spec, pair.own, c)))
                  << name << " " << spec.name;
            }
            any_kept = true;
          }
          any_other |= DigestTensor(there.tensors[t].const_view()) !=
                       DigestTensor(own.tensors[t].const_view());
        }
      }
    }
    EXPECT_TRUE(any_kept && any_other) << name;
  }
}

TEST(BackwardJudge, PassesOurKernelsOnEveryCaseOfTheFile) {
  const auto file = ReadCaseFile("data/cases/attention_backward.cases", Ops());
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
  EXPECT_GE(judged, 150);
}

TEST(BackwardDomain, MeetsAllItsFeatures) {
  const Domain& domain = *FindDomain("attention_backward").value();
  FeatureSet met;
  for (uint64_t n = 0; n < 3000; ++n) {
    for (const Case& c : DrawCase(domain, {}, 1, n)) {
      met.Add(domain.features_of(c));
    }
  }
  const auto names = domain.features();
  ASSERT_EQ(met.has.size(), names.size());
  for (size_t n = 0; n < names.size(); ++n) EXPECT_TRUE(met.has[n]) << names[n];
}

// A shrunk case is smaller, legal, and of the same op.
TEST(BackwardDomain, ReducesItsOwnKeys) {
  const Domain& domain = *FindDomain("attention_backward").value();
  const Case c = ParseCase(
                     "attention_backward sq=2 skv=2 d=1 lane=bf16 grad=f32 "
                     "do=int:-3,3+zero:0.5 dlse=normal:1")
                     .value();
  std::vector<std::string> lines;
  for (const auto& sequence : domain.reduce({{c}}, 0)) {
    EXPECT_TRUE(ValidateCase(sequence[0]).ok());
    lines.push_back(MinimalLine(sequence[0]));
  }
  for (const char* wanted :
       {"attention_backward sq=2 skv=2 d=1",
        "attention_backward sq=2 skv=2 d=1 lane=bf16 do=int:-3,3+zero:0.5 "
        "dlse=normal:1"}) {
    EXPECT_NE(std::find(lines.begin(), lines.end(), wanted), lines.end())
        << wanted;
  }
}

}  // namespace
}  // namespace lockstep::verify
