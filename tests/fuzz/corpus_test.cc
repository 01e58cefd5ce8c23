// Minimising keeps every feature and every kill.
#include "fuzz/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

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
  const auto offered = Drawn(60);
  const Minimum minimum = MinimiseCorpus(domain, offered, nullptr, nullptr);
  EXPECT_EQ(minimum.offered, 60);
  EXPECT_GT(minimum.kills, 60);
  ASSERT_LT(minimum.lines.size(), 45u);
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
  EXPECT_GT(file->size(), 10u);
  EXPECT_FALSE(ReadCorpus("data/no-such", "attention_forward").ok());
  EXPECT_FALSE(ReadCorpus("cmake", "attention_forward").ok());
}

}  // namespace
}  // namespace lockstep::fuzz
