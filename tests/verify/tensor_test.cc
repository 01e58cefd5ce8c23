// Owning buffers: guard zones, alignment, poison and what is left of it.
#include "verify/base/tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tests/support/attention_outputs.h"
#include "verify/base/elements.h"
#include "verify/base/magnitude.h"
#include "verify/case/attention_forward/case.h"

namespace lockstep::verify {
namespace {

TEST(GuardedBuffer, StandsWhereAskedBetweenGuards) {
  for (const int64_t shift : {0, 1, 2, 4, 63}) {
    for (const int64_t bytes : {0, 1, 63, 64, 1000}) {
      auto buffer = GuardedBuffer::Allocate(bytes, shift);
      ASSERT_TRUE(buffer.ok());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64,
                static_cast<uintptr_t>(shift));
      std::memset(buffer->data(), 0, static_cast<size_t>(bytes));
      EXPECT_TRUE(buffer->GuardsIntact());
      for (const int64_t at :
           {int64_t{-1}, -kGuardBytes, bytes, bytes + kGuardBytes - 1}) {
        const uint8_t before = buffer->data()[at];
        buffer->data()[at] = 0;
        EXPECT_FALSE(buffer->GuardsIntact()) << at;
        buffer->data()[at] = before;
      }
      EXPECT_TRUE(buffer->GuardsIntact());
    }
  }
}

TEST(GuardedBuffer, DigestSeesContentsAndGuards) {
  auto buffer = GuardedBuffer::Allocate(10, 0);
  ASSERT_TRUE(buffer.ok());
  const std::string digest = buffer->Digest();
  for (const int64_t at : {-1, 0, 9, 10}) {
    buffer->data()[at] ^= 1;
    EXPECT_NE(buffer->Digest(), digest) << at;
    buffer->data()[at] ^= 1;
  }
  EXPECT_EQ(buffer->Digest(), digest);
}

class LaneTensors : public testing::TestWithParam<Lane> {};

void Write(const LaneTensor& tensor, int64_t offset) {
  const auto bytes = static_cast<int64_t>(LaneBytes(tensor.view.lane));
  std::memset(tensor.buffer.data() + offset * bytes, 0,
              static_cast<size_t>(bytes));
}

TEST_P(LaneTensors, UnwrittenElementsAndTouchedPaddingAreSeen) {
  // Rows of 3 in steps of 5, so that two elements between rows are padding.
  auto tensor = AllocateLaneTensor(GetParam(), {1, 2, 2, 3}, {0, 10, 5, 1}, 1);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(CountPoison(tensor.value()), 12);
  EXPECT_TRUE(PaddingIntact(tensor.value()));
  for (const int64_t row : {0, 5, 10, 15}) {
    for (int64_t d = 0; d < 3; ++d) Write(tensor.value(), row + d);
  }
  EXPECT_EQ(CountPoison(tensor.value()), 0);
  EXPECT_TRUE(PaddingIntact(tensor.value()));
  Write(tensor.value(), 13);
  EXPECT_FALSE(PaddingIntact(tensor.value()));
  EXPECT_TRUE(tensor->buffer.GuardsIntact());
  Poison(tensor.value());
  EXPECT_EQ(CountPoison(tensor.value()), 12);
  EXPECT_TRUE(PaddingIntact(tensor.value()));
}

TEST_P(LaneTensors, StartBehindTheBoundaryByElements) {
  const auto lane_bytes = static_cast<uintptr_t>(LaneBytes(GetParam()));
  for (const int64_t shift : {0, 1, 3, 7, 32, 33}) {
    auto tensor =
        AllocateLaneTensor(GetParam(), {1, 1, 1, 8}, {8, 8, 8, 1}, shift);
    ASSERT_TRUE(tensor.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->view.data) % 64,
              static_cast<uintptr_t>(shift) * lane_bytes % 64);
  }
}

TEST_P(LaneTensors, HaveAMagnitude) {
  for (const int64_t step : {1, 3}) {
    auto tensor = AllocateLaneTensor(GetParam(), {2, 1, 3, 5},
                                     {15 * step, 15 * step, 5 * step, step}, 0);
    ASSERT_TRUE(tensor.ok());
    const auto set = [&](int64_t b, int64_t i, int64_t c, float x) {
      const auto bits = std::bit_cast<uint32_t>(x);
      SetElement(tensor->view, {b, 0, i, c},
                 GetParam() == Lane::kF32 ? bits : bits >> 16);
    };
    for (int64_t n = 0; n < 30; ++n) set(n / 15, n / 5 % 3, n % 5, -0.5f);
    set(1, 2, 4, -8);
    EXPECT_EQ(MagnitudeOf(tensor->const_view()).largest, 8);
    EXPECT_TRUE(MagnitudeOf(tensor->const_view()).finite);
    for (const float x : {HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
      set(0, 1, 3, x);
      EXPECT_EQ(MagnitudeOf(tensor->const_view()).largest, 8);
      EXPECT_FALSE(MagnitudeOf(tensor->const_view()).finite);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, LaneTensors,
                         testing::Values(Lane::kF32, Lane::kBf16));

TEST(Outputs, CountWhatNobodyWrote) {
  AttentionForwardCase c;
  c.q_heads = 2;
  c.q_len = 3;
  c.value_dim = 4;
  c.lane = Lane::kBf16;
  c.layout = Layout::kBshd;
  auto outputs = AllocateOutputs(c, 1);
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(outputs->Unwritten(), 2 * 3 * 4 + 2 * 3);
  const AttentionForwardOutputs view = outputs->view();
  view.o.As<Bf16>()(0, 1, 2, 3) = Bf16{kCanonicalNaNBf16Bits};
  view.lse(0, 1, 2) = 0;
  EXPECT_EQ(outputs->Unwritten(), 2 * 3 * 4 + 2 * 3 - 2);
  EXPECT_TRUE(outputs->GuardsIntact());
  *(&view.lse(0, 1, 2) + 1) = 0;
  EXPECT_FALSE(outputs->GuardsIntact());
}

}  // namespace
}  // namespace lockstep::verify
