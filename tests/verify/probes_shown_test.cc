// What exact probes show at the lengths people run: a maximum that starts too
// high, every head's sink, rows of K and V read from elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "tests/verify/envelope_problem.h"
#include "tests/verify/probe_problem.h"
#include "verify/allowed/attention_forward/probes.h"
#include "verify/case/attention_forward/probe.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/zoo.h"

namespace lockstep::verify {
namespace {

// A maximum that starts at 0, or at any number above the scores, leaves every
// weight 0.
TEST(Probes, SeeAMaximumThatStartsTooHigh) {
  for (const bool sink : {false, true}) {
    TestProblem t;
    t.problem.kv_len = 1024;
    t.problem.head_dim = t.problem.value_dim = 8;
    t.problem.sink = sink;
    t.Allocate();
    FillWithProbe(ProbeKind::kDeep, 1, &t, false);
    const double score = ProbeRowScore(ProbeKind::kDeep, t.problem, 1, 0, 0);
    EXPECT_LT(score, -1e6);
    EXPECT_GE(score, -0x1p21);
    const AttentionVariant cpu = FindVariant("cpu").value();
    const ProbeAnswers expected = ExpectProbe(
        {ProbeKind::kDeep, t.problem, t.inputs, cpu.numeric, 1}, nullptr);
    AttentionEmulator(cpu, {Fault::kMaxInitZero})
        .Run(t.problem, t.inputs, t.outputs);
    EXPECT_FALSE(JudgeProbe(expected.o, nullptr, t.ProducedO()).Passed());
    EXPECT_FALSE(
        JudgeProbeLse(expected.lse, nullptr, t.ProducedLse()).Passed());
  }
}

// Each head's sink shows: none, another head's, twice, with the scale, capped.
TEST(Probes, SeeEverySinkAtLength) {
  for (const int64_t keys : {1024, 4096, 16384}) {
    TestProblem t;
    t.problem.q_heads = 14;
    t.problem.kv_len = keys;
    t.problem.head_dim = 4;
    t.problem.value_dim = 4;
    t.problem.scale = 0.5;
    t.problem.sink = true;
    t.problem.lane = Lane::kBf16;
    t.Allocate();
    FillWithProbe(ProbeKind::kSink, 1, &t, false);
    const NumericProfile mma = FindVariant("mma").value().numeric;
    const ProbeAnswers expected =
        ExpectProbe({ProbeKind::kSink, t.problem, t.inputs, mma, 1}, nullptr);
    const auto allows = [&](int64_t head, double logit) {
      for (int64_t c = 0; c < 4; ++c) {
        const double v = static_cast<double>(
            ProbeElement(ProbeKind::kSink, t.problem, 1, 2, {0, 0, 0, c}));
        const auto n = static_cast<double>(keys);
        t.SetOutput(static_cast<size_t>(head * 4 + c),
                    v * n / (n + std::exp(logit)));
        if (!expected.o[static_cast<size_t>(head * 4 + c)].Contains(
                t.GetOutput(static_cast<size_t>(head * 4 + c)))) {
          return false;
        }
      }
      return true;
    };
    for (int64_t h = 0; h < 14; ++h) {
      const auto own = static_cast<double>(t.sink[static_cast<size_t>(h)]);
      EXPECT_TRUE(allows(h, own)) << keys << " head " << h;
      EXPECT_FALSE(allows(h, own + std::log(2.0))) << keys << " head " << h;
      EXPECT_FALSE(allows(h, own / 2)) << keys << " head " << h;
      // A cap bends what is not small beside it.
      if (h % 12 < 6) {
        EXPECT_FALSE(allows(h, 30 * std::tanh(own / 30))) << keys << " " << h;
      }
      EXPECT_FALSE(allows(h, -1e9)) << keys << " head " << h;
      EXPECT_FALSE(allows(h, 0)) << keys << " head " << h;
      for (const int64_t other : {(h + 1) % 14, (h + 5) % 14}) {
        const auto logit =
            static_cast<double>(t.sink[static_cast<size_t>(other)]);
        EXPECT_EQ(allows(h, logit), h % 12 == other % 12)
            << keys << " heads " << h << " " << other;
      }
    }
  }
}

// Rows of V, or one of K, that a kernel reads from another place.
struct Misread {
  const char* name;
  size_t tensor;
  int64_t (*source)(int64_t row);
};
constexpr Misread kMisreads[] = {
    {"rows 8-15 and 16-23 exchanged", 2,
     [](int64_t j) { return 8 <= j && j < 24 ? 31 - (j ^ 7) : j; }},
    {"tiles of 64 exchanged", 2, [](int64_t j) { return j ^ 64; }},
    {"pages of 128 exchanged", 2, [](int64_t j) { return j ^ 128; }},
    {"pages of 256 exchanged", 2, [](int64_t j) { return j ^ 256; }},
    {"a tile transposed as 8x8", 2,
     [](int64_t j) { return j / 64 == 1 ? 64 + j % 8 * 8 + j / 8 % 8 : j; }},
    {"K at the edge of one tile of 128 from its neighbour", 1,
     [](int64_t j) { return j == 256 ? j - 1 : j; }},
};

// Whether a probe tells a kernel that misreads from a right one.
bool Shows(ProbeKind kind, const Misread& misread, const TestProblem& shape) {
  TestProblem t;
  t.problem = shape.problem;
  t.Allocate();
  FillWithProbe(kind, 5, &t, false);
  const AttentionVariant flash = FindVariant("flash").value();
  const ProbeAnswers expected =
      ExpectProbe({kind, t.problem, t.inputs, flash.numeric, 5}, nullptr);
  auto& rows = t.bf16[misread.tensor];
  const std::vector<Bf16> right = rows;
  const int64_t width =
      misread.tensor == 2 ? t.problem.value_dim : t.problem.head_dim;
  for (size_t at = 0; at < rows.size(); ++at) {
    const int64_t j = static_cast<int64_t>(at) / width;
    const int64_t from = misread.source(j) - j;
    rows[at] = right[at + static_cast<size_t>(from * width)];
  }
  AttentionEmulator(flash).Run(t.problem, t.inputs, t.outputs);
  return !JudgeProbe(expected.o, nullptr, t.ProducedO()).Passed();
}

// By one row of one head, and by as many rows as a tile has.
TEST(Probes, SeeRowsOfKAndVReadFromElsewhere) {
  const NumericProfile flash = FindVariant("flash").value().numeric;
  for (const int64_t rows : {1, 16}) {
    for (const bool sink : {false, true}) {
      TestProblem shape;
      shape.problem.q_len = rows;
      shape.problem.kv_len = 2048;
      shape.problem.head_dim = 32;
      shape.problem.value_dim = 8;
      shape.problem.scale = 0.25;
      shape.problem.sink = sink;
      shape.problem.lane = Lane::kBf16;
      for (const Misread& misread : kMisreads) {
        bool shown = false;
        for (const ProbeKind kind :
             {ProbeKind::kThirds, ProbeKind::kThirdsNext, ProbeKind::kComb}) {
          if (!WhyNotProbe(kind, shape.problem, flash).empty()) continue;
          shown = shown || Shows(kind, misread, shape);
        }
        EXPECT_TRUE(shown) << misread.name << ", " << rows << " rows";
      }
    }
  }
}

// Each channel of q, lost; and two of them exchanged that weigh differently.
TEST(Probes, SeeEveryChannel) {
  for (const double cap : {0.0, 50.0}) {
    TestProblem t;
    AttentionForwardProblem& p = t.problem;
    p.kv_len = 1024;
    p.head_dim = 24;
    p.value_dim = 8;
    p.scale = 0.2;
    if (cap > 0) p.softcap = cap;
    t.Allocate();
    FillWithProbe(ProbeKind::kHoles, 5, &t, false);
    const AttentionVariant cpu = FindVariant("cpu").value();
    const ProbeAnswers expected =
        ExpectProbe({ProbeKind::kHoles, p, t.inputs, cpu.numeric, 5}, nullptr);
    const std::vector<float> right = t.f32[0];
    const auto passes = [&] {
      AttentionEmulator(cpu).Run(p, t.inputs, t.outputs);
      t.f32[0] = right;
      return JudgeProbe(expected.o, nullptr, t.ProducedO()).Passed();
    };
    EXPECT_TRUE(passes());
    for (size_t c = 0; c < 24; ++c) {
      t.f32[0][c] = 0;
      EXPECT_FALSE(passes()) << "channel " << c << " cap " << cap;
      const size_t other = (c + 8) % 24;
      if (std::fabs(right[c]) == std::fabs(right[other])) continue;
      std::swap(t.f32[0][c], t.f32[0][other]);
      EXPECT_FALSE(passes()) << "channels " << c << " and " << other;
    }
  }
}

}  // namespace
}  // namespace lockstep::verify
