// Inputs: frozen bits, independence of layout, what each family gives.
#include "verify/inputs/attention_forward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "reference/mask.h"
#include "verify/base/digest.h"
#include "verify/base/io/safetensors.h"
#include "verify/inputs/fill.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

AttentionForwardData Make(const std::string& rest,
                          const MaterialiseOptions& options = {}) {
  const auto c = ParseCase("attention_forward " + rest);
  EXPECT_TRUE(c.ok()) << (c.ok() ? "" : c.message());
  auto data = Materialise(c.value(), options);
  EXPECT_TRUE(data.ok()) << rest << "\n" << (data.ok() ? "" : data.message());
  return data.ok() ? std::move(data.value()) : AttentionForwardData{};
}

std::string Refusal(const std::string& rest,
                    const MaterialiseOptions& options = {}) {
  const auto c = ParseCase("attention_forward " + rest);
  EXPECT_TRUE(c.ok()) << (c.ok() ? "" : c.message());
  const auto data = Materialise(c.value(), options);
  return data.ok() ? "" : data.message();
}

// Every element of a lane tensor as f32, row-major.
std::vector<float> Values(const LaneView& view) {
  std::vector<float> values;
  for (int64_t b = 0; b < view.shape[0]; ++b) {
    for (int64_t h = 0; h < view.shape[1]; ++h) {
      for (int64_t s = 0; s < view.shape[2]; ++s) {
        for (int64_t d = 0; d < view.shape[3]; ++d) {
          values.push_back(view.lane == Lane::kF32
                               ? view.As<float>()(b, h, s, d)
                               : ToFloat(view.As<Bf16>()(b, h, s, d)));
        }
      }
    }
  }
  return values;
}

struct Moments {
  double mean, deviation, largest;
};

Moments MomentsOf(const std::vector<float>& values) {
  double sum = 0, squares = 0, largest = 0;
  for (const float x : values) {
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
    largest = std::max(largest, std::fabs(static_cast<double>(x)));
  }
  const double n = static_cast<double>(values.size());
  return {sum / n, std::sqrt(squares / n), largest};
}

double Share(const std::vector<float>& values,
             const std::function<bool(float)>& predicate) {
  double hits = 0;
  for (const float x : values) hits += predicate(x) ? 1 : 0;
  return hits / static_cast<double>(values.size());
}

// gen=1 is frozen: a change of any of these needs gen=2.
TEST(Inputs, BitsOfGeneratorOneAreFrozen) {
  const struct {
    const char* line;
    const char* digest;
  } cases[] = {
      {"hq=2 sq=5 skv=7 d=8", "0dd86cf191c0d38c1b167ca57dbc9930"},
      {"hq=2 sq=5 skv=7 d=8 lane=bf16 cap=30 seed=18446744073709551615",
       "23371cde814910833081c061db3205c3"},
      {"sq=5 skv=7 d=8 fill=spread:20+k.ramp:3+v.int:-4,4 seed=1",
       "61ded340412d7448ffa21ab20da04b46"},
      {"sq=5 skv=7 d=8 fill=q.uniform:-1,3+k.const:0.1+v.signature seed=2",
       "f62a46352f40ddecfc1e9728ab608009"},
      {"sq=9 skv=9 d=8 "
       "fill=subnormal:0.2+tiny:0.2+huge:0.2+zero:0.2+special:0.2",
       "3f9d82b1fc5a7f722daf618347abe6cd"},
      {"sq=9 skv=9 d=8 lane=bf16 "
       "fill=subnormal:0.2+tiny:0.2+huge:0.2+zero:0.2+special:0.2",
       "53064ee29fd8345b1f07a5cc94a3232b"},
      {"b=2 hq=2 sq=9 skv=9 d=8 mask=causal&random:0.5|blocks:2x3:0.5 "
       "fill=poison:masked sinklogit=normal:3",
       "8b71ad199127d0d6a39599d06b4a3560"},
  };
  for (const auto& [line, digest] : cases) {
    EXPECT_EQ(Make(line).InputDigest(), digest) << line;
  }
}

TEST(Inputs, SeedGeneratorTensorAndElementAllMatter) {
  const std::string line = "hq=2 sq=3 skv=3 d=4 dv=4 ";
  const auto data = Make(line);
  EXPECT_NE(DigestTensor(data.inputs.q), DigestTensor(data.inputs.k));
  EXPECT_NE(DigestTensor(data.inputs.k), DigestTensor(data.inputs.v));
  for (const char* other : {"seed=1", "seed=4294967296"}) {
    EXPECT_NE(data.InputDigest(), Make(line + other).InputDigest());
  }
  EXPECT_NE(CounterGenerator(1, 0).Draw(0, 0),
            CounterGenerator(2, 0).Draw(0, 0));
}

TEST(Inputs, LayoutStridesAndAlignmentChangeNoElement) {
  for (const std::string lane : {"f32", "bf16"}) {
    const std::string line =
        "b=2 hq=2 hkv=1 sq=3 skv=5 d=6 dv=7 fill=normal:1+special:0.1 "
        "mask=random:0.5 q_seg=runs:3 kv_seg=runs:5 sinklogit=normal:1 lane=" +
        lane;
    const std::string digest = Make(line).InputDigest();
    for (const char* other : {" layout=bshd", " layout=thd",
                              " strides=q:100/50/9/1,k:40/40/8/1,v:1/1/2/20"}) {
      EXPECT_EQ(Make(line + other).InputDigest(), digest) << other;
    }
    for (const int64_t shift : {1, 3, 15}) {
      MaterialiseOptions options;
      options.alignment_shift = shift;
      const auto data = Make(line, options);
      EXPECT_EQ(data.InputDigest(), digest);
      EXPECT_NE(reinterpret_cast<uintptr_t>(data.inputs.q.data) % 64, 0u);
    }
  }
}

TEST(Inputs, PaddingIsPoisonedAndGuardsStand) {
  const auto data =
      Make("hq=2 sq=3 skv=4 d=5 layout=bhsd strides=q:60/30/9/1,v:0/0/7/1");
  EXPECT_TRUE(PaddingIntact(data.q));
  EXPECT_EQ(CountPoison(data.q), 0);
  EXPECT_GT(data.q.buffer.bytes(), 4 * 2 * 3 * 5);
  for (const LaneTensor* tensor : {&data.q, &data.k, &data.v}) {
    EXPECT_TRUE(tensor->buffer.GuardsIntact());
  }
}

TEST(Inputs, StorageDigestSeesAChangedInputAndChangedPadding) {
  const auto data = Make("sq=3 skv=4 d=5 strides=k:0/0/8/1 mask=random:0.5");
  const std::string digest = data.StorageDigest();
  data.k.buffer.data()[5 * 4] ^= 1;  // padding after the first key
  EXPECT_NE(data.StorageDigest(), digest);
  data.k.buffer.data()[5 * 4] ^= 1;
  EXPECT_EQ(data.StorageDigest(), digest);
  data.dense_masks[0].data()[0] ^= 1;
  EXPECT_NE(data.StorageDigest(), digest);
}

TEST(Inputs, NormalHasTheStatedDistribution) {
  const auto data = Make("sq=200 skv=200 d=64 fill=normal:3 seed=5");
  for (const LaneView& view : {data.inputs.q, data.inputs.k, data.inputs.v}) {
    const Moments moments = MomentsOf(Values(view));
    // 12800 draws: five standard errors.
    EXPECT_NEAR(moments.mean, 0, 3 * 5 / std::sqrt(12800.0));
    EXPECT_NEAR(moments.deviation, 3, 3 * 5 / std::sqrt(2 * 12800.0));
    EXPECT_LE(moments.largest, 3 * 4.9);
    EXPECT_GE(moments.largest, 3 * 3.0);
  }
}

// Deviation of the scaled scores, before the cap.
double ScoreDeviation(const AttentionForwardData& data) {
  std::vector<float> scores;
  const auto q = data.inputs.q.As<float>();
  const auto k = data.inputs.k.As<float>();
  for (int64_t i = 0; i < q.shape[2]; ++i) {
    for (int64_t j = 0; j < k.shape[2]; ++j) {
      double sum = 0;
      for (int64_t d = 0; d < q.shape[3]; ++d) {
        sum += static_cast<double>(q(0, 0, i, d)) *
               static_cast<double>(k(0, 0, j, d));
      }
      scores.push_back(static_cast<float>(sum * data.problem.scale));
    }
  }
  return MomentsOf(scores).deviation;
}

TEST(Inputs, ScoresReachHalfTheCapAndTheSpreadAsked) {
  const std::string line = "sq=64 skv=64 d=64 seed=3 ";
  EXPECT_NEAR(ScoreDeviation(Make(line)), 1, 0.2);
  for (const double cap : {0.5, 2.0, 50.0, 1e4}) {
    const std::string key = "cap=" + std::to_string(cap);
    EXPECT_NEAR(ScoreDeviation(Make(line + key)) / cap, 0.5, 0.1) << cap;
    EXPECT_NEAR(ScoreDeviation(Make(line + key + " scale=3")) / cap, 0.5, 0.1);
  }
  EXPECT_NEAR(ScoreDeviation(Make(line + "fill=spread:200")), 200, 40);
  EXPECT_NEAR(ScoreDeviation(Make(line + "cap=30 fill=spread:7")), 7, 1.4);
  EXPECT_NEAR(ScoreDeviation(Make(line + "scale=0 fill=normal:1")), 0, 0);
}

TEST(Inputs, DistributionsStayInTheirRange) {
  const auto data = Make(
      "sq=9 skv=40 d=32 fill=q.const:0.1+k.uniform:-2,3+v.int:-3,3 seed=2");
  EXPECT_EQ(Share(Values(data.inputs.q), [](float x) { return x == 0.1f; }), 1);
  EXPECT_EQ(
      Share(Values(data.inputs.k), [](float x) { return -2 <= x && x < 3; }),
      1);
  EXPECT_NEAR(MomentsOf(Values(data.inputs.k)).mean, 0.5, 0.3);
  for (int value = -3; value <= 3; ++value) {
    EXPECT_NEAR(
        Share(Values(data.inputs.v),
              [value](float x) { return x == static_cast<float>(value); }),
        1.0 / 7, 0.06)
        << value;
  }
}

TEST(Inputs, KeysCanBeToldApart) {
  const auto data = Make("sq=2 skv=5 d=3 dv=2 fill=v.signature+k.onehot");
  EXPECT_EQ(Values(data.inputs.v),
            (std::vector<float>{1, 0, 0, 2, 3, 0, 0, 4, 5, 0}));
  EXPECT_EQ(Values(data.inputs.k),
            (std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0}));
}

bool IsSubnormal(float x) { return std::fpclassify(x) == FP_SUBNORMAL; }

TEST(Inputs, ModifiersHitAboutTheirShareWithTheirKind) {
  for (const std::string lane : {"f32", "bf16"}) {
    const std::string line =
        "sq=20 skv=40 d=64 seed=9 lane=" + lane + " fill=normal:1+v.";
    const struct {
      const char* modifier;
      std::function<bool(float)> hit;
    } modifiers[] = {
        {"subnormal:0.25", IsSubnormal},
        {"tiny:0.25",
         [](float x) {
           return std::fabs(x) >= 0x1p-126f && std::fabs(x) <= 0x1p-102f;
         }},
        {"huge:0.25",
         [](float x) { return std::isfinite(x) && std::fabs(x) >= 0x1p127f; }},
        {"zero:0.25", [](float x) { return x == 0; }},
        {"special:0.25", [](float x) { return !std::isfinite(x); }},
    };
    for (const auto& [modifier, hit] : modifiers) {
      const auto data = Make(line + modifier);
      EXPECT_NEAR(Share(Values(data.inputs.v), hit), 0.25, 0.05) << modifier;
      EXPECT_EQ(DigestTensor(data.inputs.k),
                DigestTensor(Make(line + "zero:0").inputs.k));
    }
    const auto special = Values(Make(line + "special:1").inputs.v);
    EXPECT_EQ(Share(special, [](float x) { return std::isfinite(x); }), 0);
    for (const float infinity : {INFINITY, -INFINITY}) {
      EXPECT_GT(Share(special, [=](float x) { return x == infinity; }), 0.2);
    }
    EXPECT_GT(Share(special, [](float x) { return std::isnan(x); }), 0.4);
    const auto zero = Values(Make(line + "zero:1").inputs.v);
    EXPECT_NEAR(Share(zero, [](float x) { return std::signbit(x); }), 0.5, 0.1);
  }
}

// Whole rows, and no other row; numbers that leave the range stay finite.
TEST(Inputs, BurstMovesWholeRowsToAnotherMagnitude) {
  const std::string line = "sq=2 skv=400 d=6 seed=9 lane=bf16 fill=normal:1";
  const auto plain = Values(Make(line).inputs.v);
  for (const int exponent : {-131, -20, 120, 256}) {
    const auto moved = Values(
        Make(line + "+v.burst:0.25," + std::to_string(exponent)).inputs.v);
    int rows = 0;
    for (size_t row = 0; row < 400; ++row) {
      const bool hit = moved[row * 6] != plain[row * 6];
      rows += hit ? 1 : 0;
      for (size_t at = row * 6; at < row * 6 + 6; ++at) {
        EXPECT_EQ(moved[at] != plain[at], hit);
        EXPECT_TRUE(std::isfinite(moved[at]));
        if (hit && exponent == -20) EXPECT_EQ(moved[at], plain[at] * 0x1p-20f);
      }
    }
    EXPECT_NEAR(rows, 100, 30) << exponent;
  }
}

TEST(Inputs, RampGrowsAlongThePositions) {
  const auto flat = Make("sq=2 skv=100 d=8");
  const auto ramp = Make("sq=2 skv=100 d=8 fill=normal:1+k.ramp:4");
  for (int64_t j = 0; j < 100; ++j) {
    const auto factor =
        static_cast<float>(std::fma(4.0, static_cast<double>(j) / 100.0, 1.0));
    EXPECT_EQ(ramp.inputs.k.As<float>()(0, 0, j, 3),
              flat.inputs.k.As<float>()(0, 0, j, 3) * factor);
  }
}

TEST(Inputs, PoisonLiesExactlyWhereNobodyLooks) {
  const std::string line =
      "b=2 hq=4 hkv=2 sq=9 skv=12 d=4 mask=causal&window:2,0 "
      "mask.h1=random:0.1 valid_q=9,5 valid_kv=12,4 align=-2 "
      "q_seg=runs:4,5 kv_seg=runs:6,6 ";
  const auto clean = Make(line);
  const auto data = Make(line + "fill=poison:masked");
  int poisoned = 0, kept = 0;
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t head = 0; head < 2; ++head) {
      for (int64_t j = 0; j < 12; ++j) {
        bool seen = false;
        for (int64_t h = 2 * head; h < 2 * head + 2; ++h) {
          for (int64_t i = 0; i < 9; ++i) {
            seen |= reference::IsVisible(data.problem, data.inputs, b, h, i, j);
          }
        }
        for (int64_t d = 0; d < 4; ++d) {
          const float k = data.inputs.k.As<float>()(b, head, j, d);
          const float v = data.inputs.v.As<float>()(b, head, j, d);
          EXPECT_EQ(std::isfinite(k), seen);
          EXPECT_EQ(std::isfinite(v), seen);
          if (!seen) continue;
          EXPECT_EQ(k, clean.inputs.k.As<float>()(b, head, j, d));
        }
        ++(seen ? kept : poisoned);
      }
    }
  }
  EXPECT_GT(poisoned, 10);
  EXPECT_GT(kept, 10);
  // Rows of q beyond the valid count see nothing.
  EXPECT_FALSE(std::isfinite(data.inputs.q.As<float>()(1, 0, 5, 0)));
  EXPECT_TRUE(std::isfinite(data.inputs.q.As<float>()(0, 0, 3, 0)));
}

TEST(Inputs, SegmentsCountsSinksAndDenseMasksFollowTheCase) {
  const auto data = Make(
      "b=2 hq=2 sq=5 skv=6 d=2 q_seg=[runs:2,3;ids:7*1,-1*4] kv_seg=runs:6 "
      "valid_kv=6,0 sinklogit=const:-inf mask=random:0|blocks:2x3:1 "
      "mask.h1=random:1");
  EXPECT_EQ(data.inputs.q_seg(0, 1), 0);
  EXPECT_EQ(data.inputs.q_seg(0, 2), 1);
  EXPECT_EQ(data.inputs.q_seg(1, 0), 7);
  EXPECT_EQ(data.inputs.q_seg(1, 4), -1);
  EXPECT_EQ(data.inputs.kv_seg(1, 5), 0);
  EXPECT_EQ(data.inputs.valid_q, (std::vector<int64_t>{5, 5}));
  EXPECT_EQ(data.inputs.valid_kv, (std::vector<int64_t>{6, 0}));
  EXPECT_EQ(data.inputs.sink(1), -INFINITY);
  ASSERT_EQ(data.inputs.dense_masks.size(), 3u);
  EXPECT_EQ(data.inputs.dense_masks[0](1, 1, 4, 5), 0);
  EXPECT_EQ(data.inputs.dense_masks[1](0, 0, 4, 5), 1);
  EXPECT_EQ(data.inputs.dense_masks[2](1, 1, 4, 5), 1);
  EXPECT_TRUE(Validate(data.problem).ok());
}

TEST(Inputs, BlocksAreWholeAndDensityIsKept) {
  const auto data = Make("sq=60 skv=60 d=1 mask=blocks:4x5:0.3|random:0.3");
  double blocks = 0, random = 0;
  for (int64_t i = 0; i < 60; ++i) {
    for (int64_t j = 0; j < 60; ++j) {
      const uint8_t bit = data.inputs.dense_masks[0](0, 0, i, j);
      EXPECT_EQ(bit, data.inputs.dense_masks[0](0, 0, i / 4 * 4, j / 5 * 5));
      blocks += bit;
      random += data.inputs.dense_masks[1](0, 0, i, j);
    }
  }
  EXPECT_NEAR(blocks / 3600, 0.3, 0.15);
  EXPECT_NEAR(random / 3600, 0.3, 0.05);
}

TEST(Inputs, ABudgetIsKeptBeforeAnythingIsAllocated) {
  MaterialiseOptions options;
  options.max_bytes = 1000;
  const std::string message = Refusal("sq=100 skv=100 d=64", options);
  EXPECT_NE(message.find("the budget is 1000"), std::string::npos) << message;
  // Far more than any machine has: refused at once, not killed.
  options.max_bytes = DefaultMemoryBudget();
  EXPECT_NE(Refusal("b=64 hq=64 sq=1048576 skv=1048576 d=128", options), "");
  EXPECT_GT(DefaultMemoryBudget(), int64_t{1} << 20);
}

}  // namespace
}  // namespace lockstep::verify
