// Case files: comments, line numbers, refusal of the first bad line.
#include "verify/case_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace lockstep::verify {
namespace {

TEST(CaseFile, CommentsAndBlankLinesCountAsLines) {
  const auto file = ParseCaseFile(
      "x.cases",
      "# heading\n\n  \t\nattention_forward sq=1 skv=1 d=1  # why\r\n"
      "attention_forward sq=1 skv=1 d=2 ;; attention_forward sq=1 skv=1 d=3");
  ASSERT_TRUE(file.ok()) << file.message();
  ASSERT_EQ(file.value().entries.size(), 2u);
  EXPECT_EQ(file.value().entries[0].line, 4);
  EXPECT_EQ(file.value().entries[1].line, 5);
  EXPECT_EQ(file.value().entries[1].sequence.size(), 2u);
}

TEST(CaseFile, ADigestIsNoComment) {
  const auto file = ParseCaseFile(
      "x.cases", "attention_forward sq=1 skv=1 d=1 fill=file:a#" +
                     std::string(32, 'a') + " seed=3 # comment\n");
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ(file.value().entries[0].sequence[0].seed, 3u);
}

TEST(CaseFile, TheFirstBadLineIsNamed) {
  const std::string good = "attention_forward sq=1 skv=1 d=1\n";
  for (const char* bad : {"attention_forward sq=1 skv=1\n",
                          "attention_forward sq=1 skv=1 d=0\n", "atten\n"}) {
    const auto file = ParseCaseFile("x.cases", good + "# c\n" + bad + good);
    ASSERT_FALSE(file.ok()) << bad;
    EXPECT_TRUE(file.message().starts_with("x.cases:3: ")) << file.message();
  }
}

TEST(CaseFile, NegativeCasesMayHaveNoMeaning) {
  EXPECT_TRUE(
      ParseCaseFile("x", "attention_forward sq=1 skv=1 d=0 expect=refuse\n")
          .ok());
  EXPECT_FALSE(
      ParseCaseFile("x", "attention_forward sq=1 skv=1 d=0 expect=fail\n")
          .ok());
}

TEST(CaseFile, UnreadableFilesAreRefused) {
  const auto absent = ReadCaseFile("/no/such.cases");
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.message().find("/no/such.cases"), std::string::npos);
  EXPECT_FALSE(ReadCaseFile(testing::TempDir()).ok());
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
    const auto file = ReadCaseFile(entry.path().string());
    ASSERT_TRUE(file.ok()) << file.message();
    EXPECT_FALSE(file.value().entries.empty()) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 3);
}

}  // namespace
}  // namespace lockstep::verify
