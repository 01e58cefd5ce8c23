// Validate() refuses every backward scan without a meaning and names the field.
#include "reference/contract/mamba3_scan_backward.h"

#include <functional>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "reference/mamba3_scan_backward.h"
#include "tests/support/mamba3_backward_problem.h"

namespace lockstep {
namespace {

using Inputs = Mamba3ScanBackwardInputs;
using Views = Mamba3ScanBackwardOutputs;

test::Mamba3BackwardInstance Good() {
  test::Mamba3BackwardInstance t;
  Mamba3ScanProblem& p = t.forward.problem;
  p.variant = Mamba3ScanProblem::Variant::kMimo;
  p.length = 3;
  p.heads = 2;
  p.ranks = 2;
  p.state_dim = 4;
  p.head_dim = 5;
  p.angles = 2;
  p.bias = p.skip = p.gate = p.reduce = p.carry_in = true;
  p.norm_epsilon = 1e-5;
  t.carry_grad = true;
  std::mt19937 rng(1);
  t.forward.Fill(rng, test::Regime::kTypical);
  t.Fill(rng);
  return t;
}

TEST(ValidateScanBackwardProblem, NamesFieldAndValue) {
  Mamba3ScanBackwardProblem p = Good().Problem();
  EXPECT_TRUE(Validate(p).ok());
  p.grad_lane = Lane::kBf16;
  EXPECT_EQ(Validate(p).message(),
            "grad=bf16 with lane=f32; want grad=f32, or the lane");
  p.forward.lane = Lane::kBf16;
  EXPECT_TRUE(Validate(p).ok());
  p.forward.angles = 3;
  EXPECT_NE(Validate(p).message().find("s=3"), std::string::npos);
}

TEST(ValidateScanBackwardTensors, NamesTheTensorAndWritesNothing) {
  const struct {
    const char* message;
    std::function<void(Inputs&, Views&)> spoil;
  } refusals[] = {
      {"q is missing", [](Inputs& in, Views&) { in.forward.q.data = nullptr; }},
      {"carry is missing", [](Inputs& in, Views&) { in.forward.carry = {}; }},
      {"dy is missing", [](Inputs& in, Views&) { in.dy.data = nullptr; }},
      {"dy has shape [1,3,2,2,5]; want [1,3,1,2,5]",
       [](Inputs& in, Views&) { in.dy.shape[2] = 2; }},
      {"dy has lane bf16; want f32",
       [](Inputs& in, Views&) { in.dy.lane = Lane::kBf16; }},
      {"cotangent of the carry is missing",
       [](Inputs& in, Views&) { in.dcarry = {}; }},
      {"cotangent of the carry is partial: theta given, h given, k missing, v "
       "given",
       [](Inputs& in, Views&) { in.dcarry.k.data = nullptr; }},
      {"gradient of the carry is missing",
       [](Inputs&, Views& out) { out.dcarry = {}; }},
      {"gradient of the carry h overlaps itself: shape [1,2,5,4], strides "
       "[40,20,4,0]",
       [](Inputs&, Views& out) { out.dcarry.h.strides[3] = 0; }},
      {"dq is missing", [](Inputs&, Views& out) { out.dq.data = nullptr; }},
      {"dk has lane bf16; want f32",
       [](Inputs&, Views& out) { out.dk.lane = Lane::kBf16; }},
      {"dv overlaps itself: shape [1,3,2,5], strides [30,10,0,1]",
       [](Inputs&, Views& out) { out.dv.strides[2] = 0; }},
      {"da is missing", [](Inputs&, Views& out) { out.da.data = nullptr; }},
      {"ddt has shape [1,2,4]; want [1,2,3]",
       [](Inputs&, Views& out) { out.ddt.shape[2] = 4; }},
      {"dtau is missing", [](Inputs&, Views& out) { out.dtau.data = nullptr; }},
      {"dvartheta is missing",
       [](Inputs&, Views& out) { out.dvartheta.data = nullptr; }},
      {"dvartheta has lane bf16; want f32",
       [](Inputs&, Views& out) { out.dvartheta.lane = Lane::kBf16; }},
      {"dbq is missing", [](Inputs&, Views& out) { out.dbq.data = nullptr; }},
      {"dbk is missing", [](Inputs&, Views& out) { out.dbk.data = nullptr; }},
      {"dd is missing", [](Inputs&, Views& out) { out.dd.data = nullptr; }},
      {"dz is missing", [](Inputs&, Views& out) { out.dz.data = nullptr; }},
      {"dz has lane bf16; want f32",
       [](Inputs&, Views& out) { out.dz.lane = Lane::kBf16; }},
      {"dpsi is missing", [](Inputs&, Views& out) { out.dpsi.data = nullptr; }},
      {"dzeta is missing",
       [](Inputs&, Views& out) { out.dzeta.data = nullptr; }},
      {"dphi overlaps itself: shape [2,2,5], strides [10,5,0]",
       [](Inputs&, Views& out) { out.dphi.strides[2] = 0; }},
      {"dnorm_weight is missing",
       [](Inputs&, Views& out) { out.dnorm_weight.data = nullptr; }},
  };
  for (const auto& refusal : refusals) {
    test::Mamba3BackwardInstance t = Good();
    test::Mamba3Gradients gradients(t.Problem(), 1);
    const auto before = gradients.Bits();
    Inputs in = t.Inputs();
    Views out = gradients.View();
    refusal.spoil(in, out);
    EXPECT_EQ(Validate(t.Problem(), in, out).message(), refusal.message);
    EXPECT_FALSE(reference::Mamba3ScanBackward(t.Problem(), in, out).ok());
    EXPECT_EQ(gradients.Bits(), before) << refusal.message;
  }
}

// What the problem does not have may not be given.
TEST(ValidateScanBackwardTensors, RefusesGradientsOfNothing) {
  test::Mamba3BackwardInstance full = Good();
  test::Mamba3Gradients gradients(full.Problem(), 1);
  test::Mamba3BackwardInstance t = full;
  t.forward.problem.bias = t.forward.problem.skip = false;
  Views out = gradients.View();
  const auto message = [&] {
    return Validate(t.Problem(), t.Inputs(), out).message();
  };
  EXPECT_EQ(message(), "dbq given without bias");
  out.dbq = out.dbk = {};
  EXPECT_EQ(message(), "dd given without skip");
  out.dd = {};
  EXPECT_EQ(message(), "");
  t.forward.problem.carry_in = false;
  EXPECT_EQ(message(), "gradient of the carry given without carry_in");
  out.dcarry = {};
  EXPECT_EQ(message(), "");
  Inputs in = t.Inputs();
  t.carry_grad = false;
  EXPECT_EQ(Validate(t.Problem(), in, out).message(),
            "cotangent of the carry given without carry_grad");
}

}  // namespace
}  // namespace lockstep
