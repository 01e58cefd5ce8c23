// Candidate specs: what is understood, and what is refused with a reason.
#include "verify/candidate/candidate.h"

#include <gtest/gtest.h>

#include <string>

#include "optimized/plan.h"

namespace lockstep::verify {
namespace {

TEST(Candidate, SpecsRoundTrip) {
  const std::string target = optimized::Targets().front().name;
  for (const std::string& spec : std::vector<std::string>{
           "builtin:optimized", "builtin:optimized@" + target,
           "builtin:optimized,tile=3x48,threads=2",
           "builtin:optimized@" + target +
               ",tile=32x64,threads=1,native=0,shift=5",
           "builtin:reference", "builtin:reference,shift=3",
           "files:some/dir"}) {
    const auto candidate = ParseCandidate(spec);
    ASSERT_TRUE(candidate.ok()) << spec;
    EXPECT_EQ(candidate.value()->Spec(), spec);
  }
}

TEST(Candidate, BadSpecsAreRefused) {
  for (const char* spec : {"",
                           "optimized",
                           "builtin:",
                           "builtin:optimizedX",
                           "builtin:optimized@",
                           "builtin:optimized@NOPE",
                           "builtin:optimized,",
                           "builtin:optimized,,",
                           "builtin:optimized,tile=3",
                           "builtin:optimized,tile=3x15",
                           "builtin:optimized,tile=0x16",
                           "builtin:optimized,tile=-1x16",
                           "builtin:optimized,threads=0",
                           "builtin:optimized,threads=9999999",
                           "builtin:optimized,native=2",
                           "builtin:optimized,shift=64",
                           "builtin:optimized,speed=1",
                           "builtin:reference,threads=2",
                           "builtin:reference@AVX2",
                           "files:",
                           "magic:x"}) {
    EXPECT_FALSE(ParseCandidate(spec).ok()) << spec;
  }
}

TEST(Candidate, UnknownKindsNameTheKnownOnes) {
  const auto candidate = ParseCandidate("magic:x");
  ASSERT_FALSE(candidate.ok());
  for (const CandidateKind& kind : CandidateKinds()) {
    EXPECT_NE(candidate.message().find(kind.form), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::verify
