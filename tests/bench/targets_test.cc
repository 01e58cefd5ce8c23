#include "bench/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "verify/base/io/files.h"
#include "verify/candidate/candidate.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::bench {
namespace {

using testing::HasSubstr;

TEST(ParseGoal, ReadsEveryWord) {
  const auto goal = ParseGoal(
      " fast speedup >= 1.5 against slow with builtin:optimized,threads=1",
      "f:3");
  ASSERT_TRUE(goal.ok()) << goal.message();
  EXPECT_EQ(goal->name, "fast");
  EXPECT_EQ(goal->metric, Metric::kSpeedup);
  EXPECT_TRUE(goal->at_least);
  EXPECT_EQ(goal->value, 1.5);
  EXPECT_EQ(goal->against, "slow");
  EXPECT_EQ(goal->spec, "builtin:optimized,threads=1");
  EXPECT_TRUE(goal->Met(1.5));
  EXPECT_FALSE(goal->Met(1.49));
  const auto most = ParseGoal("plan planning_ms <= 5", "f:3");
  ASSERT_TRUE(most.ok());
  EXPECT_TRUE(most->Met(5));
  EXPECT_FALSE(most->Met(5.01));
}

// No goal is met by what is no number.
TEST(Goal, IsNotMetByNaN) {
  const auto goal = ParseGoal("plan planning_ms <= 5", "f:3");
  EXPECT_FALSE(goal->Met(__builtin_nan("")));
}

TEST(ParseGoal, RefusesWhatMeansNothing) {
  struct Bad {
    const char* text;
    const char* says;
  };
  for (const Bad& bad :
       {Bad{"a fraction >=", "want '#: NAME METRIC >= VALUE'"},
        Bad{"a fracton >= 1", "nearest is 'fraction'"},
        Bad{"a fraction > 1", "want >= or <="},
        Bad{"a fraction >= fast", "want a number above 0"},
        Bad{"a fraction >= 0", "want a number above 0"},
        Bad{"a fraction >= 1 with", "says nothing more"},
        Bad{"a fraction >= 1 by me", "unknown word 'by'"},
        Bad{"a fraction >= 1 against b", "compared with no other row"},
        Bad{"a speedup >= 1", "wants 'against NAME'"},
        Bad{"a cycles <= 1", "'of exp2' or 'of tanh'"},
        Bad{"a cycles <= 1 of sin", "'of exp2' or 'of tanh'"}}) {
    const auto goal = ParseGoal(bad.text, "f:3");
    ASSERT_FALSE(goal.ok()) << bad.text;
    EXPECT_THAT(goal.message(), HasSubstr(bad.says)) << bad.text;
    EXPECT_THAT(goal.message(), HasSubstr("f:3: "));
  }
}

TEST(ParseGoals, StandBeforeTheirCase) {
  const auto goals = ParseGoals(
      "# a comment\n"
      "#: one fraction >= 0.5\n"
      "#: two speedup >= 2 against one\n"
      "# another\n"
      "\n"
      "attention_forward sq=4 skv=4 d=4\n"
      "attention_forward sq=5 skv=5 d=4\n"
      "#: exp2 cycles <= 1 of exp2\n",
      "f");
  ASSERT_TRUE(goals.ok()) << goals.message();
  ASSERT_EQ(goals->of_line.size(), 1u);
  ASSERT_EQ(goals->of_line.at(6).size(), 2u);
  EXPECT_EQ(goals->of_line.at(6)[1].name, "two");
  ASSERT_EQ(goals->alone.size(), 1u);
}

TEST(ParseGoals, RefusesWhatHangsInTheAir) {
  const std::string line = "attention_forward sq=4 skv=4 d=4\n";
  EXPECT_THAT(ParseGoals("#: a fraction >= 1\n", "f").message(),
              HasSubstr("goal 'a' has no case after it"));
  EXPECT_THAT(ParseGoals("#: a fraction >= 1\n#: a of_roof >= 1\n" + line, "f")
                  .message(),
              HasSubstr("f:2: a second goal 'a'"));
  EXPECT_THAT(ParseGoals("#: a speedup >= 1 against b\n" + line, "f").message(),
              HasSubstr("f:1: there is no row 'b'"));
}

// Everything but what the rows take.
TEST(ParseGoals, ReadsTheGoalsOfTheHouse) {
  const std::string path = "data/cases/targets.cases";
  const auto file = verify::ReadCaseFile(path, verify::Ops());
  ASSERT_TRUE(file.ok()) << file.message();
  const auto bytes = verify::ReadWholeFile(path, verify::kMaxCaseFile);
  ASSERT_TRUE(bytes.ok());
  const std::string text(bytes.value().begin(), bytes.value().end());
  const auto goals = ParseGoals(text, path);
  ASSERT_TRUE(goals.ok()) << goals.message();
  EXPECT_EQ(goals->of_line.size(), file->entries.size());
  for (const verify::CaseFileEntry& entry : file->entries) {
    ASSERT_EQ(goals->of_line.count(entry.line), 1u) << entry.line;
    for (const Goal& goal : goals->of_line.at(entry.line)) {
      if (goal.spec.empty()) continue;
      const auto candidate = verify::ParseCandidate(goal.spec);
      EXPECT_TRUE(candidate.ok()) << goal.name;
    }
  }
  EXPECT_EQ(goals->alone.size(), 3u);
}

}  // namespace
}  // namespace lockstep::bench
