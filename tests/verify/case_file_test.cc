// Case files: comments, line numbers, refusal of the first bad line.
#include "verify/run/case_file.h"
#include "verify/case/attention_forward/case.h"
#include "verify/registry/ops.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

namespace lockstep::verify {
namespace {

TEST(CaseFile, CommentsAndBlankLinesCountAsLines) {
  const auto file = ParseCaseFile(
      "x.cases",
      "# heading\n\n  \t\nattention_forward sq=1 skv=1 d=1  # why\r\n"
      "attention_forward sq=1 skv=1 d=2 ;; attention_forward sq=1 skv=1 d=3",
      Ops());
  ASSERT_TRUE(file.ok()) << file.message();
  ASSERT_EQ(file.value().entries.size(), 2u);
  EXPECT_EQ(file.value().entries[0].line, 4);
  EXPECT_EQ(file.value().entries[1].line, 5);
  EXPECT_EQ(file.value().entries[1].sequence.size(), 2u);
}

TEST(CaseFile, ADigestIsNoComment) {
  const auto file =
      ParseCaseFile("x.cases",
                    "attention_forward sq=1 skv=1 d=1 fill=file:a#" +
                        std::string(32, 'a') + " seed=3 # comment\n",
                    Ops());
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ(file.value().entries[0].sequence[0].seed, 3u);
}

TEST(CaseFile, TheFirstBadLineIsNamed) {
  const std::string good = "attention_forward sq=1 skv=1 d=1\n";
  for (const char* bad : {"attention_forward sq=1 skv=1\n",
                          "attention_forward sq=1 skv=1 d=0\n", "atten\n"}) {
    const auto file =
        ParseCaseFile("x.cases", good + "# c\n" + bad + good, Ops());
    ASSERT_FALSE(file.ok()) << bad;
    EXPECT_TRUE(file.message().starts_with("x.cases:3: ")) << file.message();
  }
}

TEST(CaseFile, NegativeCasesMayHaveNoMeaning) {
  EXPECT_TRUE(ParseCaseFile("x",
                            "attention_forward sq=1 skv=1 d=0 expect=refuse\n",
                            Ops())
                  .ok());
  EXPECT_FALSE(ParseCaseFile(
                   "x", "attention_forward sq=1 skv=1 d=0 expect=fail\n", Ops())
                   .ok());
}

TEST(CaseFile, UnreadableFilesAreRefused) {
  const auto absent = ReadCaseFile("/no/such.cases", Ops());
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.message().find("/no/such.cases"), std::string::npos);
  EXPECT_FALSE(ReadCaseFile(testing::TempDir(), Ops()).ok());
}

TEST(CaseFile, PathsAreLookedForFromTheWorkingDirectoryUpwardsFromTheFile) {
  const auto directories = SearchDirectories("/a/b/c.cases");
  EXPECT_EQ(directories, (std::vector<std::string>{".", "/a/b", "/a", "/"}));
}

// The files that the project ships.
TEST(CaseFile, ShippedCaseFilesAreCanonicalEnoughToPaste) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("data/cases")) {
    if (entry.path().extension() != ".cases") continue;
    const auto file = ReadCaseFile(entry.path().string(), Ops());
    ASSERT_TRUE(file.ok()) << file.message();
    EXPECT_FALSE(file.value().entries.empty()) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 3);
}

// The gate's file holds what it promises.
TEST(CaseFile, TheGateIsAsBroadAsItSays) {
  const auto file = ReadCaseFile("data/cases/ci.cases", Ops());
  ASSERT_TRUE(file.ok()) << file.message();
  std::set<int64_t> head_dims;
  std::set<double> caps;
  std::set<std::string> features;
  for (const CaseFileEntry& entry : file.value().entries) {
    for (const Case& c : entry.sequence) {
      const AttentionForwardCase& a = c.Get<AttentionForwardCase>();
      if (c.expect == Expect::kRefuse) continue;
      if (a.value_dim != a.head_dim) head_dims.insert(a.head_dim);
      caps.insert(a.softcap ? a.softcap->value : 0);
      const std::string line = MinimalLine(c);
      for (const char* text : {"causal",
                               "window:",
                               "chunked:",
                               "prefix:",
                               "sink:",
                               "random:",
                               "blocks:",
                               "|",
                               "&(",
                               "inf,",
                               "mask.h",
                               "align=br",
                               "align=-",
                               "q_seg=runs",
                               "q_seg=ids",
                               "q_seg=[",
                               "valid_q=",
                               "valid_kv=",
                               "lane=bf16",
                               "p=bf16",
                               "sinklogit=const:100",
                               "sinklogit=const:-inf",
                               "sinklogit=normal",
                               "poison:masked",
                               "special:",
                               "subnormal:",
                               "tiny:",
                               "huge:",
                               "spread:",
                               "ramp:",
                               "layout=bshd",
                               "layout=thd",
                               "strides=",
                               "expect=vacuous"}) {
        if (line.find(text) != std::string::npos) features.insert(text);
      }
      if (a.q_heads > a.kv_heads) features.insert("gqa");
      if (a.q_len > a.kv_len) features.insert("sq > skv");
      if (entry.sequence.size() > 1) features.insert("sequence");
    }
  }
  EXPECT_GE(file.value().entries.size(), 150u);
  EXPECT_EQ(features.size(), 37u);
  for (const int64_t d : {16, 32, 40, 64, 80, 96, 128, 192, 256}) {
    EXPECT_TRUE(head_dims.contains(d)) << d;
  }
  for (const double cap : {0.0, 0.5, 2.0, 30.0, 50.0, 1e4}) {
    EXPECT_TRUE(caps.contains(cap)) << cap;
  }
}

}  // namespace
}  // namespace lockstep::verify
