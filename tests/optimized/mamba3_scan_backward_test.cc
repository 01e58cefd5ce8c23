// The promise: the same bits as the reference for every target, thread count
// and choice of checkpoints.
#include "optimized/mamba3_scan_backward.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/plan.h"
#include "tests/support/mamba3_backward_problem.h"
#include "tests/support/runnable_targets.h"

namespace lockstep::optimized {
namespace {

using test::kRegimes;
using test::Mamba3BackwardInstance;
using test::Mamba3Gradients;

LOCKSTEP_NAME_TARGETS_NOT_RUN();

Mamba3Gradients RunOptimized(Mamba3BackwardInstance& t,
                             const Mamba3ScanBackwardCaps& caps) {
  Mamba3Gradients gradients(t.Problem(), t.forward.CountRuns());
  Mamba3ScanBackwardExecution execution;
  const Status status = Mamba3ScanBackward(t.Problem(), t.Inputs(), caps,
                                           gradients.View(), &execution);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(execution.target, caps.target);
  EXPECT_GE(execution.threads, 1);
  return gradients;
}

Mamba3ScanBackwardCaps RandomCaps(std::mt19937& rng) {
  const std::vector<std::string> usable = test::RunnableTargets();
  Mamba3ScanBackwardCaps caps;
  caps.target = usable[rng() % usable.size()];
  caps.threads = 1 + static_cast<int>(rng() % 3);
  if (rng() % 2 == 0) caps.checkpoint = 1 + static_cast<int64_t>(rng() % 20);
  return caps;
}

// Problems to try; LOCKSTEP_BACKWARD_PROBLEMS asks for more.
uint32_t Problems() {
  const char* asked = std::getenv("LOCKSTEP_BACKWARD_PROBLEMS");
  return asked ? static_cast<uint32_t>(std::strtoul(asked, nullptr, 10)) : 2000;
}

TEST(Mamba3Backward, BitsEqualTheReferenceOnRandomProblems) {
  for (uint32_t seed = 0; seed < Problems(); ++seed) {
    std::mt19937 rng(seed);
    Mamba3BackwardInstance t =
        test::RandomMamba3Backward(rng, kRegimes[seed % 4], seed % 2 == 0);
    if (seed % 5 == 4) test::MakeF16(t);
    const Mamba3Gradients expected = t.RunReference();
    const Mamba3ScanBackwardCaps caps = RandomCaps(rng);
    const Mamba3Gradients got = RunOptimized(t, caps);
    ASSERT_EQ(expected.Bits(), got.Bits())
        << "seed " << seed << " " << caps.target << " on " << caps.threads
        << " every " << caps.checkpoint << ": "
        << expected.FirstDifference(got);
  }
}

void ExpectReferenceBits(Mamba3BackwardInstance& t) {
  const Mamba3Gradients expected = t.RunReference();
  for (const std::string& target : test::RunnableTargets()) {
    for (const int64_t checkpoint : {0, 9}) {
      const Mamba3Gradients got = RunOptimized(t, {target, 2, checkpoint});
      const Mamba3ScanProblem& p = t.forward.problem;
      ASSERT_EQ(expected.Bits(), got.Bits())
          << target << " n " << p.state_dim << " p " << p.head_dim << " s "
          << p.angles << " r " << p.ranks << " every " << checkpoint << ": "
          << expected.FirstDifference(got);
    }
  }
}

// Around whole vectors and pairs of them on every target; n that is odd.
TEST(Mamba3Backward, BitsOfEveryTail) {
  std::mt19937 rng(9);
  for (const int64_t head_dim : {1, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 70}) {
    for (const int64_t state_dim : {2, 9, 17, 34, 64}) {
      const test::Regime regime = kRegimes[head_dim % 4];
      Mamba3BackwardInstance t = test::RandomMamba3Backward(rng, regime);
      Mamba3ScanProblem& p = t.forward.problem;
      p.head_dim = head_dim;
      p.state_dim = state_dim;
      p.angles = static_cast<int64_t>(rng() %
                                      static_cast<uint64_t>(state_dim / 2 + 1));
      if (p.mimo() && state_dim % 2 != 0) p.angles = 0;
      t.forward.Fill(rng, regime);
      t.Fill(rng);
      ExpectReferenceBits(t);
      if (HasFatalFailure()) return;
    }
  }
}

// Three heads a group, three runs, longer than blocks of weights and of tokens.
Mamba3BackwardInstance SomeProblem() {
  Mamba3BackwardInstance t;
  Mamba3ScanProblem& p = t.forward.problem;
  p.variant = Mamba3ScanProblem::Variant::kMimo;
  p.length = 230;
  p.heads = 6;
  p.groups = 2;
  p.ranks = 2;
  p.state_dim = 20;
  p.head_dim = 12;
  p.angles = 10;
  p.bias = p.skip = p.gate = p.reduce = p.carry_in = true;
  p.norm_epsilon = 1e-5;
  p.runs = Mamba3ScanProblem::Runs::kCuSeqlens;
  t.forward.cu_seqlens = {0, 70, 70, 229, 230};
  t.carry_grad = true;
  std::mt19937 rng(7);
  t.forward.Fill(rng, test::Regime::kLongMemory);
  t.Fill(rng);
  return t;
}

// The chains over the heads of a group and over the runs pass from thread to
// thread: any order of their taking gives the same bits.
TEST(Mamba3Backward, BitsDoNotDependOnThreadsOrCheckpoints) {
  Mamba3BackwardInstance t = SomeProblem();
  const std::vector<uint32_t> expected = t.RunReference().Bits();
  const std::string target = test::RunnableTargets().front();
  for (int threads = 1; threads <= 8; ++threads) {
    for (const int64_t checkpoint : {0, 1, 7, 8, 63, 65, 130, 1000}) {
      const Mamba3Gradients got =
          RunOptimized(t, {target, threads, checkpoint});
      ASSERT_EQ(expected, got.Bits()) << threads << " every " << checkpoint;
    }
  }
}

// Outputs of any layout without overlap, inputs that broadcast.
TEST(Mamba3Backward, StridesAreTheCallersOwn) {
  Mamba3BackwardInstance t = SomeProblem();
  std::fill(t.dy.begin(), t.dy.end(), 0.5f);
  const Mamba3Gradients expected = t.RunReference();
  Mamba3Gradients got(t.Problem(), t.forward.CountRuns());
  Mamba3ScanBackwardInputs in = t.Inputs();
  const float half = 0.5f;
  in.dy.data = &half;
  in.dy.strides = {};
  Mamba3ScanBackwardOutputs out = got.View();
  std::vector<float> dq(expected.Values("dq").size() * 2);
  std::vector<float> da(expected.Values("da").size() * 3);
  out.dq.data = dq.data();
  for (int64_t& stride : out.dq.strides) stride *= 2;
  out.da.data = da.data();
  for (int64_t& stride : out.da.strides) stride *= 3;
  const Status status = Mamba3ScanBackward(t.Problem(), in, {}, out, nullptr);
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; 2 * i < dq.size(); ++i) {
    ASSERT_EQ(dq[2 * i], expected.Values("dq")[i]) << i;
  }
  for (size_t i = 0; 3 * i < da.size(); ++i) {
    ASSERT_EQ(da[3 * i], expected.Values("da")[i]) << i;
  }
  EXPECT_EQ(got.Values("dcarry_h"), expected.Values("dcarry_h"));
}

TEST(Mamba3Backward, RefusesWhatItCannotDo) {
  Mamba3BackwardInstance t = SomeProblem();
  Mamba3Gradients got(t.Problem(), t.forward.CountRuns());
  const std::vector<uint32_t> before = got.Bits();
  const auto message = [&](const Mamba3ScanBackwardCaps& caps) {
    return Mamba3ScanBackward(t.Problem(), t.Inputs(), caps, got.View(),
                              nullptr)
        .message();
  };
  EXPECT_EQ(message({"AVX9", 0, 0}), UnknownTarget("AVX9"));
  EXPECT_EQ(message({"", 0, -1}),
            "checkpoint -1; want 1 or more tokens, or 0 for the best");
  t.grad_lane = Lane::kBf16;
  EXPECT_EQ(message({}), "grad=bf16 with lane=f32; want grad=f32, or the lane");
  EXPECT_EQ(got.Bits(), before);
}

}  // namespace
}  // namespace lockstep::optimized
