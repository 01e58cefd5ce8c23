// The gate's table: read, refused, applied.
#include "bench/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/gate.h"

namespace lockstep::bench {
namespace {

using testing::HasSubstr;

Shape ShapeOf(const std::string& verdict, Claim claim, double change) {
  Shape shape;
  shape.verdict = verdict;
  shape.compared = true;
  shape.told.claim = claim;
  shape.told.change = change;
  shape.candidate_seconds = 0.01;
  shape.cold_seconds = 0.02;
  return shape;
}

Decision DecisionOn(const std::vector<Shape>& shapes) {
  const auto rules = ParseRules(DefaultRules(), "built in");
  EXPECT_TRUE(rules.ok()) << rules.message();
  return Decide(rules.value(), FactsOf(shapes)).decision;
}

const Shape kWin = ShapeOf("pass", Claim::kFaster, -0.2);
const Shape kLoss = ShapeOf("pass", Claim::kSlower, 0.2);
const Shape kTie = ShapeOf("pass", Claim::kTie, 0);
const Shape kOpen = ShapeOf("pass", Claim::kUndecided, -0.01);

TEST(DefaultRules, DecideAsTheyAreMeantTo) {
  EXPECT_EQ(DecisionOn({kWin, kWin}), Decision::kPromote);
  EXPECT_EQ(DecisionOn({kTie, kTie}), Decision::kDelete);
  EXPECT_EQ(DecisionOn({kTie, kLoss}), Decision::kDelete);
  EXPECT_EQ(DecisionOn({kWin}), Decision::kExperimental);
  EXPECT_EQ(DecisionOn({kWin, kTie, kTie}), Decision::kExperimental);
  EXPECT_EQ(DecisionOn({kWin, kWin, kTie, kTie, kTie}),
            Decision::kExperimental);
  EXPECT_EQ(DecisionOn({kWin, kWin, kLoss}), Decision::kExperimental);
  EXPECT_EQ(DecisionOn({kTie, kOpen}), Decision::kUndecided);
}

TEST(DefaultRules, PromoteNothingWithoutAVerdict) {
  for (const char* verdict : {"untrusted", "skipped", "suspicious"}) {
    Shape unproved = kWin;
    unproved.verdict = verdict;
    EXPECT_EQ(DecisionOn({kWin, kWin, unproved}), Decision::kExperimental);
  }
  const auto rules = ParseRules(DefaultRules(), "built in");
  for (const auto& [verdict, words] :
       {std::pair("fail", "proved it wrong"), std::pair("error", "it broke")}) {
    Shape wrong = kWin;
    wrong.verdict = verdict;
    EXPECT_EQ(DecisionOn({kWin, kWin, wrong}), Decision::kDelete);
    EXPECT_THAT(Decide(rules.value(), FactsOf({kWin, wrong})).reason,
                HasSubstr(words));
  }
  Shape untimed = kWin;
  untimed.compared = false;
  EXPECT_EQ(DecisionOn({kWin, kWin, untimed}), Decision::kUndecided);
}

TEST(DefaultRules, AskForMoreThanALittleUnlessItDoesLess) {
  Shape little = ShapeOf("pass", Claim::kFaster, -0.03);
  EXPECT_EQ(DecisionOn({little, little}), Decision::kExperimental);
  little.baseline.visited = 1000;
  little.candidate.visited = 900;
  EXPECT_EQ(DecisionOn({little, little}), Decision::kPromote);
  little.baseline.bytes = 100;
  little.candidate.bytes = 200;
  EXPECT_EQ(DecisionOn({little, little}), Decision::kExperimental);
}

TEST(DefaultRules, KeepOutWhatPreparesForEveryShape) {
  Shape cold = kWin;
  cold.cold_seconds = 0.2;
  EXPECT_EQ(DecisionOn({cold, kWin}), Decision::kKeepOut);
  // What a machine makes of a first call, it makes of the baseline's.
  cold.baseline_cold_seconds = 0.19;
  EXPECT_NE(DecisionOn({cold, kWin}), Decision::kKeepOut);
}

TEST(FactsOf, CountsAndAverages) {
  const Facts facts = FactsOf({kWin, kWin, kLoss, kTie, kOpen});
  EXPECT_EQ(facts.at("shapes"), 5);
  EXPECT_EQ(facts.at("wins"), 2);
  EXPECT_EQ(facts.at("losses"), 1);
  EXPECT_EQ(facts.at("ties"), 1);
  EXPECT_EQ(facts.at("undecided"), 1);
  EXPECT_EQ(facts.at("share"), 0.4);
  EXPECT_EQ(facts.at("verdict"), 4);
  // 0.8 and 1.25: their geometric mean is 1.
  const Facts even = FactsOf({kWin, ShapeOf("pass", Claim::kSlower, 0.25)});
  EXPECT_NEAR(even.at("gain"), 0, 1e-12);
  // Nothing was compared: no gain, and no division by it.
  EXPECT_EQ(FactsOf({Shape{}}).at("gain"), 0);
}

TEST(CompareStructure, LessOnlyWhereNothingIsMore) {
  const Structure base = {1000.0, 10.0, std::nullopt};
  EXPECT_EQ(CompareStructure(base, base), 0);
  EXPECT_EQ(CompareStructure(base, {995.0, 10.0, 5.0}), 0);
  EXPECT_EQ(CompareStructure(base, {900.0, 10.0, 5.0}), -1);
  EXPECT_EQ(CompareStructure(base, {900.0, 20.0, 5.0}), 1);
  EXPECT_EQ(CompareStructure(base, {}), 0);
}

TEST(StructureOf, ReadsTilesOfPlansAndReceipts) {
  verify::Execution ran;
  ran.counters = {{"tiles_full", 3}, {"tiles_partial", 2}, {"rows_redone", 1}};
  ran.plan = "target=AVX2 threads=1 tile=48x256 dot=f32";
  EXPECT_EQ(StructureOf(ran, 7.0).visited, 5.0 * 48 * 256);
  EXPECT_EQ(StructureOf(ran, 7.0).redone, 1);
  EXPECT_EQ(StructureOf(ran, 7.0).bytes, 7);
  ran.plan = "tile 8x16";
  EXPECT_EQ(StructureOf(ran, std::nullopt).visited, 5.0 * 8 * 16);
  for (const char* plan : {"", "tile", "tiles", "tile=x", "tile=8"}) {
    ran.plan = plan;
    EXPECT_EQ(StructureOf(ran, std::nullopt).visited, std::nullopt) << plan;
  }
}

TEST(ParseRules, TakesATeamsOwn) {
  const auto rules = ParseRules(
      "lockstep-gate 1\nfloor = 0.1  # ten\n"
      "keep-out when wins >= 1 and losses == 0: ours\n"
      "delete otherwise: not ours\n",
      "f");
  ASSERT_TRUE(rules.ok()) << rules.message();
  EXPECT_EQ(rules->paired.floor, 0.1);
  EXPECT_EQ(rules->paired.chance, 1e-4);
  const Judgement one = Decide(rules.value(), FactsOf({kWin}));
  EXPECT_EQ(one.decision, Decision::kKeepOut);
  EXPECT_EQ(one.because, "wins >= 1 (1), losses == 0 (0)");
  EXPECT_EQ(Decide(rules.value(), FactsOf({kLoss})).reason, "not ours");
}

TEST(ParseRules, RefusesWhatMeansNothing) {
  struct Bad {
    const char* text;
    const char* says;
  };
  for (const Bad& bad :
       {Bad{"", "the last rule has to be"},
        Bad{"delete otherwise: x\n", "f:1: no rules of this version"},
        Bad{"lockstep-gate 1\ndelete when wins == 0: x\n",
            "the last rule has to be"},
        Bad{"lockstep-gate 1\ndelet otherwise: x\n", "nearest is 'delete'"},
        Bad{"lockstep-gate 1\ndelete otherwise\n", "DECISION when"},
        Bad{"lockstep-gate 1\ndelete otherwise:\n", "DECISION when"},
        Bad{"lockstep-gate 1\ndelete if wins == 0: x\n",
            "want when or otherwise"},
        Bad{"lockstep-gate 1\ndelete when win == 0: x\n", "nearest is 'wins'"},
        Bad{"lockstep-gate 1\ndelete when wins = 0: x\n", "compares nothing"},
        Bad{"lockstep-gate 1\ndelete when wins == no: x\n", "is no number"},
        Bad{"lockstep-gate 1\ndelete when wins == 0 or losses == 0: x\n",
            "joined by and"},
        Bad{"lockstep-gate 1\ndelete when wins: x\n", "FACT >= VALUE"},
        Bad{"lockstep-gate 1\nflor = 0.1\n", "unknown threshold 'flor'"},
        Bad{"lockstep-gate 1\nfloor = 2\n", "between 0 and 1"}}) {
    const auto rules = ParseRules(bad.text, "f");
    ASSERT_FALSE(rules.ok()) << bad.text;
    EXPECT_THAT(rules.message(), HasSubstr(bad.says)) << bad.text;
  }
}

}  // namespace
}  // namespace lockstep::bench
