// What a run does besides computing, and which variations are chosen.
#include "verify/judge/invariance.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/verify/fake_candidate.h"

namespace lockstep::verify {
namespace {

// A trial without inputs worth the name; `storage` stands for their bytes.
class TinyTrial final : public Trial {
 public:
  TinyTrial()
      : Trial({{.name = "o",
                .lane = Lane::kF32,
                .shape = {1, 1, 2, 3},
                .axes = {"b", "h", "i", "c"}}}) {}
  KernelInputs Inputs() const override { return {}; }
  std::string InputDigest() const override { return storage; }
  void ReferenceRow(int64_t, RowBits*) const override {}
  int64_t RowCost() const override { return 1; }

  std::string storage = "before";
};

TEST(Invariance, ChangedInputsAreSeen) {
  TinyTrial trial;
  for (const bool changes : {false, true}) {
    FakeCandidate candidate(
        [&](int64_t, const Variation&, const OutputSet&, Execution*) {
          if (changes) trial.storage = "after";
          return RunOutcome{};
        });
    const Result<OutputSet> outputs = trial.Allocate(0);
    ASSERT_TRUE(outputs.ok());
    const GuardedRun run =
        RunGuarded(candidate, {}, trial, {}, kFirstPoison, outputs.value());
    EXPECT_EQ(run.inputs_unchanged, !changes);
    EXPECT_EQ(GuardFindings(run, "spec").size(), changes ? 1u : 0u);
  }
}

TEST(Invariance, EveryByteAroundTheOutputsIsWatched) {
  const TinyTrial trial;
  const Result<OutputSet> outputs = trial.Allocate(3);
  ASSERT_TRUE(outputs.ok());
  for (const int64_t at :
       {int64_t{-64}, int64_t{-1}, int64_t{6}, int64_t{60}}) {
    FakeCandidate candidate(
        [&](int64_t, const Variation&, const OutputSet& out, Execution*) {
          ElementOf(out, 0, at) = 0.0f;
          return RunOutcome{};
        });
    const Result<OutputSet> fresh = trial.Allocate(3);
    ASSERT_TRUE(fresh.ok());
    EXPECT_FALSE(
        RunGuarded(candidate, {}, trial, {}, kSecondPoison, fresh.value())
            .guards_intact)
        << at;
  }
}

TEST(Invariance, VariationsFitTheWork) {
  std::vector<Variation> all(100);
  for (size_t n = 0; n < all.size(); ++n) {
    all[n].check = n < 10 ? "tiles" : "combined";
    all[n].tile = {static_cast<int64_t>(n) + 1, 16};
  }
  EXPECT_EQ(ChooseVariations(all, 1, 0).size(), 100u);
  // Paid for 20: the single changes first, then ten different combined ones.
  const auto some = ChooseVariations(all, kVariationWork / 20, 7);
  ASSERT_EQ(some.size(), 20u);
  std::set<int64_t> rows;
  int64_t tiles = 0;
  for (const Variation& how : some) {
    rows.insert(how.tile->first);
    tiles += how.check == "tiles" ? 1 : 0;
  }
  EXPECT_EQ(tiles, 10);
  EXPECT_EQ(rows.size(), 20u);
  // Another case, another part.
  const auto other = ChooseVariations(all, kVariationWork / 20, 8);
  EXPECT_NE(other.back().tile, some.back().tile);
  EXPECT_EQ(ChooseVariations(all, INT64_MAX, 0).size(),
            static_cast<size_t>(kMinVariations));
}

TEST(Invariance, ShiftedVariationsComeTogether) {
  std::vector<Variation> all(9);
  for (size_t n = 0; n < all.size(); ++n) {
    all[n].check = "combined";
    all[n].shift = static_cast<int64_t>(n % 3);
  }
  const auto chosen = ChooseVariations(all, 1, 0);
  for (size_t n = 1; n < chosen.size(); ++n) {
    EXPECT_LE(chosen[n - 1].shift, chosen[n].shift);
  }
}

}  // namespace
}  // namespace lockstep::verify
