#include "verify/emulator/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/contract/lanes.h"
#include "reference/contract/with_fma.h"
#include "reference/elementary.h"

namespace lockstep::verify {
namespace {

// What is left of a sum in f32 where an accumulator keeps less (G < 0).
float Kept(float x, int guard_bits) {
  return guard_bits < 0 ? TruncateToBits(x, 24 + guard_bits) : x;
}

// The block of a matrix unit: products and accumulator aligned to the largest,
// everything below the guard bits cut off, then the sum cut to f32.
LOCKSTEP_IN_BOTH inline float SumOfBlock(const Chain& block, float acc,
                                         int guard_bits) {
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
  const double unit = std::ldexp(1.0, std::ilogb(largest) - 23 - guard_bits);
  double sum = std::trunc(double{acc} / unit);
  for (int64_t i = 0; i < block.n; ++i) {
    const double product = double{block.a[i * block.a_stride]} *
                           double{block.b[i * block.b_stride]};
    sum += std::trunc(product / unit);
  }
  return Kept(TowardsZero(sum * unit), guard_bits);
}

}  // namespace

// Eight chains side by side: one alone waits for itself.
void DotRows(const float* a, std::span<const float* const> b, int64_t n,
             float* sums) {
  constexpr size_t kChains = 8;
  WithFma([&]() LOCKSTEP_IN_BOTH {
    for (size_t first = 0; first < b.size(); first += kChains) {
      const size_t count = std::min(kChains, b.size() - first);
      const float* rows[kChains];
      for (size_t r = 0; r < kChains; ++r) {
        rows[r] = b[first + std::min(r, count - 1)];
      }
      float chains[kChains] = {};
      for (int64_t i = 0; i < n; ++i) {
        for (size_t r = 0; r < kChains; ++r) {
          chains[r] = std::fma(a[i], rows[r][i], chains[r]);
        }
      }
      std::copy_n(chains, count, sums + first);
    }
  });
}

float Shrink(float x, float d) {
  return std::ldexp(x, static_cast<int>(std::max(d, -2000.0f)));
}

void AddScaled(float weight, const float* v, int64_t n, float* sums) {
  WithFma([&]() LOCKSTEP_IN_BOTH {
    for (int64_t c = 0; c < n; ++c) sums[c] = std::fma(weight, v[c], sums[c]);
  });
}

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

// Below 2^-6 e4m3 has the fixed spacing 2^-9. Larger numbers than 448 saturate.
float RoundToE4m3(float x) {
  if (std::isnan(x)) return x;
  const float magnitude = std::fabs(x);
  if (magnitude < 0x1p-6f) {
    return std::copysign((magnitude + 0x1.8p14f) - 0x1.8p14f, x);
  }
  return std::copysign(std::min(RoundToBits(magnitude, 4), 448.0f), x);
}

float RoundTo(float x, NumberType type) {
  if (type == NumberType::kBf16) return RoundToBits(x, 8);
  if (type == NumberType::kTf32) return RoundToBits(x, 11);
  if (type == NumberType::kE4m3) return RoundToE4m3(x);
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
  if (type == NumberType::kTf32) return TruncateToBits(x, 11);
  if (type == NumberType::kF16) {
    const float rounded = RoundTo(x, type);
    if (std::fabs(rounded) <= std::fabs(x)) return rounded;
    return std::fabs(x) < 0x1p-14f
               ? std::copysign(std::fabs(rounded) - 0x1p-24f, x)
               : TruncateToBits(x, 11);
  }
  return x;
}

float FlushedInF16(float x) {
  return std::fabs(x) < 0x1p-14f ? std::copysign(0.0f, x) : x;
}

float SaturatedInF16(float x) {
  const auto most = static_cast<float>(LaneRowOf(Lane::kF16).largest);
  return std::isnan(x) ? x : std::clamp(x, -most, most);
}

float F16ReadAsBf16(float x) {
  return ToFloat(Bf16{reference::RoundToF16(x).bits});
}

float TowardsZero(double x) {
  const float nearest = static_cast<float>(x);
  if (!(std::fabs(static_cast<double>(nearest)) > std::fabs(x))) return nearest;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(nearest) - 1);
}

float AddTo(float acc, float x, const Accumulator& how) {
  switch (how.kind) {
    case Accumulator::Kind::kRn32:
      break;
    case Accumulator::Kind::kTrunc32:
    case Accumulator::Kind::kMma:
      return Kept(TowardsZero(double{acc} + double{x}), how.guard_bits);
    case Accumulator::Kind::kBf16:
      return RoundTo(acc + x, NumberType::kBf16);
    case Accumulator::Kind::kF16:
      return RoundTo(acc + x, NumberType::kF16);
  }
  return acc + x;
}

float Accumulate(const Chain& chain, float acc, const Accumulator& how) {
  if (how.kind == Accumulator::Kind::kMma) {
    return WithFma([&]() LOCKSTEP_IN_BOTH {
      float sum = acc;
      for (int64_t i = 0; i < chain.n; i += how.width) {
        Chain block = chain;
        block.a += i * chain.a_stride;
        block.b += i * chain.b_stride;
        block.n = std::min<int64_t>(how.width, chain.n - i);
        sum = SumOfBlock(block, sum, how.guard_bits);
      }
      return sum;
    });
  }
  if (how.kind == Accumulator::Kind::kRn32) {
    return WithFma([&]() LOCKSTEP_IN_BOTH {
      float sum = acc;
      for (int64_t i = 0; i < chain.n; ++i) {
        sum = std::fma(chain.a[i * chain.a_stride], chain.b[i * chain.b_stride],
                       sum);
      }
      return sum;
    });
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
        break;  // above
    }
  }
  return acc;
}

}  // namespace lockstep::verify
