// Further draws of a case: they follow from its line, and keep its problem.
#include "verify/domain/draws/further.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verify/domain/domain.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// The same line has the same draws: recorded reports name them.
TEST(FurtherDraws, FollowFromTheLine) {
  const auto lines = [](const char* line, int64_t count) {
    std::vector<std::string> draws;
    for (const Case& c : FurtherDraws(ParseCase(line).value(), count)) {
      EXPECT_TRUE(ValidateCase(c).ok()) << MinimalLine(c);
      draws.push_back(MinimalLine(c));
    }
    return draws;
  };
  const char* const line =
      "attention_forward hq=2 sq=4 skv=600 d=16 cap=30 sinklogit=normal:1 "
      "q_seg=runs:2,2 kv_seg=runs:300,300";
  EXPECT_EQ(lines(line, 2), lines(line, 2));
  EXPECT_EQ(lines(line, 2).size(), 9u);  // and the short twin, with six draws
  EXPECT_TRUE(lines(line, 0).empty());
  // More draws are the same, and others.
  const auto few = lines(line, 2), many = lines(line, 6);
  EXPECT_EQ(many.size(), 13u);
  EXPECT_TRUE(std::equal(few.begin(), few.begin() + 2, many.begin()));
  EXPECT_TRUE(std::equal(few.begin() + 2, few.end(), many.begin() + 6));
  // Many keys first: half of the weight on one, and nearly all of it.
  EXPECT_NE(few[0].find("peak:8,600"), few[0].npos) << few[0];
  EXPECT_NE(few[1].find("peak:17,600"), few[1].npos) << few[1];
  // The twin meets every kind.
  for (const std::string part :
       {"caps:", "peak:", "q.const:", "k.normal:1073741824",
        "q.normal:1073741824", "signs:200", "const:-inf"}) {
    EXPECT_TRUE(std::any_of(few.begin() + 2, few.end(), [&](const auto& text) {
      return text.find(part) != text.npos && text.find("skv=600") == text.npos;
    })) << part;
  }
  for (const std::string part :
       {"caps:", "peak:", "signs:200", "const:-inf", "ids:"}) {
    EXPECT_TRUE(std::any_of(many.begin(), many.end(), [&](const auto& text) {
      return text.find(part) != text.npos;
    })) << part;
  }
  EXPECT_EQ(lines("attention_forward sq=4 skv=6 d=4", 2).size(), 2u);
  EXPECT_GE(lines("mamba3_scan t=600 n=4 p=2", 2).size(), 7u);
  EXPECT_EQ(lines("ssd_scan t=9 n=4 p=2", 1).size(), 1u);
  EXPECT_EQ(lines("attention_backward sq=4 skv=6 d=4", 2).size(), 2u);
  // Nothing is drawn of what has no numbers, or numbers for a purpose.
  EXPECT_TRUE(lines("block_plan sq=4 skv=6", 2).empty());
  EXPECT_TRUE(lines("attention_forward sq=4 skv=6 d=4 expect=fail", 2).empty());
  EXPECT_TRUE(
      lines("attention_forward sq=4 skv=6 d=4 fill=probe:cancel", 2).empty());
}

// Sizes, sinks and scores are not bound to each other: a kind of scores meets
// large values and small, sinks that take all weight and none.
TEST(FurtherDraws, MixWhatTheyChange) {
  for (const char* line :
       {"attention_forward hq=2 sq=4 skv=60 d=16 cap=30 sinklogit=normal:1",
        "attention_forward hq=2 sq=4 skv=60 d=16 sinklogit=normal:1"}) {
    std::set<std::pair<bool, bool>> met;  // of scores far below zero
    for (const Case& c : FurtherDraws(ParseCase(line).value(), 24)) {
      const std::string text = MinimalLine(c);
      if (text.find("q.const:") == text.npos) continue;
      met.insert({text.find("v.normal:1048576") != text.npos,
                  text.find("const:-inf") != text.npos});
    }
    EXPECT_EQ(met.size(), 4u) << line;
  }
}

// Of many lines: every draw is legal, and another case of the same shape.
TEST(FurtherDraws, KeepTheProblem) {
  for (const Domain& domain : Domains()) {
    for (uint64_t n = 0; n < 300; ++n) {
      const Case c = DrawCase(domain, {}, 2, n)[0];
      for (const Case& drawn : FurtherDraws(c, 4)) {
        ASSERT_TRUE(ValidateCase(drawn).ok()) << CanonicalLine(drawn);
        EXPECT_EQ(ParseCase(CanonicalLine(drawn)).value(), drawn);
        EXPECT_NE(drawn, c) << CanonicalLine(c);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::verify
