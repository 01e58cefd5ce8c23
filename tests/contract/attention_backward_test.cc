// Validate() refuses every backward problem without a meaning and names the
// field.
#include "reference/contract/attention_backward.h"

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/attention_backward.h"
#include "reference/attention_backward.h"
#include "tests/support/attention_backward_problem.h"

namespace lockstep {
namespace {

using Inputs = AttentionBackwardInputs;
using Views = AttentionBackwardOutputs;

test::BackwardInstance Good() {
  test::BackwardInstance t;
  AttentionForwardProblem& p = t.forward.problem;
  p.q_heads = 2;
  p.q_len = 3;
  p.kv_len = 5;
  p.head_dim = 4;
  p.value_dim = 6;
  p.sink = true;
  t.has_dlse = true;
  std::mt19937 rng(1);
  t.forward.Fill(rng);
  t.Fill(rng);
  return t;
}

TEST(ValidateBackwardProblem, NamesFieldAndValue) {
  AttentionBackwardProblem p = Good().Problem();
  EXPECT_TRUE(Validate(p).ok());
  p.grad_lane = Lane::kBf16;
  EXPECT_EQ(Validate(p).message(),
            "grad=bf16 with lane=f32; want grad=f32, or the lane");
  p.forward.lane = p.forward.p_lane = Lane::kBf16;
  EXPECT_TRUE(Validate(p).ok());
  p.forward.order = ProductOrder::kAmx;
  EXPECT_EQ(Validate(p).message(),
            "order=amx has no backward pass; want order=chain");
  p.forward.split = 2;
  EXPECT_EQ(Validate(p).message(),
            "split=2 has no backward pass; want split=1");
  p.forward.head_dim = 0;
  EXPECT_NE(Validate(p).message().find("d=0"), std::string::npos);
}

TEST(ValidateBackwardTensors, NamesTheTensorAndWritesNothing) {
  const struct {
    const char* part;  // of the message
    std::function<void(Inputs&, Views&)> spoil;
  } refusals[] = {
      {"q is missing", [](Inputs& in, Views&) { in.forward.q.data = nullptr; }},
      {"sink logits are missing",
       [](Inputs& in, Views&) { in.forward.sink.data = nullptr; }},
      {"o is missing", [](Inputs& in, Views&) { in.o.data = nullptr; }},
      {"o has lane bf16", [](Inputs& in, Views&) { in.o.lane = Lane::kBf16; }},
      {"do has shape [1,2,3,4]; want [1,2,3,6]",
       [](Inputs& in, Views&) { in.d_o.shape[3] = 4; }},
      {"do has strides", [](Inputs& in, Views&) { in.d_o.strides[2] = -6; }},
      {"lse is missing", [](Inputs& in, Views&) { in.lse.data = nullptr; }},
      {"lse has shape", [](Inputs& in, Views&) { in.lse.shape[2] = 9; }},
      {"dlse is missing", [](Inputs& in, Views&) { in.dlse.data = nullptr; }},
      {"dq is missing", [](Inputs&, Views& out) { out.dq.data = nullptr; }},
      {"dk has shape [1,1,5,6]",
       [](Inputs&, Views& out) { out.dk.shape[3] = 6; }},
      {"dv has lane bf16",
       [](Inputs&, Views& out) { out.dv.lane = Lane::kBf16; }},
      {"dv overlaps itself",
       [](Inputs&, Views& out) { out.dv.strides[2] = 1; }},
      {"dsink is missing",
       [](Inputs&, Views& out) { out.dsink.data = nullptr; }},
  };
  for (const auto& one : refusals) {
    test::BackwardInstance t = Good();
    const AttentionBackwardProblem p = t.Problem();
    test::Gradients g(p);
    const std::vector<uint32_t> before = g.Bits();
    Inputs in = t.Inputs();
    Views out = g.View();
    one.spoil(in, out);
    const Result<optimized::Plan> plan = optimized::MakePlan(p, {});
    ASSERT_TRUE(plan.ok()) << plan.message();
    const Status statuses[] = {
        reference::AttentionBackward(p, in, out),
        optimized::AttentionBackward(p, in, plan.value(), out, nullptr)};
    for (const Status& status : statuses) {
      ASSERT_FALSE(status.ok()) << one.part;
      EXPECT_NE(status.message().find(one.part), std::string::npos)
          << status.message();
      EXPECT_EQ(g.Bits(), before);
    }
  }
}

TEST(ValidateBackwardTensors, NothingIsGivenThatTheProblemLacks) {
  test::BackwardInstance t = Good();
  AttentionBackwardProblem p = t.Problem();
  test::Gradients g(p);
  const Inputs in = t.Inputs();
  p.dlse = false;
  EXPECT_EQ(Validate(p, in, g.View()).message(),
            "dlse is given, but the problem has none");
  p.dlse = true;
  p.forward.sink = false;
  Inputs none = in;
  none.forward.sink = {};
  EXPECT_EQ(Validate(p, none, g.View()).message(),
            "dsink is given, but the problem has no sink");
}

}  // namespace
}  // namespace lockstep
