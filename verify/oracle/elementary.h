// exp, tanh and log in binary64: fixed sequences of fma, add, multiply and
// divide, so that every lane type gives the same bits. Bounds are measured by
// tests/verify/oracle_elementary_test.cc against long double.
#ifndef LOCKSTEP_VERIFY_ORACLE_ELEMENTARY_H_
#define LOCKSTEP_VERIFY_ORACLE_ELEMENTARY_H_

#include <array>
#include <cmath>
#include <cstddef>

#include "verify/oracle/lanes.h"

namespace lockstep::oracle {

// Relative errors, what the tests assert and the oracle adds as its own.
// Worst seen: see the test.
inline constexpr double kExpError = 0x1p-51;
inline constexpr double kTanhError = 0x1p-50;
inline constexpr double kSlopeError = 0x1p-48;  // of sech^2
inline constexpr double kLogError = 0x1p-50;    // relative, x not in (0.7, 1.5)

// Below this Exp gives 0, above -kLeastExp it stands still.
inline constexpr double kLeastExp = -708.0;

// 1/n! for n = 2..13: the Taylor series of e^r - 1 - r on |r| <= ln2/2, whose
// next term is below 2^-56 * |r|.
inline constexpr std::array<double, 12> kInverseFactorial = [] {
  std::array<double, 12> c{};
  double factorial = 1;
  for (size_t n = 2; n < 14; ++n) {
    factorial *= static_cast<double>(n);  // exact: 13! < 2^53
    c[n - 2] = 1 / factorial;
  }
  return c;
}();

// e^x = power * (1 + rest), |rest| <= 0.42.
template <typename B>
struct ExpParts {
  B power;
  B rest;
};

// For kLeastExp <= x <= -kLeastExp; x is clamped to that range, NaN to its end.
template <typename B>
inline ExpParts<B> SplitExp(B x) {
  x = Max(Min(x, B(-kLeastExp)), B(kLeastExp));
  const B n = Round(x * B(0x1.71547652b82fep+0));
  // ln 2 in two pieces; n * the first is exact (its last 21 bits are zero).
  B r = Fma(n, B(-0x1.62e42fee00000p-1), x);
  r = Fma(n, B(-0x1.a39ef35793c76p-33), r);
  B q(kInverseFactorial.back());
  for (size_t i = kInverseFactorial.size() - 1; i-- > 0;) {
    q = Fma(q, r, B(kInverseFactorial[i]));
  }
  return {PowerOfTwo(n), Fma(r * r, q, r)};
}

// e^x; 0 below kLeastExp. Relative error kExpError.
template <typename B>
inline B Exp(B x) {
  const ExpParts<B> e = SplitExp(x);
  return Select(x < B(kLeastExp), B(0.0), Fma(e.power, e.rest, e.power));
}

// e^x - 1. Relative error 2^-50.
template <typename B>
inline B ExpMinusOne(B x) {
  const ExpParts<B> e = SplitExp(x);
  return Fma(e.power, e.rest, e.power - B(1.0));
}

// By how much a weight p = e^-distance may be wrong whose logarithm is off by
// at most eta: p (e^eta - 1). A weight that is 0 here, or may be off by more
// than binary64 holds, may become e^(eta - distance): a score that cancels may
// be off by more than it lies below the largest. The error is of * grown.
template <typename B>
struct PhiOf {
  B of;      // p, or 1 where eta alone says too little
  B grown;   // e^eta - 1, or e^(eta - distance)
  B unsure;  // 1 there, else 0

  // distance: infinite for a key that does not count.
  PhiOf(B p, B eta, B distance) {
    const B zero(0.0), one(1.0), largest(-kLeastExp);
    const B most = eta - distance;
    // A NaN is not less than anything, so it counts as unsure.
    unsure = Select(zero < p, Select(eta < largest, zero, one),
                    Select(most < B(kLeastExp), zero, one));
    const auto is_unsure = zero < unsure;
    const ExpParts<B> e = SplitExp(Min(Select(is_unsure, most, eta), largest));
    of = Select(is_unsure, one, p);
    grown = Fma(e.power, e.rest, Select(is_unsure, e.power, e.power - one));
  }
};

// tanh(y), relative error kTanhError, small y included; and its derivative
// sech(y)^2, relative error kSlopeError.
template <typename B>
struct TanhAndSlope {
  B tanh;
  B slope;
};
template <typename B>
inline TanhAndSlope<B> TanhWithSlope(B y) {
  const B two(2.0);
  const ExpParts<B> e = SplitExp(Abs(y) * B(-2.0));
  const B rest = Fma(e.power, e.rest, e.power - B(1.0));  // e^-2|y| - 1
  const B whole = Fma(e.power, e.rest, e.power);          // e^-2|y|
  const B tanh = (B(0.0) - rest) / (two + rest);
  const B sum = two + rest;
  return {Select(y < B(0.0), B(0.0) - tanh, tanh),
          (B(4.0) * whole) / (sum * sum)};
}

// Natural logarithm of a normal x > 0: x = z * 2^k with z in [sqrt 1/2, sqrt 2)
// and the series of 2 atanh((z - 1) / (z + 1)). Error kLogError of |ln x|, or
// 2^-52 absolute where that is larger.
inline double Log(double x) {
  int exponent = 0;
  double z = std::frexp(x, &exponent);
  if (z < 0x1.6a09e667f3bcdp-1) {
    z *= 2;
    --exponent;
  }
  const double f = (z - 1) / (z + 1);
  const double square = f * f;
  double series = 1.0 / 23;
  for (int n = 21; n >= 3; n -= 2) series = std::fma(series, square, 1.0 / n);
  const double rest = std::fma(2 * f * square, series, 2 * f);
  const double k = exponent;
  return std::fma(k, 0x1.62e42fee00000p-1,
                  std::fma(k, 0x1.a39ef35793c76p-33, rest));
}

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_ELEMENTARY_H_
