// The three states of a row's length.
#include "optimized/row_validity.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep::optimized {
namespace {

using Counts = std::vector<int64_t>;

RowValidity Of(const ValidityMetadata& metadata, int64_t tile = 4) {
  const auto validity = NormaliseValidity(metadata, {2, 10, tile});
  EXPECT_TRUE(validity.ok()) << validity.message();
  return validity.value();
}

TEST(RowValidity, AbsentIsNotZeroAndZeroIsNotAbsent) {
  EXPECT_EQ(Of({}).mode, ValidityMode::kNone);
  EXPECT_TRUE(Of({}).tokens.empty());
  const RowValidity zero = Of({.tokens = Counts{0, 7}});
  EXPECT_EQ(zero.mode, ValidityMode::kTokenPrefix);
  EXPECT_EQ(zero.tokens, (Counts{0, 7}));
  EXPECT_EQ(zero.clamped, 0);
}

TEST(RowValidity, SlotsCountWhereTheyAreQueryTiles) {
  const ValidityMetadata both{
      .tokens = Counts{3, 9}, .slots = Counts{1, 2}, .base_block_tokens = 4};
  EXPECT_EQ(Of(both).mode, ValidityMode::kSlotPrefix);
  EXPECT_EQ(Of(both).tokens, (Counts{4, 8}));
  // The tile size changed: tokens, or nothing, but never other slots.
  EXPECT_EQ(Of(both, 2).mode, ValidityMode::kTokenPrefix);
  EXPECT_EQ(Of(both, 2).tokens, (Counts{3, 9}));
  const ValidityMetadata slots{.slots = Counts{1, 2}, .base_block_tokens = 4};
  EXPECT_EQ(Of(slots, 2).mode, ValidityMode::kNone);
}

TEST(RowValidity, CountsAreClampedAndCounted) {
  const RowValidity tokens = Of({.tokens = Counts{-3, 99}});
  EXPECT_EQ(tokens.tokens, (Counts{0, 10}));
  EXPECT_EQ(tokens.clamped, 2);
  const RowValidity slots =
      Of({.slots = Counts{INT64_MAX, 2}, .base_block_tokens = 4});
  EXPECT_EQ(slots.tokens, (Counts{10, 8}));
  EXPECT_EQ(slots.clamped, 1);
}

TEST(RowValidity, RefusesWhatHasNoMeaning) {
  EXPECT_FALSE(NormaliseValidity({.tokens = Counts{1}}, {2, 10, 4}).ok());
  EXPECT_FALSE(NormaliseValidity({.slots = Counts{1, 1}}, {2, 10, 4}).ok());
  EXPECT_FALSE(NormaliseValidity(
                   {.slots = Counts{1, 1}, .base_block_tokens = 0}, {2, 10, 4})
                   .ok());
}

}  // namespace
}  // namespace lockstep::optimized
