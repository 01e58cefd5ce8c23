// A failing verdict names the bug: with and without lse, on short cases and on
// long ones, of kernels that can be asked again and of answers alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "tests/power/naming/attention_forward.h"
#include "tests/verify/trials.h"
#include "verify/causes/detail.h"
#include "verify/causes/sample.h"
#include "verify/causes/twin.h"
#include "verify/emulator/mutants.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

const MutantInfo& InfoOf(const std::string& name) {
  return *std::find_if(Mutants().begin(), Mutants().end(),
                       [&](const MutantInfo& bug) { return bug.name == name; });
}

// A bug, and what a case needs for it to show.
struct Shown {
  const char* bug;
  const char* keys;
};
constexpr Shown kShort[] = {
    {"attn.causal_strict", "mask=causal&window:40,0 align=br"},
    {"attn.window_left_plus_one", "mask=causal&window:40,0 align=br"},
    {"attn.head_modulo", "mask=causal align=br"},
    {"attn.cap_ignored", "cap=2"},
    {"attn.drop_first_key", ""},
    {"attn.scale_missing", ""}};
constexpr Shown kLong[] = {
    {"attn.causal_strict", "mask=causal&window:100,0 align=br"},
    {"attn.window_left_plus_one", "mask=causal&window:500,0 align=br"},
    {"attn.head_modulo", "mask=causal align=br"},
    {"attn.cap_ignored", "cap=2"},
    {"attn.kv_head_zero", ""},
    {"attn.scale_missing", ""}};

void AreNamed(std::span<const Shown> bugs, const std::string& size,
              const NamingPlace& place) {
  for (const Shown& one : bugs) {
    const MutantInfo& info = InfoOf(one.bug);
    const NamedBug named =
        NameBugOn("attention_forward " + size + " " + one.keys,
                  std::string("mutant:") + one.bug + ",base=cpu,tile=32x32",
                  info, place, kCauseSeconds);
    EXPECT_EQ(named.rank, 1) << one.bug << ", first is " << named.first;
    EXPECT_TRUE(named.proved) << one.bug;
  }
}

constexpr const char* kShortSize = "hq=4 hkv=2 sq=128 skv=128 d=64";
// Rows so long that all known bugs are held against a smaller case.
constexpr const char* kLongSize = "hq=4 hkv=2 sq=8 skv=4096 d=8 dv=10";

TEST(Naming, OnAShortCase) { AreNamed(kShort, kShortSize, {128, true, true}); }
TEST(Naming, OnAShortCaseWithoutLse) {
  AreNamed(kShort, kShortSize, {128, false, true});
}
TEST(Naming, OfExportedCalls) {
  AreNamed(kShort, kShortSize, {128, true, false});
}
TEST(Naming, OfExportedCallsWithoutLse) {
  AreNamed(kShort, kShortSize, {128, false, false});
}
TEST(Naming, OnALongCase) { AreNamed(kLong, kLongSize, {4096, true, true}); }
TEST(Naming, OnALongCaseWithoutLse) {
  AreNamed(kLong, kLongSize, {4096, false, true});
}
TEST(Naming, OfLongExportedCalls) {
  AreNamed(kLong, kLongSize, {4096, true, false});
}
TEST(Naming, OfLongExportedCallsWithoutLse) {
  AreNamed(kLong, kLongSize, {4096, false, false});
}

NamedBug Named(const char* bug, const std::string& more,
               const std::string& line, const NamingPlace& place) {
  return NameBugOn("attention_forward " + line,
                   std::string("mutant:") + bug + more, InfoOf(bug), place,
                   kCauseSeconds);
}

// An lse that the bug makes of minus infinity is the bug's in other roundings.
TEST(Naming, NumbersInPlaceOfInfinities) {
  const NamedBug named = Named(
      "attn.window_right_to_unlimited", ",base=cpu,tile=32x32",
      "hq=2 sq=128 skv=20 d=64 mask=window:inf,30 align=br", {128, true, true});
  EXPECT_EQ(named.rank, 1) << named.first;
  EXPECT_TRUE(named.proved);
}

// The probe that shows it moves every lse by a ten-thousandth.
TEST(Naming, SmallErrorsOnAProbe) {
  const NamedBug named =
      Named("attn.tanh_coarse", ",base=cpu,tile=32x32",
            std::string(kLongSize) + " cap=5 mask=causal align=br",
            {4096, true, true});
  EXPECT_EQ(named.rank, 1) << named.first;
}

// Without lse no element proves it: all of them together do.
TEST(Naming, WhatStatisticsShow) {
  const NamedBug named =
      Named("attn.cap_wrong_value", ",base=cpu,tile=32x32",
            "hq=4 hkv=2 sq=8 skv=4096 d=64 cap=5 mask=causal align=br",
            {4096, false, true});
  EXPECT_EQ(named.rank, 1) << named.first;
}

// The last tile ends with the keys: unmasked, it is what vectors of keys see.
TEST(Naming, TilesThatLookLikeVectors) {
  const NamedBug named =
      Named("attn.tiles_unmasked", ",base=cpu,tile=32x32",
            std::string(kLongSize) + " cap=5 mask=causal align=br",
            {4096, true, true});
  EXPECT_EQ(named.rank, 1) << named.first;
  EXPECT_TRUE(named.proved);
}

// Of all keys exchanged the roundings tell, where a profile claims the bits.
TEST(Naming, BitsAlone) {
  const NamedBug named = Named("attn.kv_pages_exchanged", "",
                               "sq=16 skv=128 d=16", {128, true, true});
  EXPECT_EQ(named.rank, 1) << named.first;
}

// A budget that is spent before all known bugs were tried proves none of them.
TEST(Naming, NothingIsProvedForNothing) {
  const NamedBug named =
      NameBugOn(std::string("attention_forward ") + kShortSize,
                "mutant:attn.drop_first_key,base=cpu",
                InfoOf("attn.drop_first_key"), {128, true, true}, 0);
  EXPECT_FALSE(named.proved);
  EXPECT_EQ(named.rank, 0);
}

std::string SmallLine(const std::string& line, int64_t side) {
  const auto small = TwinOf(ParseCase(line, Ops()).value(), side);
  return small ? MinimalLine(*small) : "";
}

TEST(SmallCase, KeepsWhatTheCaseIsAbout) {
  EXPECT_EQ(SmallLine("attention_forward hq=4 hkv=2 sq=4096 skv=4096 d=64 "
                      "mask=causal&(window:1024,0|sink:4) cap=5 "
                      "q_seg=runs:1024,3072 kv_seg=runs:1024,3072",
                      256),
            "attention_forward hq=4 hkv=2 sq=128 skv=128 d=64 cap=5 "
            "mask=causal&(window:32,0|sink:4) q_seg=runs:32,96 "
            "kv_seg=runs:32,96");
  // A tail stays one, and a short side as it is.
  EXPECT_EQ(SmallLine("attention_forward sq=3 skv=4099 d=64 align=br", 256),
            "attention_forward sq=3 skv=131 d=64 align=br");
  EXPECT_EQ(SmallLine("attention_forward sq=16 skv=64 d=64", 256), "");
  EXPECT_EQ(SmallLine("mamba3_scan t=2048 h=16 g=2 n=16 p=8 "
                      "seg=runs:1024,1024",
                      256),
            "mamba3_scan t=32 h=4 g=2 n=16 p=8 seg=runs:16,16");
}

TEST(Sample, HasTheWorstRowAndRightOnes) {
  const auto trial = Open("attention_forward hq=4 sq=64 skv=4096 d=8");
  std::vector<RowError> errors;
  for (int64_t row = 0; row < 256; ++row) {
    errors.push_back({row, row >= 64 && row % 2 == 1 ? 4.0 : 0.5});
  }
  errors[141].size = 100;
  const LookedAt rows = SampleRows(*trial, errors, {16, 3});
  EXPECT_EQ(std::count(rows.begin(), rows.end(), 141), 1);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  int64_t right = 0, untouched = 0;
  for (const int64_t row : rows) {
    right += errors[static_cast<size_t>(row)].size <= 1 ? 1 : 0;
    untouched += row < 64 ? 1 : 0;
  }
  EXPECT_GE(right, 3);
  EXPECT_GE(untouched, 1);
  EXPECT_LE(std::ssize(rows), 18);
  const LookedAt others = SampleRows(*trial, errors, {64, 4}, rows);
  for (const int64_t row : others) {
    EXPECT_FALSE(std::binary_search(rows.begin(), rows.end(), row)) << row;
  }
}

TEST(Detail, SaysTheNumbersOfTheCase) {
  const auto c = ParseCase(
      "attention_forward sq=8 skv=8 d=4 mask=causal&window:1000,0", Ops());
  EXPECT_EQ(DetailOf("attn.window_left_plus_one", c.value()),
            " (1001 for 1000)");
  EXPECT_EQ(DetailOf("attn.sink_plus_one", c.value()), "");
  EXPECT_EQ(DetailOf("attn.causal_strict", c.value()), "");
}

}  // namespace
}  // namespace lockstep::verify
