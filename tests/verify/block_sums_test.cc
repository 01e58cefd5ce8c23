// Sums of a matrix unit before the bound that envelopes have for them: never
// beyond it, and close to it where everything small is cut away.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/verify/envelope_problem.h"
#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

constexpr double kUnit = 0x1p-24;
constexpr Accumulator kUnits[] = {
    {Accumulator::Kind::kMma, 16, 1},   {Accumulator::Kind::kMma, 16, 2},
    {Accumulator::Kind::kMma, 8, 1},    {Accumulator::Kind::kMma, 4, 0},
    {Accumulator::Kind::kMma, 32, -10}, {Accumulator::Kind::kTrunc32, 0, 0}};

// The error of the sum of x in units of the sizes' sum, in blocks that end at
// random where `ragged`.  *blocks: how many there were.
double LossOf(const std::vector<float>& x, const Accumulator& how, bool ragged,
              TestRandom* random, double* blocks) {
  const std::vector<float> ones(x.size(), 1.0f);
  double exact = 0, size = 0;
  for (const float term : x) {
    exact += double{term};
    size += std::fabs(double{term});
  }
  float sum = 0;
  *blocks = 0;
  const auto width = static_cast<int64_t>(std::max(how.width, 1));
  for (size_t at = 0; at < x.size();) {
    const int64_t most = ragged ? 1 + random->Below(width) : width;
    const auto n = std::min(
        most, static_cast<int64_t>(x.size()) - static_cast<int64_t>(at));
    sum = Accumulate({&x[at], 1, &ones[at], 1, n}, sum, how);
    at += static_cast<size_t>(n);
    ++*blocks;
  }
  return std::fabs(double{sum} - exact) / size;
}

// n t + S (t + 2 u), as docs/envelopes.md has it; 2 u is the last place that
// the accumulator keeps.
double BoundOf(const Accumulator& how, double terms, double blocks) {
  const double t = BlockTerm(how);
  return Gamma(terms * t + blocks * (t + how.last_place()), 1);
}

TEST(BlockSums, LoseNoMoreThanTheirBound) {
  TestRandom random(7);
  for (const Accumulator& how : kUnits) {
    double nearest = 0;
    for (int round = 0; round < 4000; ++round) {
      // One large term, others at the unit below which blocks cut: or any.
      std::vector<float> x(static_cast<size_t>(2 + random.Below(200)));
      const bool small = round % 2 == 0;
      const double unit = std::max(BlockTerm(how), 2 * kUnit);
      for (float& term : x) {
        const double most = small ? unit : std::exp(random.Normal() * 4);
        term = static_cast<float>(most * (small ? 0.9999 : random.Normal()));
      }
      if (small) x[0] = 1;
      double blocks = 0;
      const double loss = LossOf(x, how, round % 4 < 2, &random, &blocks);
      const auto terms = static_cast<double>(x.size());
      const double bound = BoundOf(how, terms, blocks);
      ASSERT_LE(loss, bound) << how.width << " " << how.guard_bits;
      nearest = std::max(nearest, loss / bound);
    }
    EXPECT_GT(nearest, 0.4) << how.width << " " << how.guard_bits;
  }
}

// What the envelope holds of a sum in blocks is no less than that, and no more
// than products in blocks of their own.
TEST(BlockSums, HaveTheBoundOfTheirBlocks) {
  NumericProfile profile = BuiltinProfiles()[5];
  ASSERT_EQ(profile.name, "mma-bf16");
  profile.p = NumberType::kF32;
  AttentionForwardProblem p;
  p.lane = Lane::kBf16;
  p.q_len = 1;
  p.kv_len = 1024;
  p.head_dim = p.value_dim = 64;
  const Accumulator how = {Accumulator::Kind::kMma, 16, 2};
  profile.acc_pv = how;
  const double any = MakeEnvelopeModel(profile, p).Numerator(1024, 0);
  EXPECT_GE(any, BoundOf(how, 1024, 1024));
  EXPECT_LT(any, 1.01 * BoundOf(how, 1024, 1024));
  profile.tile_kv = 128;
  const double tiled = MakeEnvelopeModel(profile, p).Numerator(1024, 0);
  EXPECT_GE(tiled, BoundOf(how, 1024, 1024 / 16 + 1024 / 128));
  EXPECT_LT(tiled, 1.1 * BoundOf(how, 1024, 1024 / 16 + 1024 / 128));
  // Steps that are claimed to ascend are whole, wherever tiles end.
  profile.chain_order = ChainOrder::kAscending;
  const double ascending = MakeEnvelopeModel(profile, p).Numerator(1024, 0);
  EXPECT_GE(ascending, BoundOf(how, 1024, 1024 / 16));
  EXPECT_LT(ascending, tiled);
  profile.chain_order = ChainOrder::kAny;
  // Half of the keys masked: no fewer blocks.
  EXPECT_GE(MakeEnvelopeModel(profile, p).Numerator(512, 0),
            BoundOf(how, 512, 1024 / 16));
}

}  // namespace
}  // namespace lockstep::verify
