// The judge checks itself before it judges: a wrong answer is noticed.
#include "verify/run/self_check.h"
#include "verify/registry/ops.h"

#include <gtest/gtest.h>

#include <cfenv>

namespace lockstep::verify {
namespace {

TEST(SelfCheck, KnownAnswersHoldHere) {
  const Status status = SelfCheck(Ops());
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.message());
  EXPECT_GE(KnownAnswers().size(), 2u);
}

TEST(SelfCheck, EveryWrongDigestIsNoticed) {
  for (const KnownAnswer& good : KnownAnswers()) {
    const char* wrong = "00000000000000000000000000000000";
    for (const KnownAnswer& bad :
         {KnownAnswer{good.line, wrong, good.o, good.lse},
          KnownAnswer{good.line, good.inputs, wrong, good.lse},
          KnownAnswer{good.line, good.inputs, good.o, wrong}}) {
      EXPECT_FALSE(CheckKnownAnswers({&bad, 1}, Ops()).ok());
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
