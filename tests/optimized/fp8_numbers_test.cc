// fp8 is an encoding (N25): a problem has the bits of the same numbers in f32,
// where products with scales are exact.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "reference/contract/key_scales.h"
#include "tests/support/attention_problem.h"
#include "tests/support/runnable_targets.h"
#include "tests/support/volume.h"

namespace lockstep::optimized {
namespace {

using test::Instance;

// The problem of the same numbers in f32: each is its element times its scale.
Instance Dequantised(Instance& from) {
  const AttentionForwardInputs in = from.Inputs();
  const AttentionForwardProblem& p = from.problem;
  const auto numbers = [](const LaneView& x, const KeyScales& scales,
                          const KeyScaleView& view) {
    std::vector<float> made;
    for (int64_t b = 0; b < x.shape[0]; ++b) {
      for (int64_t h = 0; h < x.shape[1]; ++h) {
        for (int64_t j = 0; j < x.shape[2]; ++j) {
          for (int64_t c = 0; c < x.shape[3]; ++c) {
            made.push_back(x.Float(b, h, j, c) *
                           KeyScaleOf(scales, view, b, h, j));
          }
        }
      }
    }
    return made;
  };
  Instance plain = from;
  plain.q = numbers(in.q, p.q_scales, in.q_scale);
  plain.k = numbers(in.k, p.k_scales, in.k_scale);
  plain.v = numbers(in.v, p.v_scales, in.v_scale);
  plain.problem.kv_lane = plain.problem.q_lane = {};
  plain.problem.q_scales = plain.problem.k_scales = plain.problem.v_scales = {};
  plain.q_scale = plain.k_scale = plain.v_scale = {};
  return plain;
}

// The same bits, but where both are as small as quotients that lost bits before
// a scale multiplied them.
bool SameNumbers(const std::vector<uint32_t>& a,
                 const std::vector<uint32_t>& b) {
  const auto small = [](uint32_t bits) {
    return std::fabs(std::bit_cast<float>(bits)) < 0x1p-120f;
  };
  bool same = a.size() == b.size();
  for (size_t n = 0; same && n < a.size(); ++n) {
    same = a[n] == b[n] || (small(a[n]) && small(b[n]));
  }
  return same;
}

// Bits do not depend on the encoding where products with scales are exact. Here
// these are 1, 2, 4 and 8, so that nothing underflows, and q is not huge.
TEST(Fp8Numbers, DrawnProblemsHaveTheBitsOfTheirNumbers) {
  int64_t scaled = 0, of_q = 0;
  for (uint32_t seed = 0; seed < test::Volume(500); ++seed) {
    std::mt19937 rng(seed * 7919 + 24);
    Instance instance = test::RandomInstance(rng);
    test::MakeFp8Keys(rng, instance);
    if (seed % 5 < 3) test::MakeFp8Queries(rng, instance);
    AttentionForwardProblem& p = instance.problem;
    p.lane = Lane::kF32;
    for (float& x : instance.q) {  // no sum overflows
      if (!(std::fabs(x) < 0x1p60f)) x = 1.0f;
    }
    for (auto* scales :
         {&instance.q_scale, &instance.k_scale, &instance.v_scale}) {
      for (float& x : *scales)
        x = std::ldexp(1.0f, std::abs(std::ilogb(x)) % 4);
    }
    scaled += p.k_scales.any() || p.v_scales.any() ? 1 : 0;
    of_q += p.q_lane ? 1 : 0;
    Instance plain = Dequantised(instance);
    const std::vector<uint32_t> expected = plain.RunReference();
    ASSERT_TRUE(SameNumbers(expected, instance.RunReference()))
        << "seed " << seed;
    for (const std::string& target : test::RunnableTargets()) {
      Caps caps;
      caps.target = target;
      ASSERT_TRUE(SameNumbers(expected, instance.RunOptimized(caps)))
          << target << ", seed " << seed;
    }
  }
  EXPECT_GT(scaled, test::Volume(250));
  EXPECT_GT(of_q, test::Volume(150));
}

}  // namespace
}  // namespace lockstep::optimized
