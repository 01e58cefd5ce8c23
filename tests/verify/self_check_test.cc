// The judge checks itself before it judges: a wrong answer is noticed.
#include "verify/run/self_check.h"
#include "verify/registry/ops.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <set>
#include <string>
#include <utility>

namespace lockstep::verify {
namespace {

TEST(SelfCheck, KnownAnswersHoldHere) {
  const Status status = SelfCheck(Ops());
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.message());
  std::set<std::string> ops;
  for (const KnownAnswer& answer : KnownAnswers()) {
    ops.insert(OpName(ParseCase(answer.line, Ops()).value()));
  }
  for (const char* op :
       {"attention_forward", "attention_backward", "attention_merge",
        "mamba3_scan", "mamba3_scan_backward", "ssd_scan"}) {
    EXPECT_TRUE(ops.contains(op)) << op;
  }
}

// One digit of each digest, of inputs and of every output, in turn.
TEST(SelfCheck, EveryWrongDigestIsNoticed) {
  for (const KnownAnswer& good : KnownAnswers()) {
    std::string wrong = good.digests;
    int digests = 0;
    for (size_t at = wrong.find('='); at != wrong.npos;
         at = wrong.find('=', at + 1), ++digests) {
      char& digit = wrong[at + 1];
      const char right = std::exchange(digit, digit == '0' ? '1' : '0');
      const KnownAnswer bad = {good.line, wrong.c_str()};
      const Status status = CheckKnownAnswers({&bad, 1}, Ops());
      const size_t begin = wrong.rfind(' ', at) + 1;  // npos is before 0
      EXPECT_TRUE(status.message().starts_with(wrong.substr(begin, at - begin) +
                                               " of '"))
          << status.message();
      digit = right;
    }
    EXPECT_GE(digests, 3) << good.line;
    // One output fewer, or one more.
    const std::string fewer = wrong.substr(0, wrong.rfind(' '));
    const std::string more = wrong + " p=" + std::string(32, '0');
    for (const std::string& other : {fewer, more}) {
      const KnownAnswer bad = {good.line, other.c_str()};
      EXPECT_FALSE(CheckKnownAnswers({&bad, 1}, Ops()).ok()) << other;
    }
  }
}

TEST(SelfCheck, AWrongRoundingModeIsNoticed) {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const Status all = SelfCheck(Ops());
  const Status answers = CheckKnownAnswers(KnownAnswers(), Ops());
  std::fesetround(FE_TONEAREST);
  EXPECT_FALSE(all.ok());
  EXPECT_FALSE(answers.ok());
}

}  // namespace
}  // namespace lockstep::verify
