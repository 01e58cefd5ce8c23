// The steps in which matrix units of GPUs add products, as constants: N21 and
// docs/gpu-units.md. No function here computes a value.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_MATRIX_UNITS_H_
#define LOCKSTEP_REFERENCE_CONTRACT_MATRIX_UNITS_H_

#include <cstdint>

namespace lockstep {

// A binary floating-point format, in the low bits of a u32.
struct NumberFormat {
  int exponent_bits = 8;
  int fraction_bits = 23;
  bool infinity = true;  // false: the largest exponent has numbers, and one NaN
  int unused = 0;        // low bits that do not count

  constexpr int width() const {
    return 1 + exponent_bits + fraction_bits + unused;
  }
  // The exponent of the smallest normal number.
  constexpr int least() const { return 2 - (1 << (exponent_bits - 1)); }
};
inline constexpr NumberFormat kFormatF32;
inline constexpr NumberFormat kFormatBf16{8, 7};
inline constexpr NumberFormat kFormatF16{5, 10};
inline constexpr NumberFormat kFormatTf32{8, 10, true, 13};
inline constexpr NumberFormat kFormatE4m3{4, 3, false};
inline constexpr NumberFormat kFormatE5m2{5, 2};

// One step adds up to `products` products to an accumulator. All terms are
// aligned to the largest exponent, where a product has the sum of its factors'
// exponents, and a zero has `zero`. Each is cut toward zero to `fraction` bits
// behind that exponent; the exact sum of these is rounded to the accumulator.
struct UnitStep {
  int products = 0;      // L
  int fraction = 0;      // F
  int zero = 0;          // e0
  int keeps = 23;        // bits behind the leading one of what a step leaves
  bool nearest = false;  // rounded so, ties to even; false: toward zero
};

// The steps of N21's orders, with f32 accumulators.
inline constexpr UnitStep kVoltaStep{4, 23, -131};
inline constexpr UnitStep kTuringStep{8, 24, -132};
inline constexpr UnitStep kAmpereStep{8, 24, -132};
inline constexpr UnitStep kAmpereTf32Step{4, 24, -132};
inline constexpr UnitStep kAdaFp8Step{16, 13, -132, 13};
inline constexpr UnitStep kHopperStep{16, 25, -133};
inline constexpr UnitStep kHopperTf32Step{8, 25, -133};
inline constexpr UnitStep kHopperFp8Step{32, 13, -133, 13};

// The same with f16 accumulators, whose smallest exponent is 112 larger.
constexpr UnitStep ToF16(UnitStep step) {
  return {step.products, step.fraction, step.zero + 112,
          kFormatF16.fraction_bits, true};
}

// An instruction of a chip. k products are k / L steps, at least one, in
// ascending order.
struct MatrixUnit {
  const char* chip;
  const char* operand;
  const char* accumulator;
  const char* instruction;  // the first word of its PTX name
  UnitStep step;
  // fp8 where the chip has no such unit. Operands become f16. Of every 4
  // products, 0 and 1 are one instruction from zero, and 2 and 3 are another.
  // The accumulator is added to their result.
  bool by_f16 = false;
};

inline constexpr MatrixUnit kMatrixUnits[] = {
    {"volta", "f16", "f32", "mma", kVoltaStep},
    {"volta", "f16", "f16", "mma", ToF16(kVoltaStep)},
    {"turing", "f16", "f32", "mma", kTuringStep},
    {"turing", "f16", "f16", "mma", ToF16(kTuringStep)},
    {"ampere", "f16", "f32", "mma", kAmpereStep},
    {"ampere", "f16", "f16", "mma", ToF16(kAmpereStep)},
    {"ampere", "bf16", "f32", "mma", kAmpereStep},
    {"ampere", "tf32", "f32", "mma", kAmpereTf32Step},
    {"ada", "f16", "f32", "mma", kAmpereStep},
    {"ada", "f16", "f16", "mma", ToF16(kAmpereStep)},
    {"ada", "bf16", "f32", "mma", kAmpereStep},
    {"ada", "tf32", "f32", "mma", kAmpereTf32Step},
    {"ada", "e4m3", "f32", "mma", kAdaFp8Step},
    {"ada", "e4m3", "f16", "mma", ToF16(kAdaFp8Step)},
    {"ada", "e5m2", "f32", "mma", kAdaFp8Step},
    {"ada", "e5m2", "f16", "mma", ToF16(kAdaFp8Step)},
    {"hopper", "f16", "f32", "mma", kHopperStep},
    {"hopper", "f16", "f16", "mma", ToF16(kHopperStep)},
    {"hopper", "bf16", "f32", "mma", kHopperStep},
    {"hopper", "tf32", "f32", "mma", kHopperTf32Step},
    {"hopper", "e4m3", "f32", "mma", kHopperStep, true},
    {"hopper", "e4m3", "f16", "mma", ToF16(kHopperStep), true},
    {"hopper", "e5m2", "f32", "mma", kHopperStep, true},
    {"hopper", "e5m2", "f16", "mma", ToF16(kHopperStep), true},
    {"hopper", "f16", "f32", "wgmma", kHopperStep},
    {"hopper", "f16", "f16", "wgmma", ToF16(kHopperStep)},
    {"hopper", "bf16", "f32", "wgmma", kHopperStep},
    {"hopper", "tf32", "f32", "wgmma", kHopperTf32Step},
    {"hopper", "e4m3", "f32", "wgmma", kHopperFp8Step},
    {"hopper", "e4m3", "f16", "wgmma", ToF16(kHopperFp8Step)},
    {"hopper", "e5m2", "f32", "wgmma", kHopperFp8Step},
    {"hopper", "e5m2", "f16", "wgmma", ToF16(kHopperFp8Step)},
    {"blackwell", "f16", "f32", "mma", kHopperStep},
    {"blackwell", "f16", "f16", "mma", ToF16(kHopperStep)},
    {"blackwell", "bf16", "f32", "mma", kHopperStep},
    {"blackwell", "tf32", "f32", "mma", kHopperTf32Step},
};

// The most products of a step.
inline constexpr int kMostStepProducts = [] {
  int most = 0;
  for (const MatrixUnit& unit : kMatrixUnits) {
    most = unit.step.products > most ? unit.step.products : most;
  }
  return most;
}();

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_MATRIX_UNITS_H_
