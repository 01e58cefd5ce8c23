// The fills of scores: caps, drift and low.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "verify/inputs/attention_forward.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

AttentionForwardData MakeCorner(const std::string& rest) {
  const auto c = ParseCase("attention_forward " + rest);
  EXPECT_TRUE(c.ok()) << (c.ok() ? "" : c.message());
  auto data = Materialise(c.value(), {});
  EXPECT_TRUE(data.ok()) << rest << "\n" << (data.ok() ? "" : data.message());
  return data.ok() ? std::move(data.value()) : AttentionForwardData{};
}

std::string CornerRefusal(const std::string& rest) {
  const auto c = ParseCase("attention_forward " + rest);
  EXPECT_TRUE(c.ok()) << (c.ok() ? "" : c.message());
  const auto data = Materialise(c.value(), {});
  return data.ok() ? "" : data.message();
}

// Scaled scores of row i of head h.
std::vector<double> ScoresOfRow(const AttentionForwardData& data, int64_t h,
                                int64_t i) {
  std::vector<double> scores;
  const auto q = data.inputs.q.As<float>();
  const auto k = data.inputs.k.As<float>();
  for (int64_t j = 0; j < k.shape[2]; ++j) {
    double sum = 0;
    for (int64_t d = 0; d < q.shape[3]; ++d) {
      sum += static_cast<double>(q(0, h, i, d)) *
             static_cast<double>(k(0, 0, j, d));
    }
    scores.push_back(sum * data.problem.scale);
  }
  return scores;
}

double DeviationOf(const std::vector<double>& x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return std::sqrt(squares / static_cast<double>(x.size()));
}

// huge, tiny and subnormal are the lane's own.
TEST(InputsCorners, NumbersAtTheEndsOfF16) {
  const auto all = [](const char* fill, const auto& right) {
    const auto data = MakeCorner(
        std::string("sq=9 skv=64 d=16 lane=f16 seed=5 fill=") + fill);
    int64_t met = 0;
    for (int64_t j = 0; j < 64; ++j) {
      for (int64_t c = 0; c < 16; ++c) {
        const double x = static_cast<double>(data.inputs.v.Float(0, 0, j, c));
        met += right(std::fabs(x)) ? 1 : 0;
      }
    }
    return met == 64 * 16;
  };
  EXPECT_TRUE(all("normal:1+v.huge:1",
                  [](double x) { return x >= 32768 && x <= 65504; }));
  EXPECT_TRUE(all("normal:1+v.tiny:1",
                  [](double x) { return x >= 0x1p-14 && x < 0x1p-10; }));
  EXPECT_TRUE(all("normal:1+v.subnormal:1",
                  [](double x) { return x >= 0x1p-24 && x < 0x1p-14; }));
  EXPECT_TRUE(all("normal:1+v.burst:1,100", [](double x) {
    return x == 0 || x == 65504;  // no infinity
  }));
}

TEST(InputsCorners, CapsGoesThroughItsLevelsRowByRow) {
  const auto data = MakeCorner(
      "hq=2 hkv=1 sq=9 skv=400 d=64 cap=30 scale=0.3 seed=3 "
      "fill=normal:1+caps:0.1,20");
  // 0.1, 0.2, ... 12.8, 20: nine levels, and the next head is one ahead.
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t i = 0; i < 9; ++i) {
      const int64_t level = (h + i) % 9;
      const double caps =
          level == 8 ? 20 : 0.1 * std::ldexp(1, static_cast<int>(level));
      EXPECT_NEAR(DeviationOf(ScoresOfRow(data, h, i)) / (30 * caps), 1, 0.45)
          << h << " " << i;
    }
  }
}

TEST(InputsCorners, DriftMovesTheScoresUpAndDown) {
  const auto data = MakeCorner(
      "sq=3 skv=40 d=8 scale=-0.25 seed=3 fill=normal:0.001+drift:20,10");
  for (int64_t i = 0; i < 3; ++i) {
    const auto scores = ScoresOfRow(data, 0, i);
    for (size_t j = 0; j < scores.size(); ++j) {
      const size_t at = j % 20;
      const double steps = static_cast<double>(std::min(at, 20 - at));
      EXPECT_NEAR(scores[j], 20 * steps / 10, 0.01) << j;
    }
  }
}

TEST(InputsCorners, LowMovesEveryNthRowFarDown) {
  const auto data =
      MakeCorner("hq=2 hkv=1 sq=8 skv=20 d=8 seed=3 fill=normal:1+low:1e5,4");
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t i = 0; i < 8; ++i) {
      for (const double score : ScoresOfRow(data, h, i)) {
        EXPECT_NEAR(score, (h + i) % 4 == 0 ? -1e5 : 0, 8) << h << " " << i;
      }
    }
  }
  // v is what it is without them.
  const auto plain = MakeCorner("hq=2 hkv=1 sq=8 skv=20 d=8 seed=3");
  const auto v = data.inputs.v.As<float>(), own = plain.inputs.v.As<float>();
  for (int64_t j = 0; j < 20; ++j) EXPECT_EQ(v(0, 0, j, 3), own(0, 0, j, 3));
}

TEST(InputsCorners, FillsOfScoresAreRefusedWhereTheyMeanNothing) {
  EXPECT_NE(CornerRefusal("sq=2 skv=2 d=4 fill=normal:1+caps:0.1,20")
                .find("counts in caps; the case has no cap="),
            std::string::npos);
  for (const char* bad : {"caps:0,20", "caps:2,1", "drift:1,0", "drift:1,2.5",
                          "low:-1,4", "low:1e5,0"}) {
    EXPECT_NE(CornerRefusal(std::string("sq=2 skv=2 d=4 cap=2 fill=") + bad),
              "")
        << bad;
  }
  for (const char* bad : {"q.caps:1,2", "k.drift:1,2", "v.low:1,2"}) {
    const auto c = ParseCase(std::string("attention_forward sq=2 skv=2 d=4 "
                                         "cap=2 fill=") +
                             bad);
    ASSERT_FALSE(c.ok()) << bad;
    EXPECT_NE(c.message().find("without tensors"), std::string::npos);
  }
  const auto scan = ParseCase("mamba3_scan t=4 n=4 p=4 fill=low:1,2");
  ASSERT_TRUE(scan.ok());
  EXPECT_FALSE(ValidateCase(scan.value()).ok());
}

}  // namespace
}  // namespace lockstep::verify
