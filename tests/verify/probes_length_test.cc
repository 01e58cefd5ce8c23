// Exact probes at the lengths people run: correct kernels of the zoo pass.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/verify/envelope_problem.h"
#include "tests/verify/probe_problem.h"
#include "verify/allowed/attention_forward/probes.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/zoo.h"

namespace lockstep::verify {
namespace {

// Grouped heads, runs of documents, windows, sinks, counts: few rows, many
// keys.
void LongProblem(uint64_t seed, int64_t keys, TestProblem* t) {
  TestRandom random(seed);
  AttentionForwardProblem& p = t->problem;
  p.batch = 1 + random.Below(2);
  p.kv_heads = 1 + random.Below(2);
  p.q_heads = p.kv_heads * (1 + random.Below(2));
  p.q_len = 1 + random.Below(3);
  p.kv_len = keys + random.Below(3) - 1;
  p.head_dim = std::array<int64_t, 4>{8, 16, 31,
                                      64}[static_cast<size_t>(random.Below(4))];
  p.value_dim = 4;
  p.lane = random.Below(2) != 0 ? Lane::kF32 : Lane::kBf16;
  p.p_lane = random.Below(2) != 0 ? Lane::kF32 : Lane::kBf16;
  p.scale = 1 / std::sqrt(static_cast<double>(p.head_dim));
  if (random.Below(3) == 0) p.softcap = 50;
  p.sink = random.Below(2) != 0;
  p.segments = random.Below(3) == 0;
  p.align.kind = Alignment::Kind::kBottomRight;
  MaskExpr& mask = p.masks[0];
  switch (random.Below(4)) {
    case 0:
      mask.kind = MaskExpr::Kind::kCausal;
      break;
    case 1:
      mask.kind = MaskExpr::Kind::kWindow;
      mask.left = 200 + random.Below(keys);
      mask.right = 0;
      break;
    case 2:
      mask.kind = MaskExpr::Kind::kChunked;
      mask.chunk = keys / 2 + random.Below(9);
      break;
    default:
      break;
  }
  t->Allocate();
  for (size_t j = 0; j < t->kv_seg.size(); ++j) {
    t->kv_seg[j] = j * 3 / t->kv_seg.size() == 1 ? 1 : 2;
  }
  for (size_t i = 0; i < t->q_seg.size(); ++i) {
    t->q_seg[i] = 1 + static_cast<int32_t>(i % 2);
  }
  if (random.Below(3) != 0) return;
  for (int64_t b = 0; b < p.batch; ++b) {
    t->inputs.valid_q.push_back(p.q_len);
    t->inputs.valid_kv.push_back(p.kv_len - random.Below(100));
  }
}

class ProbesAt : public ::testing::TestWithParam<int> {};

TEST_P(ProbesAt, NeverAccuseTheZoo) {
  const auto zoo = AttentionZoo();
  ProbeTally tally;
  const uint64_t problems = GetParam() > 2000 ? 3 : 10;
  for (uint64_t seed = 1; seed <= problems; ++seed) {
    TestRandom random(seed + 100);
    for (const ProbeInfo& probe : Probes()) {
      TestProblem t;
      LongProblem(seed, GetParam(), &t);
      FillWithProbe(probe.kind, seed, &t, false);
      for (int n = 0; n < 6; ++n) {
        const auto at = random.Below(static_cast<int64_t>(zoo.size()));
        TryVariant(zoo[static_cast<size_t>(at)], probe.kind, seed, &t, &tally);
      }
    }
  }
  EXPECT_GT(tally.runs, GetParam() > 2000 ? 30 : 150);
  EXPECT_LT(tally.open, tally.elements / 20);
}

INSTANTIATE_TEST_SUITE_P(Lengths, ProbesAt, ::testing::Values(1024, 4096));

}  // namespace
}  // namespace lockstep::verify
