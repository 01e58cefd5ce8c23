#include "reference/matrix_unit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <vector>

#include "reference/contract/with_fma.h"

namespace lockstep::reference {
namespace {

// (-1)^negative * significand * 2^(exponent - fraction bits of the format).
struct Parts {
  bool negative = false;
  bool nan = false;
  bool infinite = false;
  int64_t significand = 0;
  int exponent = 0;  // of a subnormal number the smallest normal one
};

LOCKSTEP_IN_BOTH inline Parts TakeApart(const NumberFormat& format,
                                        uint32_t bits) {
  bits >>= format.unused;
  const uint32_t ones = (1u << format.fraction_bits) - 1;
  const uint32_t last = (1u << format.exponent_bits) - 1;
  const uint32_t rest = bits & ones;
  const uint32_t field = bits >> format.fraction_bits & last;
  Parts parts;
  parts.negative =
      (bits >> (format.fraction_bits + format.exponent_bits) & 1u) != 0;
  const bool special = field == last;
  parts.infinite = special && format.infinity && rest == 0;
  parts.nan = special && (format.infinity ? rest != 0 : rest == ones);
  parts.significand = rest | (field > 0 ? ones + 1 : 0u);
  parts.exponent = format.least() + static_cast<int>(field > 0 ? field - 1 : 0);
  return parts;
}

LOCKSTEP_IN_BOTH inline uint32_t SignBit(const NumberFormat& format) {
  return 1u << (format.width() - 1);
}

LOCKSTEP_IN_BOTH inline uint32_t InfinityBits(const NumberFormat& format) {
  return ((1u << format.exponent_bits) - 1) << format.fraction_bits;
}

// size * 2^shift, toward zero.
//   Requires: size >= 0.
LOCKSTEP_IN_BOTH inline int64_t Shifted(int64_t size, int shift) {
  // Without a branch, for there are many: one of the two shifts is by 0.
  const int down = std::min(std::max(-shift, 0), 63);
  return size << std::max(shift, 0) >> down;
}

// total * 2^exponent as the step rounds it to the accumulator.
LOCKSTEP_IN_BOTH inline uint32_t Rounded(const UnitStep& step,
                                         const NumberFormat& format,
                                         int64_t total, int exponent) {
  const auto size = static_cast<uint64_t>(total < 0 ? -total : total);
  const int length = std::bit_width(size);
  const int top = std::max(length - 1 + exponent, format.least());
  // Bits of size below the last that is kept; negative: zeros follow it.
  const int below = top - step.keeps - exponent;
  uint64_t kept = below >= 64 ? 0 : below >= 0 ? size >> below : size << -below;
  if (step.nearest && below > 0 && below < 64) {
    const uint64_t rest = size - (kept << below);
    const uint64_t half = uint64_t{1} << (below - 1);
    kept += rest > half || (rest == half && kept % 2 == 1);
  }
  if (kept == 0) return 0;
  kept <<= format.fraction_bits - step.keeps;
  // The leading one counts in the field of the exponent, a carry likewise.
  const uint64_t field = static_cast<uint64_t>(top - format.least())
                         << format.fraction_bits;
  const uint64_t infinity = InfinityBits(format);
  const auto bits = static_cast<uint32_t>(std::min(field + kept, infinity));
  return total < 0 ? bits | SignBit(format) : bits;
}

const NumberFormat& FormatOf(const char* name) {
  struct Named {
    const char* name;
    NumberFormat format;
  };
  static constexpr Named kFormats[] = {
      {"bf16", kFormatBf16}, {"f16", kFormatF16},   {"tf32", kFormatTf32},
      {"e4m3", kFormatE4m3}, {"e5m2", kFormatE5m2}, {"f32", kFormatF32}};
  return std::find_if(
             std::begin(kFormats), std::end(kFormats),
             [&](const Named& n) { return std::strcmp(n.name, name) == 0; })
      ->format;
}

// The same number as f16, which has every number of an fp8 type.
uint32_t AsF16(const NumberFormat& from, uint32_t bits) {
  const Parts x = TakeApart(from, bits);
  const uint32_t sign = x.negative ? SignBit(kFormatF16) : 0;
  if (x.nan) return sign | (SignBit(kFormatF16) - 1);
  if (x.infinite) return sign | InfinityBits(kFormatF16);
  const UnitStep exact{.products = 1,
                       .fraction = 0,
                       .zero = 0,
                       .keeps = kFormatF16.fraction_bits};
  return sign | Rounded(exact, kFormatF16, x.significand,
                        x.exponent - from.fraction_bits);
}

// c + d, to nearest, as bits of f32 or f16.
uint32_t Added(const NumberFormat& format, uint32_t c, uint32_t d) {
  const Parts x = TakeApart(format, c), y = TakeApart(format, d);
  const uint32_t nan = SignBit(format) - 1;
  if (x.nan || y.nan) return nan;
  if (x.infinite && y.infinite && x.negative != y.negative) return nan;
  if (x.infinite) return c;
  if (y.infinite) return d;
  if (x.significand == 0 && y.significand == 0) {
    return x.negative && y.negative ? SignBit(format) : 0;
  }
  const bool x_is_larger =
      y.significand == 0 || (x.significand != 0 && x.exponent > y.exponent);
  const Parts& large = x_is_larger ? x : y;
  const Parts& small = x_is_larger ? y : x;
  // Below the lowest of 32 further bits one bit says that there is more.
  constexpr int kFurther = 32;
  const int64_t size = Shifted(large.significand, kFurther);
  const int shift = kFurther + small.exponent - large.exponent;
  int64_t other = Shifted(small.significand, shift);
  if (shift < 0 && other << std::min(-shift, 24) != small.significand) {
    other |= 1;
  }
  const int64_t total =
      (large.negative ? -size : size) + (small.negative ? -other : other);
  const UnitStep nearest{.products = 1,
                         .fraction = 0,
                         .zero = 0,
                         .keeps = format.fraction_bits,
                         .nearest = true};
  return Rounded(nearest, format, total,
                 large.exponent - format.fraction_bits - kFurther);
}

uint32_t AddSteps(const UnitStep& step, const StepFormats& formats, int k,
                  std::span<const uint32_t> a, std::span<const uint32_t> b,
                  uint32_t c) {
  const auto length = static_cast<size_t>(std::min(step.products, k));
  for (size_t at = 0; at < a.size(); at += length) {
    c = AddStep(step, formats, a.subspan(at, length), b.subspan(at, length), c);
  }
  return c;
}

// The products of every 4 from `first` on, two of them, as f16.
std::vector<uint32_t> HalfAsF16(const NumberFormat& from,
                                std::span<const uint32_t> x, size_t first) {
  std::vector<uint32_t> half;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i % 4 / 2 == first / 2) half.push_back(AsF16(from, x[i]));
  }
  return half;
}

// AddStep for callers that know the formats. They become constants of its copy.
LOCKSTEP_IN_BOTH inline uint32_t Step(const UnitStep& step,
                                      const StepFormats& formats,
                                      std::span<const uint32_t> a,
                                      std::span<const uint32_t> b, uint32_t c) {
  const NumberFormat& to = formats.accumulator;
  std::array<int64_t, kMostStepProducts> sizes;
  std::array<int, kMostStepProducts> exponents;
  std::array<bool, kMostStepProducts> negative;
  const Parts z = TakeApart(to, c);
  const int of_c = z.significand == 0 ? step.zero : z.exponent;
  bool nan = z.nan;
  bool plus = z.infinite && !z.negative, minus = z.infinite && z.negative;
  int top = of_c;
  for (size_t i = 0; i < a.size(); ++i) {
    const Parts x = TakeApart(formats.operand, a[i]);
    const Parts y = TakeApart(formats.operand, b[i]);
    sizes[i] = x.significand * y.significand;
    negative[i] = x.negative != y.negative;
    const bool zero = sizes[i] == 0;
    exponents[i] = zero ? step.zero : x.exponent + y.exponent;
    top = std::max(top, exponents[i]);
    const bool infinite = x.infinite || y.infinite;
    nan |= x.nan || y.nan || (infinite && zero);
    plus |= infinite && !negative[i];
    minus |= infinite && negative[i];
  }
  if (nan || (plus && minus)) return SignBit(to) - 1;
  if (plus || minus) return InfinityBits(to) | (minus ? SignBit(to) : 0u);

  // In units of 2^(top - fraction).
  const int64_t own =
      Shifted(z.significand, step.fraction - to.fraction_bits + of_c - top);
  int64_t total = z.negative ? -own : own;
  const int of_products = step.fraction - 2 * formats.operand.fraction_bits;
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t size = Shifted(sizes[i], of_products + exponents[i] - top);
    total += negative[i] ? -size : size;
  }
  return Rounded(step, to, total, top - step.fraction);
}

}  // namespace

uint32_t AddStep(const UnitStep& step, const StepFormats& formats,
                 std::span<const uint32_t> a, std::span<const uint32_t> b,
                 uint32_t c) {
  return Step(step, formats, a, b, c);
}

uint32_t AddInstructions(const MatrixUnit& unit, int k,
                         std::span<const uint32_t> a,
                         std::span<const uint32_t> b, uint32_t c) {
  const StepFormats formats{FormatOf(unit.operand), FormatOf(unit.accumulator)};
  if (!unit.by_f16) return AddSteps(unit.step, formats, k, a, b, c);
  const StepFormats f16{kFormatF16, formats.accumulator};
  for (size_t at = 0; at < a.size(); at += static_cast<size_t>(k)) {
    uint32_t d = 0;
    for (const size_t first : {0, 2}) {
      const auto n = static_cast<size_t>(k);
      d = AddSteps(unit.step, f16, k / 2,
                   HalfAsF16(formats.operand, a.subspan(at, n), first),
                   HalfAsF16(formats.operand, b.subspan(at, n), first), d);
    }
    c = Added(formats.accumulator, c, d);
  }
  return c;
}

void StepSum::Add(int64_t index, float a, float b) {
  const int64_t number = index / step_.products;
  if (number != number_) EndStep();
  number_ = number;
  a_[count_] = std::bit_cast<uint32_t>(a) >> 16;
  b_[count_] = std::bit_cast<uint32_t>(b) >> 16;
  ++count_;
}

void StepSum::EndStep() {
  if (count_ == 0) return;
  constexpr StepFormats kFormats{kFormatBf16, kFormatF32};
  sum_ = Step(step_, kFormats, {a_.data(), count_}, {b_.data(), count_}, sum_);
  count_ = 0;
}

float StepSum::Total() {
  EndStep();
  return std::bit_cast<float>(sum_);
}

}  // namespace lockstep::reference
