// Case files that fuzzing begins with.
#include "fuzz/corpus.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::fuzz {
namespace {

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

}  // namespace
}  // namespace lockstep::fuzz
