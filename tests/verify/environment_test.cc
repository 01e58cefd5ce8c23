// N17: a wrong floating-point environment is seen, not computed with.
#include "verify/run/environment.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <string>
#include <utility>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lockstep::verify {
namespace {

TEST(Environment, IsSoundHere) {
  const Status status = CheckArithmetic();
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.message());
  const Environment environment = ReadEnvironment();
  EXPECT_EQ(environment.rounding, "nearest");
  EXPECT_FALSE(environment.ftz);
  EXPECT_FALSE(environment.daz);
  EXPECT_GT(environment.threads, 0);
  EXPECT_FALSE(environment.targets.empty());
  EXPECT_FALSE(environment.highway.empty());
}

TEST(Environment, OtherRoundingModesAreRefused) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const Status status = CheckArithmetic();
    const std::string rounding = ReadEnvironment().rounding;
    std::fesetround(FE_TONEAREST);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(rounding, "nearest");
  }
}

#if defined(__x86_64__)
// A library that sets MXCSR alone: fegetround, which reads the x87 unit, says
// nearest, and sums are not.
TEST(Environment, RoundingOfVectorsAloneIsNamed) {
  const unsigned before = _mm_getcsr();
  for (const auto& [mode, name] :
       {std::pair(_MM_ROUND_UP, "upward"),
        std::pair(_MM_ROUND_DOWN, "downward"),
        std::pair(_MM_ROUND_TOWARD_ZERO, "toward_zero")}) {
    _mm_setcsr((before & ~static_cast<unsigned>(_MM_ROUND_MASK)) |
               static_cast<unsigned>(mode));
    const int x87 = std::fegetround();
    const Status status = CheckArithmetic();
    const std::string rounding = ReadEnvironment().rounding;
    _mm_setcsr(before);
    EXPECT_EQ(x87, FE_TONEAREST);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(rounding, name);
    EXPECT_NE(status.message().find(std::string("mode is ") + name),
              std::string::npos)
        << status.message();
  }
}

TEST(Environment, FlushingIsRefused) {
  constexpr unsigned kFtz = 0x8000;
  constexpr unsigned kDaz = 0x0040;
  const unsigned before = _mm_getcsr();
  for (const unsigned flag : {kFtz, kDaz}) {
    _mm_setcsr(before | flag);
    const Status status = CheckArithmetic();
    const Environment environment = ReadEnvironment();
    _mm_setcsr(before);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(environment.ftz, flag == kFtz);
    EXPECT_EQ(environment.daz, flag == kDaz);
  }
}
#endif

}  // namespace
}  // namespace lockstep::verify
