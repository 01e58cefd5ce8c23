#include "tests/support/elementary_oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/contract/numerics.h"

namespace lockstep::elementary {
namespace {

constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;

// x = z * 2^k, z in [sqrt(1/2), sqrt 2), by frexp.
double SplitExactly(double x, int* k) {
  double z = std::frexp(x, k);
  if (z < kSqrtHalf) {
    z *= 2.0;
    --*k;
  }
  return z;
}

// Nearest value with 8 significant bits, or a multiple of 2^-133; ties to even.
double RoundToBf16Exactly(double x) {
  if (x == 0.0 || std::isinf(x)) return x;
  const int last = std::max(std::ilogb(x) - 7, -133);
  return std::ldexp(std::nearbyint(std::ldexp(x, -last)), last);
}

// sin(2 pi (x + shift)) for |x| <= 2^20, shift a multiple of 1/4: reduced
// exactly to a sine or a cosine of at most an eighth of a turn.
double SinTurnsExactly(double x, double shift) {
  constexpr double kTwoPiDouble = 0x1.921fb54442d18p+2;
  const double turns = x + shift;
  const double n = std::nearbyint(turns * 4.0);
  const double r = (turns - n * 0.25) * kTwoPiDouble;
  switch (static_cast<int64_t>(n) & 3) {
    case 0:
      return std::sin(r);
    case 1:
      return std::cos(r);
    case 2:
      return -std::sin(r);
    default:
      return -std::cos(r);
  }
}

constexpr bool IsNaNBits(uint32_t bits) {
  return (bits & 0x7fffffffu) > 0x7f800000u;
}

}  // namespace

ElementaryBound BoundOf(Function function) {
  switch (function) {
    case Function::kExp2Core:
      return kExp2CoreBound;
    case Function::kExp2:
      return kExp2Bound;
    case Function::kExp:
      return kExpBound;
    case Function::kLog2Core:
      return kLog2CoreBound;
    case Function::kLog2:
      return kLog2Bound;
    case Function::kTanhCore:
    case Function::kTanh:
      return kTanhBound;
    case Function::kSigmoid:
      return kSigmoidBound;
    case Function::kSilu:
      return kSiluBound;
    case Function::kSoftplus:
      return kSoftplusBound;
    case Function::kSinTurnsCore:
      return kSinTurnsBound;
    case Function::kCosTurnsCore:
      return kCosTurnsBound;
    case Function::kLog2SplitZ:
    case Function::kLog2SplitK:
    case Function::kRoundToBf16Lane:
      break;
  }
  return {"exact", 0.0, 0u};
}

bool InDomain(Function function, float x) {
  switch (function) {
    case Function::kExp2Core:
      return std::fabs(x) <= 0.5f;
    case Function::kLog2Core:
      return static_cast<double>(x) >= kSqrtHalf &&
             static_cast<double>(x) < 2.0 * kSqrtHalf;
    case Function::kLog2SplitZ:
    case Function::kLog2SplitK:
      return x > 0.0f && !std::isinf(x);
    case Function::kLog2:
      return x >= 0.0f;
    case Function::kSilu:
      return x >= kSiluLow;
    case Function::kSinTurnsCore:
    case Function::kCosTurnsCore:
      return std::fabs(x) <= kMaxTurns;
    default:
      return !std::isnan(x);
  }
}

double Exact(Function function, float argument) {
  const auto x = static_cast<double>(argument);
  int k = 0;
  switch (function) {
    case Function::kExp2Core:
    case Function::kExp2:
      return std::exp2(x);
    case Function::kExp:
      return std::exp(x);
    case Function::kLog2Core:
    case Function::kLog2:
      return std::log2(x);
    case Function::kTanhCore:
    case Function::kTanh:
      return std::tanh(x);
    case Function::kSigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case Function::kSilu:
      return std::isinf(x) ? x : x / (1.0 + std::exp(-x));
    case Function::kSoftplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
    case Function::kSinTurnsCore:
      return SinTurnsExactly(x, 0.0);
    case Function::kCosTurnsCore:
      return SinTurnsExactly(x, 0.25);
    case Function::kLog2SplitZ:
      return SplitExactly(x, &k);
    case Function::kLog2SplitK:
      SplitExactly(x, &k);
      return k;
    case Function::kRoundToBf16Lane:
      return RoundToBf16Exactly(x);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double UlpError(Function function, float x, float got) {
  constexpr double kOverflow = 0x1.ffffffp+127;  // rounds to infinity
  const double exact = Exact(function, x);
  if (std::isinf(got) || std::isinf(exact)) {
    const bool right = std::fabs(exact) >= kOverflow && std::isinf(got) &&
                       std::signbit(got) == std::signbit(exact);
    return right ? 0.0 : HUGE_VAL;
  }
  if (!(std::fabs(exact) >= 0x1p-126)) {
    return std::fabs(static_cast<double>(got) - exact) * 0x1p149;
  }
  // The power of two below |exact|, by its exponent bits.
  const double power = std::bit_cast<double>(std::bit_cast<uint64_t>(exact) &
                                             0x7ff0000000000000u);
  return std::fabs(static_cast<double>(got) - exact) * (0x1p23 / power);
}

bool IsCore(Function function) {
  return function == Function::kExp2Core || function == Function::kLog2Core ||
         function == Function::kTanhCore ||
         function == Function::kSinTurnsCore ||
         function == Function::kCosTurnsCore;
}

uint32_t CountViolations(Function function, uint32_t first,
                         const uint32_t* bits) {
  constexpr uint32_t kOne = 0x3f800000u;
  constexpr uint32_t kInfinity = 0x7f800000u;
  constexpr uint32_t kMaxTurnsBits = std::bit_cast<uint32_t>(kMaxTurns);
  const bool core = IsCore(function);
  // x: argument, y: result. Without a branch, so that the loop is vector code.
  const auto count = [&](const auto& holds) {
    uint32_t violations = 0;
    for (uint32_t i = 0; i < kChunk; ++i) {
      const uint32_t x = first + i;
      const uint32_t y = bits[i];
      const bool nan_kept = core ? IsNaNBits(y) : y == kCanonicalNaNBits;
      violations += IsNaNBits(x) ? !nan_kept : !holds(x, y);
    }
    return violations;
  };
  switch (function) {
    case Function::kExp2Core:
      return count([](uint32_t x, uint32_t y) {
        const bool elsewhere = (x & 0x7fffffffu) > 0x3f000000u;
        return elsewhere | ((y >= 0x3f000000u) & (y < 0x40000000u));
      });
    case Function::kTanhCore:
    case Function::kTanh:
      return count([](uint32_t x, uint32_t y) {
        return ((y & 0x7fffffffu) <= kOne) & ((x >> 31) == (y >> 31));
      });
    case Function::kSigmoid:
      return count([](uint32_t, uint32_t y) { return y <= kOne; });
    case Function::kSinTurnsCore:
    case Function::kCosTurnsCore:
      return count([](uint32_t x, uint32_t y) {
        const bool elsewhere = (x & 0x7fffffffu) > kMaxTurnsBits;
        return elsewhere | ((y & 0x7fffffffu) <= kOne);
      });
    case Function::kSilu:
      return count([](uint32_t x, uint32_t y) {
        const bool minus_infinity = x == 0xff800000u;
        return ((x >> 31) == (y >> 31)) |
               (minus_infinity & (y == kCanonicalNaNBits));
      });
    case Function::kSoftplus:
    case Function::kExp2:
    case Function::kExp:
      return count([](uint32_t, uint32_t y) { return y <= kInfinity; });
    case Function::kLog2:
      return count([](uint32_t x, uint32_t y) {
        return (x <= 0x80000000u) | (y == kCanonicalNaNBits);
      });
    case Function::kLog2Core:
    case Function::kRoundToBf16Lane:
      return count([](uint32_t, uint32_t) { return true; });
    case Function::kLog2SplitZ:  // where it is defined the oracle judges it
    case Function::kLog2SplitK:
      break;
  }
  return 0;
}

}  // namespace lockstep::elementary
