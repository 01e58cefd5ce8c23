// The oracle's exp, tanh and log against long double, at the bounds they state.
#include "verify/oracle/elementary.h"

#include <gtest/gtest.h>

#include <cmath>

// The textbook is in long double; promotion to it is what is wanted.
#pragma GCC diagnostic ignored "-Wdouble-promotion"

namespace lockstep::oracle {
namespace {

long double Relative(long double want, double got) {
  return want == 0 ? fabsl(got) : fabsl((want - got) / want);
}

TEST(OracleElementary, StaysWithinItsBounds) {
  long double exp = 0, tanh = 0, slope = 0, log = 0, minus_one = 0;
  for (int n = 0; n < 400000; ++n) {
    const double t = (n + 0.5) / 400000;
    const double x = -707 + 1400 * t;
    exp = std::max(exp, Relative(expl(x), Exp(ScalarLane(x)).value));
    // Both ends of the magnitudes, either sign.
    const double y = std::ldexp(1 + t, n % 70 - 64) * (n % 2 == 0 ? 1 : -1);
    const TanhAndSlope<ScalarLane> r = TanhWithSlope(ScalarLane(y));
    tanh = std::max(tanh, Relative(tanhl(y), r.tanh.value));
    const long double cosh = coshl(y);
    slope = std::max(slope, Relative(1 / (cosh * cosh), r.slope.value));
    minus_one = std::max(minus_one,
                         Relative(expm1l(y), ExpMinusOne(ScalarLane(y)).value));
    const double positive = 1.5 + 1e6 * t * t;
    log = std::max(log, Relative(logl(positive), Log(positive)));
  }
  EXPECT_LE(exp, kExpError);
  EXPECT_LE(tanh, kTanhError);
  EXPECT_LE(slope, kSlopeError);
  EXPECT_LE(minus_one, 0x1p-50);
  EXPECT_LE(log, kLogError);
  RecordProperty("worst", std::to_string(static_cast<double>(exp)) + " " +
                              std::to_string(static_cast<double>(tanh)));
}

TEST(OracleElementary, KnowsTheEnds) {
  EXPECT_EQ(Exp(ScalarLane(0.0)).value, 1.0);
  EXPECT_EQ(Exp(ScalarLane(-HUGE_VAL)).value, 0.0);
  EXPECT_EQ(Exp(ScalarLane(-800.0)).value, 0.0);
  EXPECT_EQ(TanhWithSlope(ScalarLane(0.0)).tanh.value, 0.0);
  EXPECT_EQ(TanhWithSlope(ScalarLane(0.0)).slope.value, 1.0);
  EXPECT_EQ(TanhWithSlope(ScalarLane(1e300)).tanh.value, 1.0);
  EXPECT_EQ(TanhWithSlope(ScalarLane(-1e300)).tanh.value, -1.0);
  EXPECT_EQ(Log(1.0), 0.0);
}

// What a weight may be off by, where it or its error leaves binary64, too.
TEST(OracleElementary, AWeightMayBeOffByMoreThanItIs) {
  for (const double distance : {0.0, 1.0, 300.0, 707.9, 708.1, 720.0, 2000.0}) {
    for (const double eta : {1e-9, 0.1, 1.0, 300.0, 707.0, 709.0, 1300.0,
                             1999.0, 2001.0, 2708.0, 1e6, double{HUGE_VAL}}) {
      const double p = Exp(ScalarLane(-distance)).value;
      const PhiOf<ScalarLane> off(p, eta, distance);
      const double got = off.of.value * off.grown.value;
      const double most = eta - distance;
      if (most > -kLeastExp) {
        EXPECT_GE(got, 1e307) << distance << " " << eta;
      } else {
        const long double x = -static_cast<long double>(distance);
        EXPECT_GE(got, expl(x) * expm1l(eta) * (1 - 0x1p-40L) - 1e-307L)
            << distance << " " << eta;
        EXPECT_LE(got, expl(x + eta) * (1 + 0x1p-40L) + 1e-307L)
            << distance << " " << eta;
      }
      const bool sure = p > 0 ? eta < -kLeastExp : most < kLeastExp;
      EXPECT_EQ(off.unsure.value, sure ? 0 : 1) << distance << " " << eta;
      if (sure) EXPECT_EQ(got, p * ExpMinusOne(ScalarLane(eta)).value);
    }
  }
  for (const double p : {0.0, 0.5}) {
    const PhiOf<ScalarLane> off(p, std::nan(""), 1);
    EXPECT_GE(off.of.value * off.grown.value, 1e307);
  }
  EXPECT_EQ(PhiOf<ScalarLane>(0.0, 0.0, HUGE_VAL).unsure.value, 0);
}

}  // namespace
}  // namespace lockstep::oracle
