// attention_backward before the judge: the keys it has, the tensors it shows,
// the rows of its truth, its laws, its domain.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/verify/attention_backward_trial.h"
#include "tests/verify/judge_claims.h"
#include "tests/verify/law_lines.h"
#include "tests/verify/trials.h"
#include "verify/base/digest.h"
#include "verify/domain/domain.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

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

OutputSet Emulated(const AttentionBackwardTrial& trial, GradFault fault) {
  auto outputs = trial.Allocate(0);
  EXPECT_TRUE(outputs.ok());
  // What a fault does not write is the same every time.
  for (const LaneTensor& tensor : outputs->tensors) Poison(tensor);
  GradEmulator(FindGradVariant("grad-exact").value(), fault)
      .Run(trial.data().problem, trial.data().inputs,
           trial.Gradients(outputs.value()));
  return std::move(outputs.value());
}

using Kernel = std::function<OutputSet(const AttentionBackwardTrial&)>;

// Whether some line that a law keeps differs, of a kernel with a fault.
bool Breaks(const Trial& own, const std::string& name, const Kernel& kernel) {
  const OutputSet here =
      kernel(dynamic_cast<const AttentionBackwardTrial&>(own));
  for (uint64_t salt = 0; salt < 26; ++salt) {
    const auto law = own.laws().MakeLaw(name, salt * 4099);
    EXPECT_TRUE(law.ok()) << law.message();
    for (const LawCall& call : law->calls) {
      const OutputSet there =
          kernel(dynamic_cast<const AttentionBackwardTrial&>(*call.trial));
      if (!Agree(own, here, law.value(), call, there)) return true;
    }
  }
  return false;
}

Kernel With(GradFault fault) {
  return [fault](const AttentionBackwardTrial& trial) {
    return Emulated(trial, fault);
  };
}

OutputSet Normalised(const AttentionBackwardTrial& trial) {
  OutputSet outputs = Emulated(trial, GradFault::kNone);
  Normalise(outputs);
  return outputs;
}

// Every law is broken by a kernel that it is there for, and by no right one.
TEST(BackwardLaws, AreBrokenByKernelsThatTheyAreFor) {
  const auto trial = Open(kEverything);
  const struct {
    const char* law;
    GradFault fault;
  } pairs[] = {{"neighbours", GradFault::kLseOfBatch0},
               {"neighbours", GradFault::kDoOfHead0},
               {"queries", GradFault::kDkvIgnoresSegments},
               {"queries", GradFault::kDeltaOfPreviousRow},
               {"keys", GradFault::kDqIgnoresSegments},
               {"rows", GradFault::kLseOfBatch0},
               {"heads", GradFault::kLseOfHead0},
               {"heads", GradFault::kSinkOfHead0}};
  for (const auto& [law, fault] : pairs) {
    EXPECT_TRUE(Breaks(*trial, law, With(fault))) << law;
    EXPECT_FALSE(Breaks(*trial, law, With(GradFault::kNone))) << law;
  }
  EXPECT_TRUE(Breaks(*trial, "scale", Normalised));
  EXPECT_FALSE(Breaks(*trial, "scale", With(GradFault::kNone)));
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

// N18: gradients of scores that would be subnormal are +0, which is further
// from the truth than any rounding.
TEST(BackwardTrial, TheContractsZerosLieInItsOwnEnvelope) {
  for (const char* line :
       {"attention_backward b=2 sq=65 skv=3 d=32 dv=2 p=bf16 cap=100 "
        "mask=window:5,3|(causal|window:3,inf)&(sink:1|chunked:2)|sink:1&window"
        ":2,4 align=-65 seed=259067 sinklogit=normal:1",
        "attention_backward hq=2 hkv=1 sq=7 skv=12 d=8 p=bf16 cap=50 "
        "mask=causal q_seg=runs:5,2 kv_seg=runs:5,7 fill=normal:1+k.ramp:8 "
        "seed=396374 do=normal:0.01 dlse=const:0",
        "attention_backward hq=2 sq=16 skv=33 d=17 dv=1 cap=50 mask=causal "
        "fill=spread:30 seed=755047 sinklogit=const:-2 do=onehot "
        "dlse=const:0"}) {
    const auto trial = Open(line);
    const OutputSet outputs = Reference(*trial);
    const auto allowed =
        trial->envelopes().Envelope(Profile("exact-f32"), AllRows(*trial), 1);
    for (const EnvelopeResult& result : allowed->Judge(outputs)) {
      EXPECT_TRUE(result.Passed()) << line << " " << result.tensor;
    }
  }
}

}  // namespace
}  // namespace lockstep::verify
