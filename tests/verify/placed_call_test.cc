// Calls in the memory that judge and host share: where things lie, and what was
// written beside them.
#include "verify/candidate/wire/placed_call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace lockstep::verify {
namespace {

// One output of 3 x 4 floats whose rows lie 5 apart, in memory of its own.
class PlacedTest : public ::testing::Test {
 protected:
  PlacedTest() {
    call_.inputs.AddIntegers("ids", {3}, {7, 8, 9});
    call_.outputs = {{"o", ElementType::kF32, {3, 4}, {5, 1}, result_}};
    std::fill_n(result_, 15, -1.0f);
  }
  void SetUp() override {
    auto in = SharedMemory::Make(1 << 20, 1 << 20, SharedMemory::Others::kRead);
    auto out =
        SharedMemory::Make(1 << 20, 1 << 20, SharedMemory::Others::kWrite);
    ASSERT_TRUE(in.ok() && out.ok());
    in_ = std::move(in.value());
    out_ = std::move(out.value());
  }
  PlacedCall Place(const Placement& placement) {
    auto placed =
        PlacedCall::Place(call_, placement, {{"o", 0x7fa00000u}}, in_, out_);
    EXPECT_TRUE(placed.ok());
    return std::move(placed.value());
  }
  float* At(const PlacedCall& placed, int64_t element) {
    return reinterpret_cast<float*>(out_.data() + placed.outputs()[0].offset) +
           element;
  }

  float result_[15];
  KernelCall call_;
  SharedMemory in_, out_;
};

TEST_F(PlacedTest, WritingInsideIsFine) {
  for (const bool at_end : {false, true}) {
    const PlacedCall placed = Place({.at_end = at_end});
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t c = 0; c < 4; ++c) {
        *At(placed, r * 5 + c) = static_cast<float>(r * 4 + c);
      }
    }
    EXPECT_EQ(placed.Outside(), "");
    placed.CopyBack();
    EXPECT_EQ(result_[6], 5.0f);
    EXPECT_EQ(result_[4], -1.0f) << "what lies between rows is not copied";
  }
}

TEST_F(PlacedTest, WritingOutsideIsTold) {
  const std::pair<int64_t, const char*> kCases[] = {
      {-1, "4 bytes before o"},
      {14, "1 byte behind o"},
      {4, "between the rows of o"},
      {9, "between the rows of o"},
  };
  for (const bool at_end : {false, true}) {
    for (const auto& [element, words] : kCases) {
      const PlacedCall placed = Place({.at_end = at_end});
      *At(placed, element) = 1;
      EXPECT_EQ(placed.Outside(), words) << element;
    }
  }
}

// A kernel may open the pages that its host keeps from it: the first and the
// last byte of the page on either side of an output are looked at.
TEST_F(PlacedTest, PagesAroundOutputsAreLookedAt) {
  float second[4];
  call_.outputs.push_back({"p", ElementType::kF32, {4}, {1}, second});
  for (const bool at_end : {false, true}) {
    const Placement placement = {.shift = 7, .at_end = at_end};
    for (const size_t n : {0, 1}) {
      const PlacedCall placed = Place(placement);
      EXPECT_EQ(placed.Outside(), "");
      const PlacedTensor& output = placed.outputs()[n];
      const std::string name = call_.outputs[n].name;
      const int64_t end = output.first_page + output.page_bytes;
      const int64_t bytes = n == 0 ? 56 : 16;
      EXPECT_LE(placed.written().front().begin, output.first_page - 4096);
      EXPECT_GE(placed.written().back().end, end + 4096);
      uint8_t& before = out_.data()[output.first_page - 1];
      uint8_t& behind = out_.data()[end];
      const uint8_t zone = std::exchange(before, uint8_t{1});
      EXPECT_EQ(placed.Outside(),
                std::to_string(output.offset - output.first_page + 1) +
                    (output.offset == output.first_page ? " byte" : " bytes") +
                    " before " + name);
      before = zone;
      behind = 1;
      EXPECT_EQ(placed.Outside(),
                std::to_string(end - output.offset - bytes + 1) +
                    " bytes behind " + name);
    }
  }
}

TEST_F(PlacedTest, PlacesAreAsAsked) {
  const PlacedTensor below = Place({}).outputs()[0];
  EXPECT_EQ(below.offset, below.first_page);
  const PlacedTensor above = Place({.at_end = true}).outputs()[0];
  EXPECT_EQ(above.offset % 64, 0);
  // 14 floats: the last one ends less than 64 bytes before the page does.
  EXPECT_GT(above.offset + 56 + 64, above.first_page + above.page_bytes);
  for (const bool at_end : {false, true}) {
    const auto shifted = Place({.shift = 7, .at_end = at_end}).outputs()[0];
    EXPECT_EQ(shifted.offset % 64, 28);
    const auto aligned =
        Place({.shift = 7, .alignment = 32, .at_end = at_end}).outputs()[0];
    EXPECT_EQ(aligned.offset % 64, 32);
    const auto pages =
        Place({.shift = 7, .alignment = 4096, .at_end = at_end}).outputs()[0];
    EXPECT_EQ(pages.offset % 4096, 0);
  }
  const PlacedCall elsewhere = Place({.first_page = 18});
  EXPECT_GE(elsewhere.outputs()[0].offset, 18 * 4096);
  EXPECT_GE(elsewhere.inputs()[0].offset, 18 * 4096);
}

TEST_F(PlacedTest, WhatIsTooLargeIsRefused) {
  call_.outputs[0].shape = {1 << 18, 4};
  const auto placed = PlacedCall::Place(call_, {}, {}, in_, out_);
  ASSERT_FALSE(placed.ok());
  EXPECT_NE(placed.message().find("--candidate-memory"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::verify
