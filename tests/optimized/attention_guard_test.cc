// Every fast path of attention_forward has a guard (N6). Each test trips one
// on purpose, sees in the counts that it tripped, and that the bits still equal
// the reference.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/attention_forward.h"
#include "reference/contract/numerics.h"
#include "reference/elementary.h"
#include "tests/support/attention_problem.h"

namespace lockstep::optimized {
namespace {

using test::Instance;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Instance Square(int64_t length, int64_t channels) {
  Instance instance;
  AttentionForwardProblem& p = instance.problem;
  p.q_len = p.kv_len = length;
  p.head_dim = p.value_dim = channels;
  p.scale = 1.0 / std::sqrt(static_cast<double>(channels));
  p.masks[0].kind = MaskExpr::Kind::kCausal;
  std::mt19937 rng(3);
  instance.Fill(rng);
  return instance;
}

AttentionForwardExecution RunAndCompare(Instance& instance) {
  AttentionForwardExecution execution;
  Caps caps;
  caps.tile_keys = 32;  // several tiles, so that the online path rescales
  EXPECT_EQ(instance.RunReference(), instance.RunOptimized(caps, &execution));
  return execution;
}

TEST(Guard, HoldsOnOrdinaryData) {
  Instance instance = Square(100, 16);
  EXPECT_EQ(RunAndCompare(instance).rows_online, 100);
}

TEST(Guard, SpreadOfScoresSendsRowsToTwoPasses) {
  Instance instance = Square(100, 16);
  for (float& x : instance.q) x *= 60.0f;
  const AttentionForwardExecution execution = RunAndCompare(instance);
  EXPECT_GT(execution.rows_redone, 20);
  EXPECT_GT(execution.rows_online, 0);
}

// The maximum moves by 150 binary orders between two tiles, more than one f32
// factor can express, and the guard still holds: what is left of the first
// tile is all there is in the output.
TEST(Guard, SteepRescaleGoesInTwoSteps) {
  Instance instance = Square(64, 1);
  instance.problem.scale = 1.0;
  for (size_t j = 0; j < 64; ++j) {
    instance.q[j] = 1.0f;
    instance.k[j] = j < 32 ? 0.0f : 104.0f;
    instance.v[j] = j < 32 ? 1.5f : 0.0f;
  }
  EXPECT_EQ(RunAndCompare(instance).rows_online, 64);
}

TEST(Guard, SteeperRescaleIsRedone) {
  Instance instance = Square(96, 1);
  instance.problem.scale = 1.0;
  for (size_t j = 0; j < 96; ++j) {
    instance.q[j] = 1.0f;
    instance.k[j] = static_cast<float>(j) * 2.5f;
  }
  EXPECT_GT(RunAndCompare(instance).rows_redone, 0);
}

// 64 rows with the same scores u, in units of log2.
Instance WithScores(const std::vector<float>& u) {
  Instance instance = Square(64, 1);
  AttentionForwardProblem& p = instance.problem;
  p.scale = std::log(2.0);
  p.masks[0].kind = MaskExpr::Kind::kFull;
  for (float& x : instance.q) x = 1.0f;
  for (size_t j = 0; j < 64; ++j) instance.k[j] = u[j % u.size()];
  return instance;
}

// An exponent of -125 is the smallest that counts; the next score below weighs
// +0, although 2^-126 is a normal number and these values would show it.
TEST(Guard, QuickWeightsEndWhereWeightsBecomeZero) {
  for (const float lowest : {-188.0f, -189.0f, -190.0f, -191.0f, -400.0f}) {
    Instance instance = WithScores({0.0f, lowest});
    for (size_t j = 0; j < 64; ++j) instance.v[j] = j % 2 ? 0x1p126f : 0.0f;
    RunAndCompare(instance);
    const bool counts = lowest >= -189.0f;
    EXPECT_EQ(instance.RunReference()[0] != 0, counts) << lowest;
  }
}

// Across tiles: the first one's weights are large until the maximum of the
// second makes them +0, and its values are so large that what a rescaled sum
// keeps of them would be all of the output.
TEST(Guard, WeightsThatBecomeZeroLaterAreRedone) {
  Instance instance = WithScores({0.0f});
  for (size_t j = 0; j < 32; ++j) instance.k[j] = -190.0f;
  for (size_t j = 0; j < 64; ++j) instance.v[j] = j < 32 ? 0x1p50f : 0.0f;
  EXPECT_EQ(RunAndCompare(instance).rows_redone, 64);
  EXPECT_EQ(instance.RunReference()[0], 0u);
}

// A tile that everybody sees, but not of whole stripes: what fills it up has
// weight in no row.
TEST(Guard, RaggedTileNeedsItsMask) {
  Instance instance = Square(41, 4);
  instance.problem.masks[0].kind = MaskExpr::Kind::kFull;
  EXPECT_GT(RunAndCompare(instance).tiles_partial, 0);
  instance.problem.softcap = 20.0;  // the fixed-m path
  EXPECT_EQ(RunAndCompare(instance).rows_fixed, 41);
}

// Scores close together, but beyond the numbers that the quick form rounds.
TEST(Guard, QuickWeightsNeedSmallScores) {
  for (const float far : {0x1p20f, 0x1p21f, 0x1p22f, 0x1p23f, 0x1.8p23f}) {
    for (const float sign : {1.0f, -1.0f}) {
      std::vector<float> u;
      for (int j = 0; j < 7; ++j) {
        u.push_back(sign * far + 0.75f * static_cast<float>(j));
      }
      Instance instance = WithScores(u);
      EXPECT_EQ(RunAndCompare(instance).rows_online, 64);
    }
  }
}

TEST(Guard, TinyValuesNeedTheirLastBits) {
  Instance instance = Square(64, 8);
  for (float& x : instance.q) x *= 8.0f;
  for (float& x : instance.v) x *= 0x1p-110f;
  EXPECT_GT(RunAndCompare(instance).rows_redone, 0);
  for (float& x : instance.v) x *= 0x1p-30f;  // subnormal now
  EXPECT_GT(RunAndCompare(instance).rows_redone, 0);
}

// One channel of tiny values among others, in either vector of a panel and
// behind the last whole one, on every target.
TEST(Guard, TinyValuesOfOneChannelNeedTheirLastBits) {
  constexpr size_t kChannels = 72;
  for (const size_t channel : {0, 4, 9, 20, 33, 63, 71}) {
    Instance instance = Square(64, kChannels);
    for (float& x : instance.q) x *= 8.0f;
    for (size_t at = channel; at < instance.v.size(); at += kChannels) {
      instance.v[at] *= 0x1p-110f;
    }
    EXPECT_GT(RunAndCompare(instance).rows_redone, 0) << channel;
  }
}

// The same where few rows read the values in place.
TEST(Guard, TinyValuesInPlaceNeedTheirLastBits) {
  for (const float tiny : {0x1p-110f, 0x1p-140f}) {
    Instance instance = Square(64, 8);
    AttentionForwardProblem& p = instance.problem;
    p.q_len = 4;
    p.masks[0].kind = MaskExpr::Kind::kFull;
    std::mt19937 rng(5);
    instance.Fill(rng, 8.0f);
    for (float& x : instance.v) x *= tiny;
    const AttentionForwardExecution ran = RunAndCompare(instance);
    EXPECT_GT(ran.tiles_in_place, 0);
    EXPECT_GT(ran.rows_redone, 0);
  }
}

// Channels that fill two vectors, one, or a part of one, on every target.
TEST(Guard, ChannelsOfAnyNumberInPlace) {
  for (const int64_t dim : {3, 8, 13, 20, 40, 77}) {
    Instance instance = Square(64, dim);
    instance.problem.q_len = 4;
    instance.problem.masks[0].kind = MaskExpr::Kind::kFull;
    std::mt19937 rng(7);
    instance.Fill(rng, 1.0f);
    EXPECT_GT(RunAndCompare(instance).tiles_in_place, 0);
  }
}

// A score u and a value v whose product exp2(u) * v lies exactly between two
// f32 of which the lower is even, so that any positive trace in the
// accumulator rounds it up.
struct Tie {
  float u = 0.0f;
  float v = 0.0f;
};

Tie FindTie() {
  for (float u = 0x1p-6f; u < 0.5f; u += 0x1p-6f) {
    const auto g = static_cast<double>(reference::Exp2Core(u));
    for (float v = 3.0f; v < 4096.0f; v += 2.0f) {
      const double exact = g * static_cast<double>(v);
      const float low = static_cast<float>(exact);
      const float high = std::nextafter(low, kInfinity);
      const bool tie =
          exact - static_cast<double>(low) == static_cast<double>(high) - exact;
      // The row sum is g: the division must not hide the difference.
      if (tie && low / static_cast<float>(g) != high / static_cast<float>(g)) {
        return {u, v};
      }
    }
  }
  return {};
}

// The guard's bound on the last bit, by a witness: two values whose weighted
// sum is 2^-149. The two-pass form rounds each half away; online both are still
// large when they are added. A tie later in the row shows the difference.
TEST(Guard, LastBitDecidesATie) {
  Instance instance = Square(64, 1);
  instance.problem.masks[0].kind = MaskExpr::Kind::kFull;
  instance.problem.scale = kLn2;  // u = dot: scores are exact
  for (size_t j = 0; j < 64; ++j) {
    instance.q[j] = 1.0f;
    instance.k[j] = -100.0f;  // weight 2^-36
    instance.v[j] = 0.0f;
  }
  ASSERT_EQ(static_cast<float>(instance.problem.scale * kLog2E), 1.0f);
  instance.v[0] = instance.v[1] = 0x1p-114f;
  const Tie tie = FindTie();
  ASSERT_NE(tie.v, 0.0f);
  instance.k[40] = tie.u;
  instance.v[40] = tie.v * 0x1p-64f;
  EXPECT_EQ(RunAndCompare(instance).rows_redone, 64);
}

TEST(Guard, FixedPathNeedsNoneForTheSame) {
  Instance instance = Square(64, 8);
  instance.problem.softcap = 50.0;
  for (float& x : instance.q) x *= 60.0f;
  for (float& x : instance.v) x *= 0x1p-140f;
  EXPECT_EQ(RunAndCompare(instance).rows_fixed, 64);
}

TEST(Guard, LargeCapLeavesTheFixedPath) {
  Instance instance = Square(64, 8);
  instance.problem.softcap = 55.4;  // C just below 80
  EXPECT_EQ(RunAndCompare(instance).rows_fixed, 64);
  instance.problem.softcap = 55.5;
  EXPECT_EQ(RunAndCompare(instance).rows_fixed, 0);
}

TEST(Guard, LargeSinkLeavesTheFixedPath) {
  Instance instance = Square(64, 8);
  instance.problem.softcap = 30.0;
  instance.problem.sink = true;
  instance.sink = {55.0f};  // n = 79
  EXPECT_EQ(RunAndCompare(instance).rows_fixed, 64);
  instance.sink = {100.0f};  // its weight would overflow the fixed path
  EXPECT_EQ(RunAndCompare(instance).rows_fixed, 0);
  instance.sink = {-kInfinity};
  EXPECT_EQ(RunAndCompare(instance).rows_fixed, 64);
  for (const float bad : {kInfinity, kNaN}) {
    instance.sink = {bad};
    EXPECT_EQ(RunAndCompare(instance).rows_redone, 64);
  }
}

TEST(Guard, OverflowingSumsAreRedoneSmaller) {
  for (const double cap : {0.0, 50.0}) {
    Instance instance = Square(64, 8);
    if (cap > 0) instance.problem.softcap = cap;
    for (float& x : instance.q) x *= 30.0f;
    for (float& x : instance.v) x = 3e38f;
    EXPECT_GT(RunAndCompare(instance).rows_redone, 32) << "cap " << cap;
    for (const uint32_t bits : instance.RunOptimized()) {
      EXPECT_NE(bits & 0x7fffffffu, 0x7f800000u) << "an infinity was written";
    }
  }
}

// N8: what no query may see may be anything.
TEST(Guard, MaskedNaNChangesNothing) {
  for (const double cap : {0.0, 50.0}) {
    Instance instance = Square(64, 8);
    if (cap > 0) instance.problem.softcap = cap;
    // Column 20 is hidden from all rows; its tile is visited all the same.
    instance.dense.assign(64 * 64, 1);
    for (size_t i = 0; i < 64; ++i) instance.dense[i * 64 + 20] = 0;
    instance.problem.masks[0].kind = MaskExpr::Kind::kDense;
    const std::vector<uint32_t> clean = instance.RunOptimized();
    for (size_t c = 0; c < 8; ++c) {
      instance.k[20 * 8 + c] = c % 2 ? kNaN : kInfinity;
    }
    // Masked scores are selected away, so that the fast path stands.
    EXPECT_EQ(RunAndCompare(instance).rows_redone, 0);
    EXPECT_EQ(clean, instance.RunOptimized());
    for (size_t c = 0; c < 8; ++c) {
      instance.v[20 * 8 + c] = c % 2 ? kNaN : -kInfinity;
    }
    EXPECT_EQ(RunAndCompare(instance).rows_redone, 64);
    EXPECT_EQ(clean, instance.RunOptimized());
  }
}

TEST(Guard, VisibleSpecialsFollowTheContract) {
  for (const double cap : {0.0, 2.0, 50.0}) {
    for (const float special : {kNaN, kInfinity, -kInfinity}) {
      for (int tensor = 0; tensor < 3; ++tensor) {
        Instance instance = Square(40, 8);
        if (cap > 0) instance.problem.softcap = cap;
        auto& values = tensor == 0   ? instance.q
                       : tensor == 1 ? instance.k
                                     : instance.v;
        values[9 * 8 + 3] = special;
        const int64_t redone = RunAndCompare(instance).rows_redone;
        // A softcap makes an infinite score finite again (N13).
        const bool tamed = cap > 0 && tensor < 2 && !std::isnan(special);
        EXPECT_EQ(redone == 0, tamed)
            << "cap " << cap << " tensor " << tensor << " " << special;
      }
    }
  }
}

// Documents of 40 tokens in two batch rows, of two kv heads with two query
// heads each.
Instance Documents() {
  Instance instance = Square(200, 16);
  AttentionForwardProblem& p = instance.problem;
  p.batch = 2;
  p.q_heads = 4;
  p.kv_heads = 2;
  p.segments = true;
  std::mt19937 rng(5);
  instance.Fill(rng);
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int32_t i = 0; i < 200; ++i) {
      instance.q_seg[static_cast<size_t>(b * 200 + i)] = i / 40;
    }
  }
  instance.kv_seg = instance.q_seg;
  return instance;
}

AttentionForwardExecution RunDocuments(Instance& instance, Caps caps) {
  caps.tile_rows = 10;
  caps.tile_keys = 16;
  AttentionForwardExecution execution;
  EXPECT_EQ(instance.RunReference(), instance.RunOptimized(caps, &execution));
  return execution;
}

// A kept tile is one of the same keys of the same head: where masks are narrow,
// rows find most of theirs. All four rounds of heads have the same numbers of
// tiles, so that each would find the tiles of the one before.
TEST(Guard, NarrowMasksFindKeptTiles) {
  Instance instance = Documents();
  Caps caps;
  caps.threads = 1;
  const AttentionForwardExecution kept = RunDocuments(instance, caps);
  const int64_t visited = kept.tiles_full + kept.tiles_partial;
  // Each head packs its 13 tiles once.
  EXPECT_EQ(kept.tiles_kept, visited - 4 * 13);
  caps.kept_tiles = 3;
  EXPECT_EQ(RunDocuments(instance, caps).tiles_kept, kept.tiles_kept);
  caps.kept_tiles = 0;
  EXPECT_EQ(RunDocuments(instance, caps).tiles_kept, 0);
}

// Where tiles would be packed again and again, they are packed ahead: under a
// mask that is not narrow, with too little kept, or in many small pieces.
TEST(Guard, BroadMasksPackAhead) {
  Instance instance = Documents();
  Caps caps;
  caps.threads = 1;
  caps.kept_tiles = 1;
  EXPECT_EQ(RunDocuments(instance, caps).tiles_kept, 0);
  caps.kept_tiles = 3;
  caps.threads = 8;
  EXPECT_EQ(RunDocuments(instance, caps).tiles_kept, 0);
  caps.threads = 1;
  instance.problem.segments = false;
  EXPECT_EQ(RunDocuments(instance, caps).tiles_kept, 0);
}

// Rows whose guard fails are walked again, through the tiles that were kept.
TEST(Guard, RowsAreRedoneFromKeptTiles) {
  Instance instance = Documents();
  for (float& x : instance.q) x *= 60.0f;
  Caps caps;
  caps.threads = 1;
  const AttentionForwardExecution ran = RunDocuments(instance, caps);
  EXPECT_GT(ran.rows_redone, 20);
  EXPECT_GT(ran.tiles_kept, 0);
}

}  // namespace
}  // namespace lockstep::optimized
