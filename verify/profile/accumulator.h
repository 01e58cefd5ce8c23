// What numbers are rounded to, and how sums are formed.
#ifndef LOCKSTEP_VERIFY_PROFILE_ACCUMULATOR_H_
#define LOCKSTEP_VERIFY_PROFILE_ACCUMULATOR_H_

#include <cstdint>

namespace lockstep::verify {

// A number type a value is rounded to. kCase: what the case line says (p=);
// kTf32: f32's range with 11 significant bits, as matrix units read it; kE4m3:
// of weights alone, 4 bits, multiples of 2^-9, at most 448.
enum class NumberType : uint8_t { kF32, kBf16, kF16, kCase, kTf32, kE4m3 };

// How sums are formed; products of lane values are exact in front of it.
struct Accumulator {
  enum class Kind : uint8_t {
    kRn32,     // rn32: f32, to nearest, fused or not
    kTrunc32,  // trunc32: f32, towards zero
    kMma,      // mma:K,G: blocks of K products and the accumulator, aligned to
           // the largest, cut off below G bits behind f32's last; G < 0: the
           // accumulator keeps no more, either
    kBf16,  // bf16, to nearest
    kF16,   // f16, to nearest
  };
  Kind kind = Kind::kRn32;
  int width = 0;       // K
  int guard_bits = 0;  // G
  // The last place that the accumulator keeps, relative to its leading one.
  double last_place() const {
    return guard_bits < 0 ? 0x1p-23 * static_cast<double>(1 << -guard_bits)
                          : 0x1p-23;
  }
  friend bool operator==(const Accumulator&, const Accumulator&) = default;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_PROFILE_ACCUMULATOR_H_
