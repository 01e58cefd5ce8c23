// The selftest on trial: it must see kills, survivors and alarms.
#include "verify/selftest/selftest.h"
#include "verify/tables/mutants.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "verify/judge/rules/foreign_rules.h"
#include "verify/selftest/zoo/draw.h"

namespace lockstep::verify {
namespace {

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

TEST(Zoo, TakesOnlyCasesWithTheKeysThatAreAskedFor) {
  SelftestOptions options;
  options.zoo_cases = 160;
  options.zoo_with = {"page", "layout=varlen", "alias"};
  const SelftestResult result = RunZoo(options);
  EXPECT_TRUE(result.ZooPassed()) << ZooText(result);
  // Attention has such cases, its gradients have ragged batches.
  ASSERT_EQ(result.zoo.size(), 2u);
  EXPECT_EQ(result.zoo[0].cases, 160);
  EXPECT_EQ(result.zoo[1].cases, 40);
  int64_t cases = 0;
  for (const auto& [key, count] : result.zoo_with) {
    EXPECT_GT(count, 20) << key;
    cases += count;
  }
  EXPECT_GE(cases, 200);
  EXPECT_NE(ZooText(result).find("with layout=varlen: "), std::string::npos);
}

TEST(Zoo, KnowsTheKeysOfLines) {
  const std::string line =
      "attention_forward b=2 layout=varlen page=16:nhd alias=v_in_k:64";
  for (const char* key : {"page", "page=16", "layout=varlen", "alias",
                          "alias=v_in_k", "alias=v_in_k:64", "b=2"}) {
    EXPECT_TRUE(LineHas(line, key)) << key;
  }
  for (const char* key : {"", "pag", "page=1", "layout=thd", "v_in_k", "64"}) {
    EXPECT_FALSE(LineHas(line, key)) << key;
  }
  const std::string masked =
      "attention_forward mask=causal&(index:4:recent|sink:2) mask.h1=full";
  for (const char* key : {"index", "index:4", "causal", "sink", "full"}) {
    EXPECT_TRUE(LineHas(masked, key)) << key;
  }
  for (const char* key : {"inde", "index:", "recent", "window", "alias"}) {
    EXPECT_FALSE(LineHas(masked, key)) << key;
  }
  SelftestOptions options;
  options.zoo_with = {"alias"};
  EXPECT_TRUE(CheckZooKeys(options).ok());
  options.zoo_with = {"alias", "pgae"};
  EXPECT_EQ(
      CheckZooKeys(options).message(),
      "--with: no drawn case has 'pgae'; want keys of case lines, such as "
      "page,layout=varlen,alias");
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

TEST(ZooRun, IsTheSameOnAnyNumberOfThreads) {
  SelftestOptions options;
  options.zoo_cases = 84;
  options.threads = 1;
  const SelftestResult one = RunZoo(options);
  options.threads = 3;
  const SelftestResult three = RunZoo(options);
  EXPECT_TRUE(one.ZooPassed()) << ZooText(one);
  EXPECT_EQ(one.zoo_cases, 84 + 42 + 42 + 42 + 21 + 21);
  EXPECT_EQ(one.zoo_cases, three.zoo_cases);
  EXPECT_EQ(one.zoo_probes, three.zoo_probes);
  EXPECT_EQ(one.statistics_false_alarms, three.statistics_false_alarms);
}

}  // namespace
}  // namespace lockstep::verify
