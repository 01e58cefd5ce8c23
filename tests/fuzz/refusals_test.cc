// What a kernel refuses, from skips alone.
#include "fuzz/refusals.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace lockstep::fuzz {
namespace {

constexpr size_t kFeatures = 6;

verify::FeatureSet With(std::initializer_list<size_t> features) {
  verify::FeatureSet set;
  set.has.resize(kFeatures);
  for (const size_t n : features) set.has[n] = true;
  return set;
}

TEST(RefusalsTest, NothingIsLeftOutBeforeASkip) {
  Refusals refusals(kFeatures);
  EXPECT_FALSE(refusals.LeavesOut(With({0, 1, 2, 3, 4})));
}

TEST(RefusalsTest, ThreeSkipsForOneReasonAreEnough) {
  Refusals refusals(kFeatures);
  refusals.Computed(With({0, 1}));
  for (int n = 0; n < 3; ++n) {
    EXPECT_FALSE(refusals.LeavesOut(With({0, 2}))) << n;
    EXPECT_FALSE(
        refusals.Refused(With({0, 2}), "no sinks, as of " + std::to_string(n)));
  }
  EXPECT_TRUE(refusals.LeavesOut(With({0, 2})));
  EXPECT_TRUE(refusals.LeavesOut(With({0, 2, 3})));
  EXPECT_FALSE(refusals.LeavesOut(With({0, 1, 3})));
  const auto list = refusals.List();
  ASSERT_EQ(list.size(), 1);
  EXPECT_EQ(list[0].feature, 2);
  EXPECT_EQ(list[0].cases, 2);
  EXPECT_EQ(list[0].reason, "no sinks, as of 0");
}

// Another feature of the same reason takes one skip more.
TEST(RefusalsTest, AReasonMayHaveSeveralFeatures) {
  Refusals refusals(kFeatures);
  refusals.Computed(With({0}));
  for (int n = 0; n < 3; ++n) refusals.Refused(With({0, 2}), "masks");
  EXPECT_FALSE(refusals.LeavesOut(With({0, 3})));
  refusals.Refused(With({0, 3}), "masks");
  EXPECT_TRUE(refusals.LeavesOut(With({0, 3})));
}

TEST(RefusalsTest, WhatIsComputedAfterAllIsLeftOutNoMore) {
  Refusals refusals(kFeatures);
  refusals.Computed(With({0}));
  for (int n = 0; n < 3; ++n) refusals.Refused(With({0, 2}), "masks");
  refusals.Computed(With({0, 2}));
  EXPECT_FALSE(refusals.LeavesOut(With({0, 2})));
}

// A head dimension, say, is no feature: no feature is to blame for it.
TEST(RefusalsTest, AnotherCauseIsNotLearned) {
  Refusals refusals(kFeatures);
  refusals.Computed(With({0, 1}));
  for (int n = 0; n < 3; ++n) refusals.Refused(With({0, 2}), "d is not 64");
  EXPECT_TRUE(refusals.LeavesOut(With({0, 2})));
  EXPECT_TRUE(refusals.Refused(With({0, 1}), "d is not 64"));
  EXPECT_FALSE(refusals.LeavesOut(With({0, 2})));
  for (int n = 0; n < 9; ++n) refusals.Refused(With({0, 2}), "d is not 64");
  EXPECT_FALSE(refusals.LeavesOut(With({0, 2})));
}

// A kernel may compute windows only beside causal.
TEST(RefusalsTest, ARefusedFeatureIsTriedBesideEveryFineOne) {
  constexpr size_t kCausal = 0, kAnd = 1, kWindow = 2, kOther = 3;
  Refusals refusals(kFeatures);
  refusals.Computed(With({kCausal}));
  refusals.Computed(With({kOther}));
  for (int n = 0; n < 3; ++n) {
    refusals.Refused(With({kOther, kWindow}), "causal only");
  }
  EXPECT_TRUE(refusals.LeavesOut(With({kOther, kWindow})));
  EXPECT_FALSE(refusals.LeavesOut(With({kCausal, kWindow})));
  refusals.Refused(With({kCausal, kWindow}), "causal only");
  EXPECT_TRUE(refusals.LeavesOut(With({kCausal, kWindow})));
  // What turns out to be fine later is new company.
  refusals.Computed(With({kAnd}));
  EXPECT_FALSE(refusals.LeavesOut(With({kCausal, kWindow, kAnd})));
  refusals.Computed(With({kCausal, kWindow, kAnd}));
  EXPECT_FALSE(refusals.LeavesOut(With({kCausal, kWindow, kOther})));
}

TEST(RefusalsTest, OneCaseOfSixteenIsTriedWhateverWasLearned) {
  Refusals refusals(kFeatures);
  refusals.Computed(With({0}));
  for (int n = 0; n < 3; ++n) refusals.Refused(With({0, 2}), "masks");
  int tried = 0;
  for (int n = 0; n < 160; ++n) {
    tried += refusals.LeavesOut(With({0, 2})) ? 0 : 1;
  }
  EXPECT_EQ(tried, 10);
}

// Where nothing is known the simplest cases come first, and others in time.
TEST(RefusalsTest, CasesOfManyUnknownFeaturesArePutOff) {
  Refusals refusals(kFeatures);
  refusals.Refused(With({0, 1, 2, 3}), "masks");
  EXPECT_FALSE(refusals.LeavesOut(With({4})));
  int put_off = 0;
  while (refusals.LeavesOut(With({0, 1, 2}))) ++put_off;
  EXPECT_EQ(put_off, 14);  // one of sixteen is not
  EXPECT_EQ(refusals.put_off(), put_off);
}

// Two features that never come alone, between cases that are tried at once.
TEST(RefusalsTest, FeaturesThatComeTogetherAreTriedInTime) {
  Refusals refusals(kFeatures);
  refusals.Computed(With({0}));
  refusals.Refused(With({0, 5}), "masks");
  int tried = 0;
  for (int n = 0; n < 200; ++n) {
    EXPECT_FALSE(refusals.LeavesOut(With({0})));
    tried += refusals.LeavesOut(With({0, 1, 2})) ? 0 : 1;
  }
  EXPECT_GE(tried, 25);
  EXPECT_LE(tried, 28);
}

}  // namespace
}  // namespace lockstep::fuzz
