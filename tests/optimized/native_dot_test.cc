// N5: the guard of the bf16 dot instruction against an emulation of it that
// flushes; the start-up self-test against instructions that do something else.
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/highway.h"
#include "optimized/attention_forward.h"
#include "optimized/attention_work.h"
#include "optimized/plan.h"
#include "optimized/simd/packed_dot-inl.h"
#include "tests/support/attention_problem.h"
#include "tests/support/runnable_targets.h"

namespace lockstep::optimized {
namespace {

using test::Instance;

LOCKSTEP_NAME_NATIVE_DOT_NOT_RUN();

float Widen(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

float Flush(float x) {
  return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}

// One lane of the instruction: upper halves first, everything subnormal 0.
float FlushingDot(float sum, uint16_t a0, uint16_t b0, uint16_t a1,
                  uint16_t b1) {
  sum = Flush(std::fma(Flush(Widen(a0)), Flush(Widen(b0)), Flush(sum)));
  return Flush(std::fma(Flush(Widen(a1)), Flush(Widen(b1)), sum));
}

// n products in N3's order, and by the emulated instruction.
bool DotsAgree(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b) {
  float chain = 0, flushed = 0;
  for (size_t i = 0; i < a.size(); i += 2) {
    chain = std::fma(Widen(a[i]), Widen(b[i]), chain);
    chain = std::fma(Widen(a[i + 1]), Widen(b[i + 1]), chain);
    flushed = FlushingDot(flushed, a[i], b[i], a[i + 1], b[i + 1]);
  }
  return std::bit_cast<uint32_t>(chain) == std::bit_cast<uint32_t>(flushed);
}

// Elements of exponents around `exponent`, some zero; neighbours nearly cancel.
std::vector<uint16_t> Elements(int exponent, std::mt19937& rng) {
  std::vector<uint16_t> x(16);
  for (uint16_t& element : x) {
    const uint32_t draw = rng();
    const auto field = static_cast<uint32_t>(exponent + 127) + draw % 2;
    element = draw % 7 == 0
                  ? 0
                  : static_cast<uint16_t>(draw >> 31 << 15 | field << 7 |
                                          (draw >> 8 & 0x7f));
  }
  return x;
}

Magnitudes Seen(const std::vector<uint16_t>& x) {
  Magnitudes seen;
  for (const uint16_t element : x) seen.Add(element);
  return seen;
}

TEST(NativeDot, TheGuardLetsThroughOnlyWhatAgrees) {
  std::mt19937 rng(5);
  int64_t through = 0, stopped = 0, differ = 0;
  for (int n = 0; n < 200000; ++n) {
    const int ea = -90 + static_cast<int>(rng() % 70);
    const int eb = -118 - ea + static_cast<int>(rng() % 8);
    const auto a = Elements(ea, rng);
    const auto b = Elements(eb, rng);
    const bool agree = DotsAgree(a, b);
    if (NativeDotIsExact(Seen(a), Seen(b))) {
      ++through;
      ASSERT_TRUE(agree) << "exponents " << ea << " and " << eb;
    } else {
      ++stopped;
      differ += agree ? 0 : 1;
    }
  }
  // The guard is no wider than it must be: next to its border things differ.
  EXPECT_GT(through, 10000);
  EXPECT_GT(stopped, 10000);
  EXPECT_GT(differ, 10);
}

// Weights of the fixed-m path: rounded g * 2^n, g >= sqrt(1/2), |n| <= bound.
TEST(NativeDot, TheFixedGuardLetsThroughOnlyWhatAgrees) {
  std::mt19937 rng(6);
  int64_t through = 0, differ = 0;
  for (int n = 0; n < 100000; ++n) {
    const int bound = static_cast<int>(rng() % 81);
    const auto v = Elements(bound - 115 + static_cast<int>(rng() % 6), rng);
    auto p = Elements(-bound, rng);
    for (uint16_t& weight : p) {
      weight &= 0x7fff;
      if (rng() % 2 == 0 && weight != 0)
        weight = static_cast<uint16_t>(
            (static_cast<uint32_t>(-bound + 126) << 7) | 0x35u | (rng() % 75));
    }
    const bool agree = DotsAgree(p, v);
    if (NativeFixedIsExact(Seen(v), bound)) {
      ++through;
      ASSERT_TRUE(agree) << "bound " << bound;
    } else {
      differ += agree ? 0 : 1;
    }
  }
  EXPECT_GT(through, 10000);
  EXPECT_GT(differ, 10);
}

TEST(NativeDot, SubnormalElementsAreStopped) {
  Magnitudes one, tiny, zero;
  one.Add(0x3f80);
  tiny.Add(0x0001);
  zero.Add(0x8000);
  EXPECT_TRUE(NativeDotIsExact(one, one));
  EXPECT_FALSE(NativeDotIsExact(one, tiny));
  EXPECT_FALSE(NativeDotIsExact(tiny, zero));
  EXPECT_TRUE(NativeDotIsExact(one, zero));
  EXPECT_TRUE(NativeDotIsExact(zero, zero));
}

// The self-test, on whatever vectors the tests are compiled for.
namespace simd = HWY_NAMESPACE;
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using Pairs = hn::Vec<hn::RebindToUnsigned<D>>;

TEST(NativeDot, TheSelfTestKnowsTheInstruction) {
  const D df;
  const hn::RebindToUnsigned<D> du;
  const auto flush = [&](V x) {
    return hn::IfThenZeroElse(hn::Lt(hn::Abs(x), hn::Set(df, 0x1p-126f)), x);
  };
  EXPECT_TRUE(simd::DotAgrees(df, [&](V acc, Pairs a, Pairs b) {
    return simd::UnpackedDot(df, acc, a, b);
  }));
  const auto swap = [&](Pairs x) {
    return hn::Or(hn::ShiftLeft<16>(x), hn::ShiftRight<16>(x));
  };
  EXPECT_FALSE(simd::DotAgrees(df, [&](V acc, Pairs a, Pairs b) {
    return simd::UnpackedDot(df, acc, swap(a), swap(b));
  })) << "lower halves first";
  EXPECT_FALSE(simd::DotAgrees(df, [&](V acc, Pairs a, Pairs b) {
    return hn::Add(acc, simd::UnpackedDot(df, hn::Zero(df), a, b));
  })) << "the pair summed before the accumulator";
  EXPECT_FALSE(simd::DotAgrees(df, [&](V acc, Pairs a, Pairs b) {
    const auto odd = hn::Set(du, 0xffff0000u);
    return simd::UnpackedDot(df, acc, hn::And(a, odd), hn::And(b, odd));
  })) << "half of it";
  EXPECT_FALSE(simd::DotAgrees(df, [&](V acc, Pairs a, Pairs b) {
    const auto sum = simd::UnpackedDot(df, acc, a, b);
    return hn::IfThenElse(hn::IsNaN(sum), hn::Zero(df), flush(sum));
  })) << "NaN lost";
  EXPECT_FALSE(simd::DotAgrees(df, [&](V acc, Pairs a, Pairs b) {
    const auto sum = simd::UnpackedDot(df, acc, a, b);
    return hn::IfThenZeroElse(hn::Lt(hn::Abs(sum), hn::Set(df, 0x1p-125f)),
                              sum);
  })) << "the smallest normal numbers flushed";
}

// Tiles whose scores came by the instruction's route.
AttentionForwardExecution RunPairs(Instance& instance) {
  AttentionForwardExecution execution;
  Caps caps;
  caps.tile_keys = 32;
  caps.native_dot = true;
  EXPECT_EQ(instance.RunReference(), instance.RunOptimized(caps, &execution));
  return execution;
}

Instance Bf16Square(int64_t channels, Lane p_lane) {
  Instance instance;
  AttentionForwardProblem& p = instance.problem;
  p.lane = Lane::kBf16;
  p.p_lane = p_lane;
  p.q_len = p.kv_len = 100;
  p.head_dim = p.value_dim = channels;
  p.masks[0].kind = MaskExpr::Kind::kCausal;
  std::mt19937 rng(3);
  instance.Fill(rng);
  return instance;
}

TEST(NativeDot, OrdinaryTilesTakeTheRoute) {
  for (const Lane p_lane : {Lane::kF32, Lane::kBf16}) {
    for (const int64_t channels : {1, 16, 17, 40}) {
      Instance instance = Bf16Square(channels, p_lane);
      const AttentionForwardExecution ran = RunPairs(instance);
      EXPECT_EQ(ran.tiles_native_dot, ran.tiles_full + ran.tiles_partial);
      EXPECT_EQ(ran.rows_redone, 0);
    }
  }
}

TEST(NativeDot, TinyProductsDoNot) {
  Instance instance = Bf16Square(16, Lane::kBf16);
  for (float& x : instance.q) x *= 0x1p-70f;
  for (float& x : instance.k) x *= 0x1p-70f;
  EXPECT_EQ(RunPairs(instance).tiles_native_dot, 0);
}

// With the instruction the last bit of a product must be a normal number, 2^23
// above what the f32 form needs: rows in between are done again.
TEST(NativeDot, SmallValuesSendRowsToTheOtherForm) {
  Instance instance = Bf16Square(16, Lane::kBf16);
  for (float& x : instance.v) x *= 0x1p-110f;
  for (float& x : instance.q) x *= 5.0f;
  AttentionForwardExecution f32;
  Caps caps;
  caps.tile_keys = 32;
  caps.native_dot = false;
  EXPECT_EQ(instance.RunReference(), instance.RunOptimized(caps, &f32));
  EXPECT_GT(RunPairs(instance).rows_redone, f32.rows_redone);
}

TEST(NativeDot, NeedsBf16Lanes) {
  Instance instance = Bf16Square(16, Lane::kBf16);
  instance.problem.lane = Lane::kF32;
  Caps caps;
  caps.native_dot = true;
  EXPECT_FALSE(MakePlan(instance.problem, caps)->native_dot);
}

}  // namespace
}  // namespace lockstep::optimized
