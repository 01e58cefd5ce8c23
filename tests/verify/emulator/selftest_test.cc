// The selftest on trial: it must see kills, survivors and alarms.
#include "verify/selftest/selftest.h"
#include "verify/tables/mutants.h"

#include <gtest/gtest.h>

#include <string>

#include "verify/judge/rules/foreign_rules.h"

namespace lockstep::verify {
namespace {

TEST(Selftest, KillsEveryMutantAndAccusesNobody) {
  SelftestOptions options;
  options.variations = 1;  // `lockstep selftest` tries many
  options.zoo_cases = 1400;
  const Result<SelftestResult> result = RunSelftest(options);
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_TRUE(result->Passed()) << SelftestText(result.value());
  EXPECT_EQ(result->zoo_cases, 1400 + 700 + 700 + 700 + 350 + 350);
  EXPECT_LT(result->SlowestKill(), 60);
  EXPECT_EQ(result->plan_kills.size(), PlanMutants().size());
}

TEST(Selftest, PassingNeedsEverything) {
  SelftestResult result;
  EXPECT_FALSE(result.Passed());  // nothing ran
  KillRow row;
  row.mutant = &Mutants()[0];
  row.killed[0] = true;
  result.kills = {row};
  EXPECT_FALSE(result.Passed());  // no zoo
  result.zoo_cases = 1;
  EXPECT_TRUE(result.Passed());
  result.proof_false_alarms = 1;
  EXPECT_FALSE(result.Passed());
  result.proof_false_alarms = 0;
  result.kills.push_back({});
  result.kills.back().mutant = &Mutants()[1];
  EXPECT_FALSE(result.Passed());  // a survivor
  result.kills.pop_back();
  result.plan_kills = {{.mutant = &PlanMutants()[0], .named = true}};
  EXPECT_FALSE(result.Passed());  // its control is not sound
  result.plan_kills[0].sound = true;
  EXPECT_TRUE(result.Passed());
  result.plan_kills.clear();
  result.kills.push_back({});
  result.kills.back().mutant = &Mutants()[1];
  EXPECT_NE(
      SelftestText(result).find(std::string("survivor: ") + Mutants()[1].name),
      std::string::npos);
  EXPECT_NE(SelftestJson(result).find("\"mutants_total\": 2"),
            std::string::npos);
}

TEST(ForeignRules, EachRejectsWhatItShould) {
  RuleInput same{Lane::kF32, {1, 2, -3}, {1, 2, -3}, {1, 2, -3}};
  for (const bool passes : PassesForeignRules(same)) EXPECT_TRUE(passes);
  RuleInput wrong = same;
  wrong.produced = {-1, 2, 3};
  for (const bool passes : PassesForeignRules(wrong)) EXPECT_FALSE(passes);
  RuleInput nan = same;
  nan.produced[0] = 0.0 / 0.0;
  for (const bool passes : PassesForeignRules(nan)) EXPECT_FALSE(passes);
  // A relative error of 1e-3 passes NMSE and cosine, nothing else.
  RuleInput close = same;
  for (double& x : close.produced) x *= 1.001;
  const auto passes = PassesForeignRules(close);
  EXPECT_EQ(passes,
            (std::array<bool, kForeignRules>{false, true, false, true, false}));
}

}  // namespace
}  // namespace lockstep::verify
