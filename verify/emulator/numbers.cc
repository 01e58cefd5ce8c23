#include "verify/emulator/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace lockstep::verify {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// x * 2^k for integer k, through two factors, so that 2^k may leave range.
double TimesPowerOfTwo(double x, int k) {
  const int half = k / 2;
  const auto power = [](int e) {
    return std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52);
  };
  return x * power(half) * power(k - half);
}

// e^y - 1 for |y| <= 0.35: Taylor to y^16, remainder below 2^-70.
double SmallExpm1(double y) {
  double sum = 1.0 / 20922789888000.0;
  double inverse[] = {1.0 / 1307674368000.0,
                      1.0 / 87178291200.0,
                      1.0 / 6227020800.0,
                      1.0 / 479001600.0,
                      1.0 / 39916800.0,
                      1.0 / 3628800.0,
                      1.0 / 362880.0,
                      1.0 / 40320.0,
                      1.0 / 5040.0,
                      1.0 / 720.0,
                      1.0 / 120.0,
                      1.0 / 24.0,
                      1.0 / 6.0,
                      0.5,
                      1.0};
  for (const double c : inverse) sum = std::fma(sum, y, c);
  return sum * y;
}

// The block of a matrix unit: products and accumulator aligned to the largest,
// everything below the guard bits cut off, then the sum cut to f32.
float BlockSum(const Chain& block, float acc, int guard_bits) {
  double largest = std::fabs(static_cast<double>(acc));
  double plain = acc;
  for (int64_t i = 0; i < block.n; ++i) {
    const double product = double{block.a[i * block.a_stride]} *
                           double{block.b[i * block.b_stride]};
    largest = std::max(largest, std::fabs(product));
    plain += product;
  }
  if (!(largest > 0x1p-900 && largest < 0x1p900) || !std::isfinite(plain)) {
    return static_cast<float>(plain);
  }
  const double unit =
      TimesPowerOfTwo(1.0, std::ilogb(largest) - 23 - guard_bits);
  double sum = std::trunc(double{acc} / unit);
  for (int64_t i = 0; i < block.n; ++i) {
    const double product = double{block.a[i * block.a_stride]} *
                           double{block.b[i * block.b_stride]};
    sum += std::trunc(product / unit);
  }
  return TowardsZero(sum * unit);
}

}  // namespace

float RoundToBits(float x, int bits) {
  if (!std::isfinite(x)) return x;
  const int drop = 24 - bits;
  if (drop <= 0) return x;
  uint32_t word = std::bit_cast<uint32_t>(x);
  const uint32_t half = (uint32_t{1} << (drop - 1)) - 1;
  word += half + ((word >> drop) & 1u);
  return std::bit_cast<float>(word >> drop << drop);
}

float TruncateToBits(float x, int bits) {
  if (!std::isfinite(x) || bits >= 24) return x;
  const int drop = 24 - bits;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(x) >> drop << drop);
}

float RoundTo(float x, NumberType type) {
  if (type == NumberType::kBf16) return RoundToBits(x, 8);
  if (type != NumberType::kF16 || !std::isfinite(x)) return x;
  const float magnitude = std::fabs(x);
  // Below 2^-14 f16 has the fixed spacing 2^-24: adding 1.5 * 2^-1 leaves
  // exactly that spacing.
  if (magnitude < 0x1p-14f) {
    return std::copysign((magnitude + 0.75f) - 0.75f, x);
  }
  const float rounded = RoundToBits(x, 11);
  return std::fabs(rounded) > 65504.0f
             ? std::copysign(std::numeric_limits<float>::infinity(), x)
             : rounded;
}

float TruncateTo(float x, NumberType type) {
  if (type == NumberType::kBf16) return TruncateToBits(x, 8);
  if (type == NumberType::kF16) {
    const float rounded = RoundTo(x, type);
    if (std::fabs(rounded) <= std::fabs(x)) return rounded;
    return std::fabs(x) < 0x1p-14f
               ? std::copysign(std::fabs(rounded) - 0x1p-24f, x)
               : TruncateToBits(x, 11);
  }
  return x;
}

float TowardsZero(double x) {
  const float nearest = static_cast<float>(x);
  if (!(std::fabs(static_cast<double>(nearest)) > std::fabs(x))) return nearest;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(nearest) - 1);
}

double Exp2Double(double x) {
  if (x != x) return x;
  if (x >= 1024) return kInf;
  if (x <= -1080) return 0;
  const double n = std::nearbyint(x);
  // ln 2 in two parts: the product's rounding would cost 2^-53 of the result.
  const double f = x - n;
  const double y = std::fma(f, 0x1.62e42fefa39efp-1, f * 0x1.abc9e3b39803fp-56);
  return TimesPowerOfTwo(1.0 + SmallExpm1(y), static_cast<int>(n));
}

double ExpDouble(double x) {
  if (x != x) return x;
  if (x >= 710) return kInf;
  if (x <= -750) return 0;
  const double n = std::nearbyint(x * 0x1.71547652b82fep+0);
  const double high = std::fma(-n, 0x1.62e42fefa39efp-1, x);
  const double y = std::fma(-n, 0x1.abc9e3b39803fp-56, high);
  return TimesPowerOfTwo(1.0 + SmallExpm1(y), static_cast<int>(n));
}

double LogDouble(double x) {
  if (x == 0) return -kInf;
  if (!(x > 0) || x == kInf) return x > 0 ? x : x - x;
  int k = std::ilogb(x);
  double z = TimesPowerOfTwo(x, -k);
  if (z > 0x1.6a09e667f3bcdp+0) {
    z *= 0.5;
    ++k;
  }
  // log z = 2 atanh s, s = (z-1)/(z+1), |s| <= 0.172: s^2 <= 0.0295.
  const double s = (z - 1) / (z + 1);
  const double s2 = s * s;
  double sum = 0;
  for (int i = 31; i >= 3; i -= 2) sum = std::fma(sum, s2, 1.0 / i);
  const double log_z = 2 * std::fma(s * s2, sum, s);
  return std::fma(k, 0x1.62e42fefa39efp-1, log_z);
}

double TanhDouble(double x) {
  const double magnitude = std::fabs(x);
  if (magnitude < 0.17) {
    const double e = SmallExpm1(2 * x);
    return e / (e + 2);
  }
  const double e = ExpDouble(-2 * magnitude);
  return std::copysign((1 - e) / (1 + e), x);
}

float AddTo(float acc, float x, const Accumulator& how) {
  switch (how.kind) {
    case Accumulator::Kind::kRn32:
      break;
    case Accumulator::Kind::kTrunc32:
    case Accumulator::Kind::kMma:
      return TowardsZero(double{acc} + double{x});
    case Accumulator::Kind::kBf16:
      return RoundTo(acc + x, NumberType::kBf16);
    case Accumulator::Kind::kF16:
      return RoundTo(acc + x, NumberType::kF16);
  }
  return acc + x;
}

float Accumulate(const Chain& chain, float acc, const Accumulator& how) {
  if (how.kind == Accumulator::Kind::kMma) {
    for (int64_t i = 0; i < chain.n; i += how.width) {
      Chain block = chain;
      block.a += i * chain.a_stride;
      block.b += i * chain.b_stride;
      block.n = std::min<int64_t>(how.width, chain.n - i);
      acc = BlockSum(block, acc, how.guard_bits);
    }
    return acc;
  }
  for (int64_t i = 0; i < chain.n; ++i) {
    const float a = chain.a[i * chain.a_stride];
    const float b = chain.b[i * chain.b_stride];
    switch (how.kind) {
      case Accumulator::Kind::kTrunc32:
        acc = TowardsZero(
            std::fma(static_cast<double>(a), b, static_cast<double>(acc)));
        break;
      case Accumulator::Kind::kBf16:
        acc = RoundTo(std::fma(a, b, acc), NumberType::kBf16);
        break;
      case Accumulator::Kind::kF16:
        acc = RoundTo(std::fma(a, b, acc), NumberType::kF16);
        break;
      case Accumulator::Kind::kRn32:
      case Accumulator::Kind::kMma:
        acc = std::fma(a, b, acc);
        break;
    }
  }
  return acc;
}

}  // namespace lockstep::verify
