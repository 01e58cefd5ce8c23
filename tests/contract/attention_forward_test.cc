// Validate() refuses every problem without a meaning and names the field.
#include "reference/contract/attention_forward.h"

#include <functional>
#include <limits>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/attention_problem.h"

namespace lockstep {
namespace {

using Problem = AttentionForwardProblem;
using Inputs = AttentionForwardInputs;
using Views = AttentionForwardOutputs;

struct Refusal {
  const char* part;  // of the message
  std::function<void(Problem&)> spoil;
};

TEST(ValidateProblem, NamesFieldAndValue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Refusal refusals[] = {
      {"b=0", [](Problem& p) { p.batch = 0; }},
      {"d=0", [](Problem& p) { p.head_dim = 0; }},
      {"dv=-3", [](Problem& p) { p.value_dim = -3; }},
      {"sq=67108865", [](Problem& p) { p.q_len = kMaxLength + 1; }},
      {"skv=0", [](Problem& p) { p.kv_len = 0; }},
      {"hq=3 is not a multiple of hkv=2",
       [](Problem& p) {
         p.q_heads = 3;
         p.kv_heads = 2;
       }},
      {"larger than",
       [](Problem& p) {
         p.batch = p.q_heads = p.kv_heads = kMaxHeads;
         p.q_len = kMaxLength;
       }},
      {"scale=nan", [=](Problem& p) { p.scale = nan; }},
      {"scale=1e+39", [](Problem& p) { p.scale = 1e39; }},
      {"cap=0", [](Problem& p) { p.softcap = 0.0; }},
      {"cap=-30", [](Problem& p) { p.softcap = -30.0; }},
      {"cap=nan", [=](Problem& p) { p.softcap = nan; }},
      {"cap=1e-60", [](Problem& p) { p.softcap = 1e-60; }},
      {"order=amx with lane=f32 p=f32; want lane=bf16 and p=bf16",
       [](Problem& p) { p.order = ProductOrder::kAmx; }},
      {"order=amx with lane=bf16 p=f32",
       [](Problem& p) {
         p.order = ProductOrder::kAmx;
         p.lane = Lane::kBf16;
       }},
      {"order=amx with lane=f32 p=bf16",
       [](Problem& p) {
         p.order = ProductOrder::kAmx;
         p.p_lane = Lane::kBf16;
       }},
      {"split=0 is out of range; want 1..1024 parts of the keys, 1 for none",
       [](Problem& p) { p.split = 0; }},
      {"split=1025", [](Problem& p) { p.split = kMaxSplit + 1; }},
      {"align=", [](Problem& p) { p.align.offset = kMaxOffset + 1; }},
      {"masks: 3 given", [](Problem& p) { p.masks.resize(3); }},
      {"window left=-7",
       [](Problem& p) {
         p.masks[0].kind = MaskExpr::Kind::kWindow;
         p.masks[0].left = -7;
       }},
      {"chunked:0",
       [](Problem& p) { p.masks[0].kind = MaskExpr::Kind::kChunked; }},
      {"prefix has 0",
       [](Problem& p) { p.masks[0].kind = MaskExpr::Kind::kPrefix; }},
      {"sink:-1",
       [](Problem& p) {
         p.masks[0].kind = MaskExpr::Kind::kSink;
         p.masks[0].tokens = -1;
       }},
      {"two or more terms",
       [](Problem& p) { p.masks[0].kind = MaskExpr::Kind::kAnd; }},
      {"deeper than",
       [](Problem& p) {
         for (int level = 0; level < 40; ++level) {
           MaskExpr outer;
           outer.kind = MaskExpr::Kind::kOr;
           outer.children = {p.masks[0], MaskExpr()};
           p.masks[0] = outer;
         }
       }},
  };
  ASSERT_TRUE(Validate(Problem()).ok());
  for (const Refusal& refusal : refusals) {
    Problem problem;
    refusal.spoil(problem);
    const Status status = Validate(problem);
    ASSERT_FALSE(status.ok()) << refusal.part;
    EXPECT_NE(status.message().find(refusal.part), std::string::npos)
        << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
}

struct TensorRefusal {
  const char* part;
  std::function<void(Problem&, Inputs&, Views&)> spoil;
};

TEST(ValidateTensors, NamesTensorAndShape) {
  static const float kSink[1] = {0.0f};
  static const uint8_t kDense[1] = {1};
  const TensorRefusal refusals[] = {
      {"q is missing",
       [](Problem&, Inputs& in, Views&) { in.q.data = nullptr; }},
      {"k has shape", [](Problem&, Inputs& in, Views&) { in.k.shape[2] = 1; }},
      {"v has lane bf16",
       [](Problem&, Inputs& in, Views&) { in.v.lane = Lane::kBf16; }},
      {"q has strides",
       [](Problem&, Inputs& in, Views&) { in.q.strides[2] = -4; }},
      {"o overlaps itself",
       [](Problem&, Inputs&, Views& out) { out.o.strides[2] = 0; }},
      {"lse is missing",
       [](Problem&, Inputs&, Views& out) { out.lse.data = nullptr; }},
      {"valid_kv=99", [](Problem&, Inputs& in, Views&) { in.valid_kv = {99}; }},
      {"valid_q has 2 counts",
       [](Problem&, Inputs& in, Views&) { in.valid_q = {1, 1}; }},
      {"sink logits are missing",
       [](Problem& p, Inputs&, Views&) { p.sink = true; }},
      {"sink logits given without",
       [](Problem&, Inputs& in, Views&) { in.sink = {kSink, {1}, {1}}; }},
      {"q_seg and kv_seg go together",
       [](Problem& p, Inputs&, Views&) { p.segments = true; }},
      {"dense mask has shape",
       [](Problem& p, Inputs& in, Views&) {
         p.masks[0].kind = MaskExpr::Kind::kDense;
         in.dense_masks.push_back({kDense, {1, 1, 1, 1}, {1, 1, 1, 1}});
       }},
      // Five queries in blocks of two, seven keys in blocks of four.
      {",3,2]",
       [](Problem& p, Inputs& in, Views&) {
         p.masks[0].kind = MaskExpr::Kind::kDense;
         p.masks[0].block_q = 2;
         p.masks[0].block_k = 4;
         in.dense_masks.push_back({kDense, {1, 1, 2, 3}, {0, 0, 0, 0}});
       }},
      {"block size 0 is out of range",
       [](Problem& p, Inputs& in, Views&) {
         p.masks[0].kind = MaskExpr::Kind::kDense;
         p.masks[0].block_k = 0;
         in.dense_masks.push_back({kDense, {1, 1, 5, 7}, {0, 0, 0, 0}});
       }},
      {"dense mask 0 is not among",
       [](Problem& p, Inputs&, Views&) {
         p.masks[0].kind = MaskExpr::Kind::kDense;
       }},
  };
  std::mt19937 rng(1);
  test::Instance instance;
  instance.problem.q_len = 5;
  instance.problem.kv_len = 7;
  instance.problem.head_dim = 3;
  instance.Fill(rng);
  for (const TensorRefusal& refusal : refusals) {
    test::Outputs outputs(instance.problem);
    Problem problem = instance.problem;
    Inputs in = instance.Inputs();
    Views out = outputs.View();
    ASSERT_TRUE(Validate(problem, in, out).ok());
    refusal.spoil(problem, in, out);
    const Status status = Validate(problem, in, out);
    ASSERT_FALSE(status.ok()) << refusal.part;
    EXPECT_NE(status.message().find(refusal.part), std::string::npos)
        << status.message();
  }
}

TEST(ValidateTensors, AcceptsBroadcastInputsAndTransposedOutputs) {
  std::mt19937 rng(1);
  test::Instance instance;
  instance.problem.q_len = instance.problem.kv_len = 5;
  instance.problem.head_dim = instance.problem.value_dim = 3;
  instance.Fill(rng);
  test::Outputs outputs(instance.problem);
  Inputs in = instance.Inputs();
  in.k.strides[2] = 0;
  Views out = outputs.View();
  out.o.strides = {15, 15, 1, 5};
  EXPECT_TRUE(Validate(instance.problem, in, out).ok());
}

}  // namespace
}  // namespace lockstep
