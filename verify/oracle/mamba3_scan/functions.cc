#include "verify/oracle/mamba3_scan/functions.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lockstep::oracle {
namespace {

constexpr double kLn2High = 0x1.62e42fefa39efp-1;
constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;
constexpr double kTau = 0x1.921fb54442d18p+2;      // 2 pi
constexpr double kTauLow = 0x1.1a62633145c07p-52;  // and its rest
constexpr double kInverseLn2 = 0x1.71547652b82fep+0;

// e^r - 1 for |r| <= 0.35, by Taylor's series to r^14: its rest is below
// 2^-60 r.
double Expm1Core(double r) {
  double sum = 0;
  for (int n = 14; n >= 1; --n) sum = std::fma(sum, r, 1.0) * (1.0 / n);
  // sum = (1 + r/2 (1 + r/3 (...))) built from the inside out.
  return sum * r;
}

double PowerOfTwo(int k) {
  return std::bit_cast<double>(static_cast<uint64_t>(k + 1023) << 52);
}

}  // namespace

double ScanExp(double x) {
  if (x != x) return x;
  if (x < -745) return 0;
  if (x > 709) return std::numeric_limits<double>::infinity();
  const double n = std::nearbyint(x * kInverseLn2);
  const double r = std::fma(-n, kLn2Low, std::fma(-n, kLn2High, x));
  const int k = static_cast<int>(n);
  // In two steps: 2^k may be subnormal.
  return (1 + Expm1Core(r)) * PowerOfTwo(k / 2) * PowerOfTwo(k - k / 2);
}

double ScanTanh(double x) {
  if (x != x) return x;
  const double y = std::fabs(x);
  double t = 0;
  if (y < 0.17) {
    const double e = Expm1Core(2 * y);
    t = e / (e + 2);
  } else if (y > 22) {
    t = 1;
  } else {
    t = 1 - 2 / (ScanExp(2 * y) + 1);
  }
  return std::copysign(t, x);
}

double ScanSigmoid(double x) { return 1 / (1 + ScanExp(-x)); }

SinCos SinCosOfTurns(double turns) {
  // Quarters of a turn: |rest| <= 1/8 turn, exact.
  const double quarter = std::nearbyint(turns * 4);
  const double rest = std::fma(quarter, -0.25, turns);
  const double x = std::fma(rest, kTau, rest * kTauLow);
  const double square = x * x;
  double sine = 0;
  double cosine = 0;
  for (int n = 21; n >= 3; n -= 2) {
    sine = -(1 + sine) * square * (1.0 / (n * (n - 1)));
  }
  for (int n = 22; n >= 2; n -= 2) {
    cosine = -(1 + cosine) * square * (1.0 / (n * (n - 1)));
  }
  const double s = std::fma(sine, x, x);
  const double c = 1 + cosine;
  switch (static_cast<int64_t>(quarter) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

}  // namespace lockstep::oracle
