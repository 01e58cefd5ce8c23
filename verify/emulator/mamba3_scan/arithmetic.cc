// Functions and roundings of an emulated scan.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "reference/contract/with_fma.h"
#include "verify/base/binary64.h"
#include "verify/emulator/mamba3_scan/elements.h"
#include "verify/emulator/mamba3_scan/row.h"
#include "verify/emulator/mamba3_scan/turns.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

using F = ScanFault;

// What a function good to `rel` gives for the rounded result.
float Coarse(float x, double rel) {
  const int bits = rel > 0x1p-23 ? -std::ilogb(rel) : 24;
  return bits < 24 ? RoundToBits(x, bits) : x;
}

}  // namespace

// By Taylor's series after reduction to an eighth of a turn.
void TurnsToSinCos(double turns, double* sine, double* cosine) {
  const double quarter = std::nearbyint(turns * 4);
  const double x = (turns - quarter / 4) * 2 * kPi;
  double term = x, s = 0, c = 0, even = 1;
  for (int n = 1; n < 24; n += 2) {
    c += even;
    s += term;
    even *= -x * x / (n * (n + 1));
    term *= -x * x / ((n + 1) * (n + 2));
  }
  const auto k = static_cast<int64_t>(quarter) & 3;
  *sine = k == 0 ? s : k == 1 ? c : k == 2 ? -s : -c;
  *cosine = k == 0 ? c : k == 1 ? -s : k == 2 ? -c : s;
}

float ScanArithmetic::Exp(float x) const {
  double y = static_cast<double>(x);
  if (dial_.Is(F::kExpWithoutLog2e)) y *= 0.6931471805599453;
  if (dial_.Is(F::kExpLog2eTwice)) y *= 1.4426950408889634;
  return Coarse(static_cast<float>(ExpDouble(y)), v_.numeric.exp_rel);
}

float ScanArithmetic::Tanh(float x) const {
  const double rel = dial_.Is(F::kTanhCoarse) ? 0x1p-9 : v_.numeric.tanh_rel;
  return Coarse(static_cast<float>(TanhDouble(static_cast<double>(x))), rel);
}

float ScanArithmetic::Sigmoid(float x) const {
  const double y = 1 / (1 + ExpDouble(-static_cast<double>(x)));
  return Coarse(static_cast<float>(y), s_.sigmoid_rel);
}

void ScanArithmetic::SinCos(float angle, float* sine, float* cosine) const {
  double turns = static_cast<double>(angle);
  if (s_.angle_form != AngleForm::kTurns) turns /= 2 * kPi;
  double s = 0, c = 0;
  TurnsToSinCos(turns, &s, &c);
  // Absolute errors: on a grid of twice the profile's.
  const double grid = dial_.Is(F::kTrigCoarse) ? 0x1p-7 : s_.trig_abs;
  if (grid > 0x1p-24) {
    s = std::nearbyint(s / grid) * grid;
    c = std::nearbyint(c / grid) * grid;
  }
  *sine = static_cast<float>(s);
  *cosine = static_cast<float>(c);
}

float ScanArithmetic::MulAdd(float a, float b, float acc) const {
  if (v_.fused) return std::fma(a, b, acc);
  const float product = a * b;
  return acc + product;
}

void ScanArithmetic::AddScaled(float a, const Floats& b, Floats* acc) const {
  const size_t count = acc->size();
  const float* from = b.data();
  float* to = acc->data();
  if (!v_.fused) {
    for (size_t i = 0; i < count; ++i) to[i] = MulAdd(a, from[i], to[i]);
    return;
  }
  WithFma([&]() LOCKSTEP_IN_BOTH {
    for (size_t i = 0; i < count; ++i) to[i] = std::fma(a, from[i], to[i]);
  });
}

float ScanArithmetic::Dot(const Floats& a, const Floats& b) const {
  float sum = 0;
  const size_t n = dial_.Is(F::kStateTailDropped) ? a.size() / 4 * 4 : a.size();
  for (size_t i = 0; i < n; ++i) {
    const size_t at = v_.backward ? n - 1 - i : i;
    sum = MulAdd(a[at], b[at], sum);
  }
  return sum;
}

float ScanArithmetic::Output(float x, Lane lane) const {
  if (lane == Lane::kF32) return x;
  const NumberType type = NumberTypeOf(lane);
  x = dial_.Is(F::kOutTruncated) ? TruncateTo(x, type) : RoundTo(x, type);
  if (dial_.Is(F::kF16OutputFlushed)) x = FlushedInF16(x);
  return dial_.Is(F::kF16Saturates) ? SaturatedInF16(x) : x;
}

float ScanArithmetic::Input(float x) const {
  if (dial_.Is(F::kF16ThroughBf16)) return RoundTo(x, NumberType::kBf16);
  if (dial_.Is(F::kF16ReadAsBf16)) return F16ReadAsBf16(x);
  return dial_.Is(F::kF16InputsFlushed) ? FlushedInF16(x) : x;
}

float ScanArithmetic::KeptState(float x) const {
  if (dial_.Is(F::kStateBf16)) return RoundTo(x, NumberType::kBf16);
  return dial_.Is(F::kF16State) ? RoundTo(x, NumberType::kF16) : x;
}

}  // namespace lockstep::verify
