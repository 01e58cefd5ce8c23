// Minimising keeps every feature and every kill.
#include "fuzz/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "verify/registry/ops.h"
#include "verify/tables/mutants.h"

namespace lockstep::fuzz {
namespace {

std::vector<std::vector<verify::Case>> Drawn(uint64_t cases) {
  const verify::Domain& domain =
      *verify::FindDomain("attention_forward").value();
  std::vector<std::vector<verify::Case>> sequences;
  for (uint64_t n = 0; n < cases; ++n) {
    sequences.push_back(verify::DrawCase(domain, {}, 1, n));
  }
  return sequences;
}

TEST(CorpusTest, KeepsFeaturesAndKills) {
  const verify::Domain& domain =
      *verify::FindDomain("attention_forward").value();
  const auto offered = Drawn(12);
  const Minimum minimum = MinimiseCorpus(domain, offered, nullptr, nullptr);
  EXPECT_EQ(minimum.offered, 12);
  EXPECT_GT(minimum.kills, 60);
  ASSERT_LT(minimum.lines.size(), 12u);
  EXPECT_TRUE(std::is_sorted(minimum.lines.begin(), minimum.lines.end()));
  // The kept lines alone are worth as much.
  std::vector<std::vector<verify::Case>> kept;
  for (const std::string& line : minimum.lines) {
    kept.push_back(verify::ParseCaseSequence(line).value());
  }
  const Minimum again = MinimiseCorpus(domain, kept, nullptr, nullptr);
  EXPECT_EQ(again.features, minimum.features);
  EXPECT_EQ(again.kills, minimum.kills);
  EXPECT_LE(again.lines.size(), minimum.lines.size());
}

TEST(CorpusTest, LinesThatAddNothingGo) {
  const verify::Domain& domain =
      *verify::FindDomain("attention_forward").value();
  auto twice = Drawn(3);
  twice.push_back(twice[0]);
  const Minimum minimum = MinimiseCorpus(domain, twice, nullptr, nullptr);
  EXPECT_EQ(minimum.offered, 3);
}

TEST(CorpusTest, ReadsFilesAndFolders) {
  const auto file = ReadCorpus("data/cases/smoke.cases", "attention_forward");
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_GT(file->sequences.size(), 10u);
  EXPECT_FALSE(ReadCorpus("data/no-such", "attention_forward").ok());
  EXPECT_FALSE(ReadCorpus("cmake", "attention_forward").ok());
}

// What a file has for others is counted, never silently passed over.
TEST(CorpusTest, CountsWhatItLeavesAside) {
  const auto plans = ReadCorpus("data/cases/block_plan.cases", "block_plan");
  ASSERT_TRUE(plans.ok()) << plans.message();
  EXPECT_EQ(plans->other_ops, 0);
  EXPECT_EQ(plans->other_ends, 4);  // one expects vacuous, three refuse
  const auto others = ReadCorpus("data/cases/block_plan.cases", "mamba3_scan");
  ASSERT_TRUE(others.ok()) << others.message();
  EXPECT_TRUE(others->sequences.empty());
  const auto all = static_cast<int64_t>(plans->sequences.size());
  EXPECT_EQ(others->other_ops, all + 4);
  EXPECT_EQ(others->other_ends, 0);
  Corpus both = plans.value();
  EXPECT_EQ(both.Text(),
            std::to_string(all) + " lines; left aside: 4 that expect no pass");
  both.Add(others.value());
  EXPECT_EQ(both.Text(), std::to_string(all) +
                             " lines; left aside: " + std::to_string(all + 4) +
                             " of other ops, 4 that expect no pass");
  Corpus one;
  one.sequences = {{verify::Case()}};
  EXPECT_EQ(one.Text(), "1 line");
}

TEST(CorpusTest, PlansAreWorthTheirMutants) {
  const verify::Domain& domain = *verify::FindDomain("block_plan").value();
  const std::vector<std::string> lines = {
      "block_plan sq=2 skv=2 mask=causal bq=2 bk=2",
      "block_plan sq=4 skv=4 mask=causal bq=2 bk=2"};
  std::vector<std::vector<verify::Case>> offered;
  for (const std::string& line : lines) {
    offered.push_back(verify::ParseCaseSequence(line).value());
  }
  const Minimum minimum = MinimiseCorpus(domain, offered, nullptr, nullptr);
  EXPECT_EQ(minimum.mutants,
            static_cast<int64_t>(verify::PlanMutants().size()));
  EXPECT_GE(minimum.kills, 5);
}

// The file that the project keeps is worth all there is.
TEST(CorpusTest, TheCorpusOfPlansMissesNothing) {
  const verify::Domain& domain = *verify::FindDomain("block_plan").value();
  const auto kept = ReadCorpus("data/corpus/block_plan.cases", "block_plan");
  ASSERT_TRUE(kept.ok()) << kept.message();
  const Minimum minimum =
      MinimiseCorpus(domain, kept->sequences, nullptr, nullptr);
  EXPECT_EQ(minimum.features, static_cast<int64_t>(domain.features().size()));
  EXPECT_EQ(minimum.kills, minimum.mutants);
}

}  // namespace
}  // namespace lockstep::fuzz
