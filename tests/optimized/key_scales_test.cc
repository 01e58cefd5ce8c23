// Longer than 400 lines: one clause, with each of its steps and guards.
// Keys, values and queries in fp8, and their scales (N25). The tests check the
// value of each byte, the reference against a second implementation of the
// clause, the bits of every target, the guards and the refusals.
#include "reference/contract/key_scales.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "reference/attention_forward.h"
#include "reference/contract/attention_pages.h"
#include "reference/contract/numerics.h"
#include "tests/support/attention_problem.h"
#include "tests/support/runnable_targets.h"
#include "tests/support/volume.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::Instance;

LOCKSTEP_NAME_TARGETS_NOT_RUN();

// The value of a byte from its fields: `digits` of fraction, exponent `bias`.
double NumberOf(int byte, int digits, int bias) {
  const int fraction = byte & ((1 << digits) - 1);
  const int exponent = (byte & 0x7f) >> digits;
  const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias - digits)
                                    : std::ldexp(fraction + (1 << digits),
                                                 exponent - bias - digits);
  return (byte & 0x80) != 0 ? -size : size;
}

TEST(Fp8, EveryByteHasItsNumber) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto bits = static_cast<uint8_t>(byte);
    const float e4m3 = ToFloat(E4m3{bits});
    const float e5m2 = ToFloat(E5m2{bits});
    if ((byte & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(e4m3)) << byte;
    } else {
      EXPECT_EQ(static_cast<double>(e4m3), NumberOf(byte, 3, 7)) << byte;
    }
    if ((byte & 0x7f) == 0x7c) {
      EXPECT_TRUE(std::isinf(e5m2)) << byte;
    } else if ((byte & 0x7f) > 0x7c) {
      EXPECT_TRUE(std::isnan(e5m2)) << byte;
    } else {
      EXPECT_EQ(static_cast<double>(e5m2), NumberOf(byte, 2, 15)) << byte;
    }
    if ((byte & 0x7f) > 0x7c) continue;
    EXPECT_EQ(std::signbit(e5m2), byte >= 0x80) << byte;
    EXPECT_EQ(std::signbit(e4m3), byte >= 0x80) << byte;
  }
  EXPECT_EQ(static_cast<double>(ToFloat(E4m3{0x7e})), 448.0);
  EXPECT_EQ(static_cast<double>(ToFloat(E5m2{0x7b})), 57344.0);
}

TEST(Lanes, SpacingsFollowFromDigitsAndExponents) {
  for (const LaneRow& row : kLaneRows) {
    EXPECT_EQ(row.smallest, std::ldexp(1.0, row.min_exponent - row.digits + 1))
        << row.name;
    EXPECT_EQ(row.roundoff, std::ldexp(1.0, -row.digits)) << row.name;
  }
}

Instance RandomFp8(uint32_t seed) {
  std::mt19937 rng(seed * 7919 + 24);
  Instance instance = test::RandomInstance(rng);
  if (seed % 3 == 0) test::MakeF16(instance);
  test::MakeFp8Keys(rng, instance);
  AttentionForwardProblem& p = instance.problem;
  // With few rows, keys and values are read in place.
  if (seed % 4 == 1 && instance.valid_q.empty()) {
    p.q_len = 1 + seed % 3;
    p.q_heads = p.kv_heads;
    while (p.masks.size() > 1) p.masks.pop_back();
    instance.q_seg.resize(static_cast<size_t>(p.batch * p.q_len));
    instance.q.resize(
        static_cast<size_t>(p.batch * p.q_heads * p.q_len * p.head_dim));
  }
  if (seed % 4 == 2) p.split = 2 + seed % 3;
  if (seed % 5 < 3) test::MakeFp8Queries(rng, instance);
  // Draws any byte, NaN and subnormal numbers included.
  if (seed % 7 != 0) return instance;
  std::vector<float>& values = seed % 2 == 0 ? instance.k : instance.v;
  for (float& x : values) {
    const auto byte = static_cast<uint8_t>(rng());
    const bool rare = (byte & 0x7f) >= 0x7b && Draw(rng, 0, 60) != 0;
    const uint8_t bits = rare ? byte & 0x87 : byte;
    x = p.kv_lane == Lane::kE4m3 ? ToFloat(E4m3{bits}) : ToFloat(E5m2{bits});
  }
  return instance;
}

TEST(KeyScales, BitsEqualTheReferenceOnRandomProblems) {
  AttentionForwardExecution total;
  std::vector<int64_t> layouts(5), of_q(5);
  for (uint32_t seed = 0; seed < test::Volume(1200); ++seed) {
    Instance instance = RandomFp8(seed);
    const AttentionForwardProblem& p = instance.problem;
    ++layouts[static_cast<size_t>(p.v_scales.layout)];
    if (p.q_lane) ++of_q[static_cast<size_t>(p.q_scales.layout)];
    const std::vector<uint32_t> expected = instance.RunReference();
    for (const std::string& target : test::RunnableTargets()) {
      Caps caps;
      caps.target = target;
      caps.threads = static_cast<int>(1 + seed % 2);
      caps.tile_keys = 16 * (1 + seed % 5);
      caps.tile_rows = seed % 3 == 0 ? 3 : 0;
      AttentionForwardExecution one;
      ASSERT_EQ(expected, instance.RunOptimized(caps, &one))
          << target << ", seed " << seed;
      total.tiles_in_place += one.tiles_in_place;
      total.rows_fixed += one.rows_fixed;
      total.rows_online += one.rows_online;
      total.rows_redone += one.rows_redone;
    }
  }
  for (const int64_t layout : layouts) EXPECT_GT(layout, test::Volume(100));
  for (const int64_t layout : of_q) EXPECT_GT(layout, test::Volume(60));
  EXPECT_GT(total.tiles_in_place, test::Volume(300));
  EXPECT_GT(total.rows_fixed, test::Volume(1000));
  EXPECT_GT(total.rows_online, test::Volume(1000));
  EXPECT_GT(total.rows_redone, test::Volume(1000));
}

TEST(KeyScales, BitsInPages) {
  for (uint32_t seed = 0; seed < test::Volume(200); ++seed) {
    Instance instance = RandomFp8(seed);
    const AttentionForwardProblem& p = instance.problem;
    AttentionForwardInputs in = instance.Inputs();
    const std::vector<uint32_t> expected = instance.RunReference();
    // The pages are in order: for one batch row, k and v are laid out so
    // already.
    if (p.batch != 1) continue;
    const int64_t size = 16;
    const int64_t width = (p.kv_len + size - 1) / size;
    const auto pool = [&](const LaneView& from, std::vector<uint8_t>& bytes) {
      const int64_t channels = from.shape[3];
      bytes.assign(static_cast<size_t>(width * p.kv_heads * size * channels),
                   0x7f);
      LaneView view = {
          bytes.data(), from.lane, {width, p.kv_heads, size, channels}, {}};
      view.strides = DenseStrides(view.shape);
      const auto* source = static_cast<const uint8_t*>(from.data);
      for (int64_t j = 0; j < in.ValidKv(p, 0); ++j) {
        for (int64_t h = 0; h < p.kv_heads; ++h) {
          for (int64_t c = 0; c < channels; ++c) {
            const int64_t page = width - 1 - j / size;
            bytes[static_cast<size_t>(page * view.strides[0] +
                                      h * view.strides[1] +
                                      j % size * channels + c)] =
                source[h * from.strides[1] + j * channels + c];
          }
        }
      }
      return view;
    };
    std::vector<uint8_t> k_bytes, v_bytes;
    KeyPages pages = {size, pool(in.k, k_bytes), pool(in.v, v_bytes), {}};
    std::vector<int32_t> table;
    for (int64_t n = width; n > 0; --n) {
      table.push_back(static_cast<int32_t>(n - 1));
    }
    pages.table = {table.data(), {1, width}, {width, 1}};
    in.k = in.v = LaneView();
    test::Outputs outputs(p);
    const Status status = AttentionForward(
        p, in, pages, MakePlan(p, Caps()).value(), outputs.View(), nullptr);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(expected, outputs.Bits()) << "seed " << seed;
  }
}

Instance OneHead(int64_t keys) {
  Instance instance;
  AttentionForwardProblem& p = instance.problem;
  p.q_len = 20;
  p.kv_len = keys;
  p.head_dim = p.value_dim = 8;
  p.kv_lane = Lane::kE4m3;
  std::mt19937 rng(5);
  instance.Fill(rng);
  return instance;
}

// N25 step by step, where every step is exact: scales are powers of two.
TEST(KeyScales, PowersOfTwoAreScalesOfTheNumbers) {
  Instance instance = OneHead(70);
  AttentionForwardProblem& p = instance.problem;
  for (float& x : instance.k) x = std::ldexp(std::round(8 * x), -3);
  for (float& x : instance.v) x = std::ldexp(std::round(8 * x), -3);
  p.k_scales = {ScaleLayout::kBlock, 16};
  p.v_scales = {ScaleLayout::kToken, 0};
  instance.k_scale = {0.5f, 2.0f, 1.0f, 0.25f, 4.0f};
  for (int n = 0; n < 70; ++n) {
    instance.v_scale.push_back(std::ldexp(1.0f, n % 5 - 2));
  }
  Instance plain = OneHead(70);
  plain.problem.kv_lane.reset();
  for (size_t j = 0; j < 70; ++j) {
    for (size_t c = 0; c < 8; ++c) {
      const auto number = [&](float x) {
        return ToFloat(E4m3{test::NearestFp8(Lane::kE4m3, x)});
      };
      plain.k[8 * j + c] =
          number(instance.k[8 * j + c]) * instance.k_scale[j / 16];
      plain.v[8 * j + c] = number(instance.v[8 * j + c]) * instance.v_scale[j];
    }
  }
  EXPECT_EQ(plain.RunReference(), instance.RunReference());
}

TEST(KeyScales, ScalesOfAHeadAreFactorsOfScaleAndOutput) {
  Instance instance = OneHead(40);
  AttentionForwardProblem& p = instance.problem;
  p.softcap = 20.0;
  p.k_scales = p.v_scales = {ScaleLayout::kTensor, 0};
  instance.k_scale = {0.3f};
  instance.v_scale = {2.0f};
  Instance plain = instance;
  plain.problem.k_scales = plain.problem.v_scales = {};
  plain.problem.scale = p.scale * static_cast<double>(0.3f);
  for (float& x : plain.v) {
    x = ToFloat(E4m3{test::NearestFp8(Lane::kE4m3, x)});
  }
  const std::vector<uint32_t> expected = plain.RunReference();
  const std::vector<uint32_t> found = instance.RunReference();
  const size_t outputs = 20 * 8;
  for (size_t n = 0; n < outputs; ++n) {
    EXPECT_EQ(std::bit_cast<float>(found[n]),
              2.0f * std::bit_cast<float>(expected[n]));
  }
  for (size_t n = outputs; n < found.size(); ++n) {
    EXPECT_EQ(found[n], expected[n]);  // lse
  }
}

// The same of q, where every step is exact, and of the two factors of scale.
TEST(KeyScales, ScalesOfQueriesAreScalesOfTheNumbers) {
  Instance instance = OneHead(40);
  AttentionForwardProblem& p = instance.problem;
  for (float& x : instance.q) x = std::ldexp(std::round(8 * x), -3);
  p.q_lane = Lane::kE4m3;
  p.q_scales = {ScaleLayout::kBlock, 8};  // of 20 queries
  instance.q_scale = {0.5f, 4.0f, 0.125f};
  Instance plain = instance;
  plain.problem.q_lane.reset();
  plain.problem.q_scales = {};
  for (size_t i = 0; i < 20; ++i) {
    for (size_t c = 0; c < 8; ++c) {
      float& x = plain.q[8 * i + c];
      x = ToFloat(E4m3{test::NearestFp8(Lane::kE4m3, x)}) *
          instance.q_scale[i / 8];
    }
  }
  EXPECT_EQ(plain.RunReference(), instance.RunReference());

  p.softcap = plain.problem.softcap = 20.0;
  p.k_scales = p.q_scales = {ScaleLayout::kTensor, 0};
  instance.k_scale = {0.3f};
  instance.q_scale = {0.7f};
  plain.problem.scale =
      p.scale * static_cast<double>(0.3f) * static_cast<double>(0.7f);
  for (size_t n = 0; n < instance.q.size(); ++n) {
    plain.q[n] = ToFloat(E4m3{test::NearestFp8(Lane::kE4m3, instance.q[n])});
  }
  EXPECT_EQ(plain.RunReference(), instance.RunReference());
}

// Scores that lie `apart` steps of log2 between the first keys and the last
// ones, whose values are zero: all that is left is what small weights made.
AttentionForwardExecution TwoSteps(float apart, float value_scale) {
  Instance instance = OneHead(64);
  AttentionForwardProblem& p = instance.problem;
  p.head_dim = 1;
  p.scale = 1.0;
  std::mt19937 rng(9);
  instance.Fill(rng);
  for (size_t j = 0; j < 64; ++j) {
    instance.k[j] = j < 32 ? instance.k[j] / 8 : apart;
    for (size_t c = 0; j >= 32 && c < 8; ++c) instance.v[j * 8 + c] = 0.0f;
  }
  instance.q.assign(20, 1.0f);
  p.v_scales = {ScaleLayout::kToken, 0};
  for (int j = 0; j < 64; ++j) {
    instance.v_scale.push_back(value_scale +
                               value_scale / 97 * static_cast<float>(j));
  }
  AttentionForwardExecution execution;
  Caps caps;
  caps.tile_keys = 16;
  caps.tile_rows = 8;
  EXPECT_EQ(instance.RunReference(), instance.RunOptimized(caps, &execution))
      << apart << " " << value_scale;
  return execution;
}

// Small scales of values make weights subnormal. An online kernel cannot
// rescale these exactly, so the guard sends the rows to two passes.
TEST(KeyScales, SmallScalesOfValuesAreRedone) {
  EXPECT_EQ(TwoSteps(72.0f, 0x1p-2f).rows_online, 20);
  EXPECT_EQ(TwoSteps(96.0f, 0x1p-2f).rows_online, 20);
  EXPECT_EQ(TwoSteps(96.0f, 0x1p-52f).rows_redone, 20);
  EXPECT_EQ(TwoSteps(96.0f, 0x1p-58f).rows_redone, 20);
  EXPECT_EQ(TwoSteps(72.0f, 0x1p-28f).rows_online, 20);
  EXPECT_EQ(TwoSteps(72.0f, 0x1p48f).rows_online, 20);
}

// x with eleven significant bits, to nearest even.
float ElevenBits(float x) {
  int exponent = 0;
  const float fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
}

// A scaled weight that is subnormal keeps as many bits as any other (N10). Two
// values overflow and cancel in the second computation (N9), which leaves it.
TEST(KeyScales, SubnormalWeightsOfF16HaveElevenBits) {
  Instance instance = OneHead(3);
  AttentionForwardProblem& p = instance.problem;
  p.q_len = p.head_dim = p.value_dim = 1;
  p.scale = kLn2;  // scores are in bits
  p.kv_lane = Lane::kE5m2;
  p.p_lane = Lane::kF16;
  p.v_scales = {ScaleLayout::kToken, 0};
  instance.q = {1.0f};
  instance.k = {0.0f, 0.0f, -40.0f};
  instance.v = {57344.0f, -57344.0f, 1.0f};
  instance.v_scale = {0x1p60f, 0x1p60f, 0x1.b35p-60f};
  const float weight = 0x1.b35p-132f;
  ASSERT_NE(weight, ElevenBits(weight));
  const std::vector<uint32_t> found = instance.RunReference();
  EXPECT_EQ(std::bit_cast<float>(found[0]), ElevenBits(weight) * 0x1p31f);
  for (const std::string& target : test::RunnableTargets()) {
    Caps caps;
    caps.target = target;
    EXPECT_EQ(found, instance.RunOptimized(caps)) << target;
  }
}

// A softcap alone would leave such a row its small weights: 2^-79, which times
// 2^-60 have ten bits. The answer is the mean of the values, times the scale.
TEST(KeyScales, ASoftcapKeepsTheBitsOfSmallScales) {
  Instance instance = OneHead(16);
  AttentionForwardProblem& p = instance.problem;
  p.q_len = p.head_dim = p.value_dim = 1;
  p.scale = 1.0;
  p.softcap = 55.0;
  instance.q.assign(1, -30.0f);
  instance.k.assign(16, 30.0f);
  instance.v.assign(16, 1.0f);
  p.v_scales = {ScaleLayout::kToken, 0};
  instance.v_scale.assign(16, 0x1.b35a6p-60f);
  for (const Lane lane : {Lane::kF32, Lane::kBf16, Lane::kF16}) {
    p.p_lane = lane;
    const auto o = std::bit_cast<float>(instance.RunReference()[0]);
    const double off = lane == Lane::kF32 ? 0x1p-20 : 0x1p-8;
    EXPECT_NEAR(static_cast<double>(o) / 0x1.b35a6p-60, 1.0, off);
    EXPECT_EQ(instance.RunReference(), instance.RunOptimized());
  }
}

std::string Refusal(Instance& instance) {
  test::Outputs outputs(instance.problem);
  return reference::AttentionForward(instance.problem, instance.Inputs(),
                                     outputs.View())
      .message();
}

TEST(KeyScales, RefuseWhatHasNoMeaning) {
  Instance instance = OneHead(40);
  AttentionForwardProblem& p = instance.problem;
  p.k_scales = {ScaleLayout::kBlock, 16};
  instance.k_scale = {1.0f, 1.0f, 0.0f};
  EXPECT_EQ(Refusal(instance),
            "k_scale[0,0,2] is 0; want a number of 2^-60..2^60");
  instance.k_scale[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Refusal(instance),
            "k_scale[0,0,2] is nan; want a number of 2^-60..2^60");
  instance.valid_kv = {32};  // the last block has no key
  EXPECT_EQ(Refusal(instance), "");
  p.k_scales.block = 0;
  EXPECT_EQ(Validate(p).message(),
            "kscale has blocks of 0 keys; want 1..65536");
  p.k_scales = {ScaleLayout::kTensor, 0};
  instance.k_scale = {0x1p60f};
  p.scale = 0x1p100;
  EXPECT_EQ(Refusal(instance),
            "k_scale 1.15292e+18 of kv head 0 with scale=1.26765e+30 leaves "
            "f32's range; want a smaller one");
  p.scale = 1;
  p.kv_lane.reset();
  EXPECT_EQ(Refusal(instance),
            "kscale without kvlane; want kvlane=e4m3 or e5m2 beside it");
  p.kv_lane = Lane::kBf16;
  EXPECT_EQ(Refusal(instance),
            "kvlane=bf16 is not a lane of fp8; want e4m3, e5m2 or none");
  p.kv_lane = Lane::kE4m3;
  p.q_scales = {ScaleLayout::kToken, 0};
  EXPECT_EQ(Refusal(instance),
            "qscale without qlane; want qlane=e4m3 or e5m2 beside it");
  p.q_lane = Lane::kE5m2;
  instance.q_scale.assign(20, 1.0f);
  instance.q_scale[19] = -1.0f;
  EXPECT_EQ(Refusal(instance),
            "q_scale[0,0,19] is -1; want a number of 2^-60..2^60");
  instance.valid_q = {19};  // the last query does not exist
  EXPECT_EQ(Refusal(instance), "");
  p.q_scales = {ScaleLayout::kHead, 0};
  instance.q_scale = {0x1p60f};
  p.scale = 0x1p30;
  EXPECT_EQ(Refusal(instance),
            "k_scale 1.15292e+18 of kv head 0 and q_scale 1.15292e+18 of query "
            "head 0 with scale=1.07374e+09 leaves f32's range; want a smaller "
            "one");
  p.kv_lane.reset();
  p.k_scales = {};
  EXPECT_EQ(Refusal(instance),
            "qlane=e5m2 without kvlane; want kvlane=e4m3 or e5m2 beside it");
  p.kv_lane = Lane::kE4m3;
  p.q_lane = Lane::kF32;
  EXPECT_EQ(Refusal(instance),
            "qlane=f32 is not a lane of fp8; want e4m3, e5m2 or none");
  p.q_lane.reset();
  p.q_scales = {};
  p.order = ProductOrder::kAmx;
  EXPECT_EQ(Refusal(instance),
            "order=amx with kvlane=e4m3; the orders are of bf16 alone, want "
            "order=chain");
}

}  // namespace
}  // namespace lockstep::optimized
