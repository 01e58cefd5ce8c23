// The comparator's own table of planted defects: each row is a way in which a
// produced tensor can be wrong that some public pass rule overlooks. Every row
// is planted at the first, a middle and the last element, in all lanes.
#include "verify/base/compare.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace lockstep::verify {
namespace {

constexpr std::array<int64_t, 4> kShape = {2, 3, 4, 5};
constexpr int64_t kElements = 2 * 3 * 4 * 5;

// Bits of a value in every lane.
struct Bits {
  uint32_t f32;
  uint32_t bf16;
  uint32_t f16;
  uint32_t of(Lane lane) const {
    return lane == Lane::kF32 ? f32 : lane == Lane::kF16 ? f16 : bf16;
  }
};
constexpr Bits kPlusZero = {0x00000000, 0x0000, 0x0000};
constexpr Bits kMinusZero = {0x80000000, 0x8000, 0x8000};
constexpr Bits kOne = {0x3f800000, 0x3f80, 0x3c00};
constexpr Bits kOneUp = {0x3f800001, 0x3f81, 0x3c01};
constexpr Bits kMinusOne = {0xbf800000, 0xbf80, 0xbc00};
constexpr Bits kMinusHundred = {0xc2c80000, 0xc2c8, 0xd640};
constexpr Bits kMinusFive = {0xc0a00000, 0xc0a0, 0xc500};
constexpr Bits kMax = {0x7f7fffff, 0x7f7f, 0x7bff};
constexpr Bits kInf = {0x7f800000, 0x7f80, 0x7c00};
constexpr Bits kMinusInf = {0xff800000, 0xff80, 0xfc00};
constexpr Bits kNaN = {0x7fc00000, 0x7fc0, 0x7e00};
constexpr Bits kNegativeNaN = {0xffc00000, 0xffc0, 0xfe00};
constexpr Bits kSignallingNaN = {0x7f800001, 0x7f81, 0x7c01};
constexpr Bits kTiny = {0x00000001, 0x0001, 0x0001};
constexpr Bits kMinusTiny = {0x80000001, 0x8001, 0x8001};
constexpr Bits kPoison = {0x7fa5a5a5, 0x7fa5, 0x7fa5};

// A tensor of one lane, every element `fill` at first.
class Tensor {
 public:
  Tensor(Lane lane, Bits fill)
      : lane_(lane), bytes_(kElements * LaneBytes(lane)) {
    for (int64_t n = 0; n < kElements; ++n) Set(n, fill);
  }
  void Set(int64_t n, Bits value) {
    const uint32_t bits = value.of(lane_);
    std::memcpy(bytes_.data() + n * LaneBytes(lane_), &bits, LaneBytes(lane_));
  }
  LaneView view() const {
    return {bytes_.data(), lane_, kShape, DenseStrides(kShape)};
  }

 private:
  Lane lane_;
  std::vector<unsigned char> bytes_;
};

struct Defect {
  const char *name;
  Bits expected;
  Bits produced;
  PairClass pair;
};

const Defect kDefects[] = {
    {"one to NaN", kOne, kNaN, PairClass::kNaNProduced},
    {"NaN to one", kNaN, kOne, PairClass::kNaNExpected},
    {"zero to NaN", kPlusZero, kNaN, PairClass::kNaNProduced},
    {"NaN to zero", kNaN, kPlusZero, PairClass::kNaNExpected},
    {"inf to NaN", kInf, kNaN, PairClass::kNaNProduced},
    {"NaN to inf", kNaN, kInf, PairClass::kNaNExpected},
    {"NaN to -inf", kNaN, kMinusInf, PairClass::kNaNExpected},
    {"one to signalling NaN", kOne, kSignallingNaN, PairClass::kNaNProduced},
    {"one to negative NaN", kOne, kNegativeNaN, PairClass::kNaNProduced},
    {"inf to -inf", kInf, kMinusInf, PairClass::kInfSign},
    {"-inf to inf", kMinusInf, kInf, PairClass::kInfSign},
    {"inf to largest", kInf, kMax, PairClass::kInfExpected},
    {"largest to inf", kMax, kInf, PairClass::kInfProduced},
    {"-inf to zero", kMinusInf, kPlusZero, PairClass::kInfExpected},
    {"zero to -inf", kPlusZero, kMinusInf, PairClass::kInfProduced},
    {"-1 to -100", kMinusOne, kMinusHundred, PairClass::kFinite},
    {"0 to -5", kPlusZero, kMinusFive, PairClass::kFinite},
    {"1 to -1", kOne, kMinusOne, PairClass::kFinite},
    {"one ulp up", kOne, kOneUp, PairClass::kFinite},
    {"one ulp down", kOneUp, kOne, PairClass::kFinite},
    {"+0 to -0", kPlusZero, kMinusZero, PairClass::kZeroSign},
    {"-0 to +0", kMinusZero, kPlusZero, PairClass::kZeroSign},
    {"subnormal flushed", kTiny, kPlusZero, PairClass::kFinite},
    {"zero to subnormal", kPlusZero, kTiny, PairClass::kFinite},
    {"subnormal sign", kTiny, kMinusTiny, PairClass::kFinite},
    {"left poisoned", kOne, kPoison, PairClass::kNaNProduced},
};

std::string Describe(const Defect &defect, Lane lane, int64_t at) {
  return std::string(defect.name) + ", lane " + LaneName(lane) + ", element " +
         std::to_string(at);
}

TEST(Compare, EveryPlantedDefectFailsAndIsNamed) {
  for (const Lane lane : {Lane::kF32, Lane::kBf16, Lane::kF16}) {
    for (const Defect &defect : kDefects) {
      for (const int64_t at : {int64_t{0}, int64_t{61}, kElements - 1}) {
        SCOPED_TRACE(Describe(defect, lane, at));
        Tensor expected(lane, defect.expected);
        Tensor produced(lane, defect.expected);
        produced.Set(at, defect.produced);
        const Comparison found =
            CompareTensors("o", expected.view(), produced.view());
        EXPECT_FALSE(found.Passed());
        EXPECT_EQ(found.count(defect.pair), 1);
        EXPECT_EQ(found.count(PairClass::kEqual), kElements - 1);
        EXPECT_EQ(found.Compared(), kElements);
        EXPECT_EQ(found.Over(), 1);
        ASSERT_TRUE(found.first.has_value());
        const std::array<int64_t, 4> where = {at / 60, at / 20 % 3, at / 5 % 4,
                                              at % 5};
        EXPECT_EQ(found.first->index, where);
        EXPECT_EQ(found.first->expected, defect.expected.of(lane));
        EXPECT_EQ(found.first->produced, defect.produced.of(lane));
        EXPECT_EQ(found.worst->index, where);
      }
    }
  }
}

TEST(Compare, EqualTensorsPassWhateverTheyHold) {
  for (const Lane lane : {Lane::kF32, Lane::kBf16, Lane::kF16}) {
    for (const Bits value : {kPlusZero, kMinusZero, kOne, kTiny, kMax, kInf,
                             kMinusInf, kNaN, kNegativeNaN}) {
      const Tensor expected(lane, value);
      const Tensor produced(lane, value);
      const Comparison found =
          CompareTensors("o", expected.view(), produced.view());
      EXPECT_TRUE(found.Passed());
      EXPECT_EQ(found.count(PairClass::kEqual), kElements);
      EXPECT_FALSE(found.first.has_value());
      EXPECT_EQ(found.max_ulp, 0u);
    }
  }
}

TEST(Compare, NaNsAreOneValueButCounted) {
  for (const Lane lane : {Lane::kF32, Lane::kBf16, Lane::kF16}) {
    const Tensor expected(lane, kNaN);
    Tensor produced(lane, kNegativeNaN);
    produced.Set(3, kSignallingNaN);
    const Comparison found =
        CompareTensors("o", expected.view(), produced.view());
    EXPECT_TRUE(found.Passed());
    EXPECT_EQ(found.count(PairClass::kSameNaN), kElements);
    EXPECT_FALSE(found.first.has_value());
  }
}

// Classes of every pair of a set of interesting patterns: total, and
// symmetric where the class has no direction.
TEST(Compare, ClassificationIsTotal) {
  const Bits all[] = {kPlusZero,     kMinusZero,   kOne,  kOneUp,
                      kMinusOne,     kMax,         kInf,  kMinusInf,
                      kNaN,          kNegativeNaN, kTiny, kMinusTiny,
                      kSignallingNaN};
  for (const Lane lane : {Lane::kF32, Lane::kBf16, Lane::kF16}) {
    for (const Bits a : all) {
      for (const Bits b : all) {
        const PairClass forward = Classify(lane, a.of(lane), b.of(lane));
        const PairClass backward = Classify(lane, b.of(lane), a.of(lane));
        EXPECT_EQ(forward == PairClass::kEqual, a.of(lane) == b.of(lane));
        if (forward == PairClass::kNaNExpected) {
          EXPECT_EQ(backward, PairClass::kNaNProduced);
        } else if (forward == PairClass::kInfExpected) {
          EXPECT_EQ(backward, PairClass::kInfProduced);
        } else if (forward != PairClass::kNaNProduced &&
                   forward != PairClass::kInfProduced) {
          EXPECT_EQ(backward, forward);
        }
        EXPECT_STRNE(PairClassName(forward), "unknown");
      }
    }
  }
}

TEST(Compare, UlpDistanceWalksThroughZero) {
  EXPECT_EQ(UlpDistance(Lane::kF32, kOne.f32, kOneUp.f32), 1u);
  EXPECT_EQ(UlpDistance(Lane::kBf16, kOne.bf16, kOneUp.bf16), 1u);
  EXPECT_EQ(UlpDistance(Lane::kF32, kTiny.f32, kMinusTiny.f32), 2u);
  EXPECT_EQ(UlpDistance(Lane::kF32, kPlusZero.f32, kMinusZero.f32), 0u);
  EXPECT_EQ(UlpDistance(Lane::kF32, kOne.f32, kMinusOne.f32), 0x7f000000u);
  EXPECT_EQ(UlpDistance(Lane::kF32, kMax.f32, 0xff7fffffu), 0xfefffffeu);
}

TEST(Compare, WorstIsTheGravestNotTheFirst) {
  const Tensor expected(Lane::kF32, kOne);
  Tensor produced(Lane::kF32, kOne);
  produced.Set(7, kOneUp);
  produced.Set(20, kMinusHundred);
  produced.Set(90, kNaN);
  const Comparison found =
      CompareTensors("o", expected.view(), produced.view());
  EXPECT_EQ(found.Over(), 3);
  EXPECT_EQ(found.first->produced, kOneUp.f32);
  EXPECT_EQ(found.worst->produced, kNaN.f32);
  EXPECT_EQ(found.worst->pair, PairClass::kNaNProduced);
  EXPECT_EQ(found.max_ulp,
            UlpDistance(Lane::kF32, kOne.f32, kMinusHundred.f32));
  EXPECT_EQ(found.max_abs, 101.0);
}

TEST(Compare, ShapesAndLanesMustAgree) {
  const Tensor f32(Lane::kF32, kPlusZero);
  const Tensor bf16(Lane::kBf16, kPlusZero);
  const Comparison lanes = CompareTensors("o", f32.view(), bf16.view());
  EXPECT_FALSE(lanes.Passed());
  EXPECT_NE(lanes.mismatch.find("bf16"), std::string::npos);

  // The same number of elements, another shape; and one row less.
  for (const std::array<int64_t, 4> shape :
       {std::array<int64_t, 4>{2, 3, 5, 4}, std::array<int64_t, 4>{2, 3, 3, 5},
        std::array<int64_t, 4>{1, 3, 4, 5}}) {
    LaneView other = f32.view();
    other.shape = shape;
    EXPECT_FALSE(CompareTensors("o", f32.view(), other).Passed());
    EXPECT_FALSE(CompareTensors("o", other, f32.view()).Passed());
  }
}

TEST(Compare, NothingComparedIsNotAPass) {
  LaneView nothing = Tensor(Lane::kF32, kOne).view();
  nothing.shape = {0, 3, 4, 5};
  EXPECT_FALSE(CompareTensors("o", nothing, nothing).Passed());
  EXPECT_FALSE(Comparison{}.Passed());
}

// A judge that stops early, or looks at the first tensor only, leaves pairs
// uncompared.
TEST(Compare, EveryExpectedPairMustBeSeen) {
  Comparer comparer("o", Lane::kF32, kShape, kElements);
  for (int64_t n = 0; n + 1 < kElements; ++n) {
    comparer.Add({n / 60, n / 20 % 3, n / 5 % 4, n % 5}, kOne.f32, kOne.f32);
  }
  EXPECT_FALSE(comparer.comparison().Passed());
  comparer.Add({1, 2, 3, 4}, kOne.f32, kOne.f32);
  EXPECT_TRUE(comparer.comparison().Passed());
  comparer.Add({1, 2, 3, 4}, kOne.f32, kOne.f32);
  EXPECT_FALSE(comparer.comparison().Passed());
}

// Enough right pairs do not excuse a wrong one, nor a mismatch.
TEST(Compare, PassingNeedsAllConditionsAtOnce) {
  Comparer comparer("o", Lane::kF32, {1, 1, 1, 1}, 1);
  comparer.Add({0, 0, 0, 0}, kOne.f32, kOne.f32);
  Comparison mismatched = comparer.comparison();
  EXPECT_TRUE(mismatched.Passed());
  mismatched.mismatch = "lanes differ";
  EXPECT_FALSE(mismatched.Passed());
  comparer.Add({0, 0, 0, 0}, kOne.f32, kNaN.f32);
  EXPECT_EQ(comparer.comparison().count(PairClass::kEqual), 1);
  EXPECT_FALSE(comparer.comparison().Passed());
}

// The old bits may be right by luck; an element never stored to still fails.
TEST(Compare, UnwrittenFailsEvenWithTheRightBits) {
  Comparer comparer("o", Lane::kF32, {1, 1, 1, 2}, 2);
  comparer.Add({0, 0, 0, 0}, kOne.f32, kOne.f32);
  comparer.Add({0, 0, 0, 1}, kOne.f32, kOne.f32, /*unwritten=*/true);
  const Comparison &found = comparer.comparison();
  EXPECT_FALSE(found.Passed());
  EXPECT_EQ(found.unwritten, 1);
  EXPECT_EQ(found.Over(), 0);
  ASSERT_TRUE(found.worst.has_value());
  EXPECT_TRUE(found.worst->unwritten);
}

// Layout is not content: the same logical tensor through other strides.
TEST(Compare, StridesAreFollowed) {
  const std::array<int64_t, 4> shape = {1, 2, 3, 2};
  std::vector<float> rows = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<float> seq_major(12);  // [b, s, h, c]
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t s = 0; s < 3; ++s) {
      for (int64_t c = 0; c < 2; ++c) {
        seq_major[(s * 2 + h) * 2 + c] = rows[(h * 3 + s) * 2 + c];
      }
    }
  }
  const LaneView expected = {rows.data(), Lane::kF32, shape,
                             DenseStrides(shape)};
  const LaneView produced = {
      seq_major.data(), Lane::kF32, shape, {12, 2, 4, 1}};
  EXPECT_TRUE(CompareTensors("o", expected, produced).Passed());
  seq_major[3] = -1;
  EXPECT_FALSE(CompareTensors("o", expected, produced).Passed());
  const LaneView wrong = {seq_major.data(), Lane::kF32, shape,
                          DenseStrides(shape)};
  EXPECT_FALSE(CompareTensors("o", expected, wrong).Passed());
}

TEST(Compare, ElementsPrintAsHexFloatAndBits) {
  EXPECT_EQ(FormatElement(Lane::kF32, kOneUp.f32),
            "+0x1.000002p+0 (0x3f800001)");
  EXPECT_EQ(FormatElement(Lane::kBf16, kMinusFive.bf16), "-0x1.4p+2 (0xc0a0)");
  EXPECT_EQ(FormatElement(Lane::kF16, kMinusFive.f16), "-0x1.4p+2 (0xc500)");
  EXPECT_EQ(FormatElement(Lane::kF16, kTiny.f16), "+0x1p-24 (0x0001)");
  EXPECT_EQ(FormatElement(Lane::kF32, kNegativeNaN.f32), "nan (0xffc00000)");
  EXPECT_EQ(FormatElement(Lane::kF32, kMinusInf.f32), "-inf (0xff800000)");
}

}  // namespace
}  // namespace lockstep::verify
