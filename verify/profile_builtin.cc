// The built-in profiles. Numbers of hardware are those of the vendors' manuals
// and of docs/profiles.md.
#include <array>
#include <cmath>

#include "verify/profile.h"

namespace lockstep::verify {
namespace {

// Largest errors of Exp2Core, TanhCore and Log2Core with room to spare: the
// sweeps of elementary_sweep.cc stay below 2 ulp.
constexpr double kTwoUlp = 0x1p-22;

NumericProfile Exact(const char* name, Lane lane) {
  NumericProfile p;
  p.name = name;
  p.description =
      lane == Lane::kF32
          ? "claims the numerics contract, f32 lane: judged by bits"
          : "claims the numerics contract, bf16 lane: judged by bits";
  p.exact = true;
  p.lane = lane;
  p.chain_qk = 0;
  p.scale_at = ScaleAt::kExponent;
  p.cap_div = CapDivision::kFolded;
  p.tanh_rel = kTwoUlp;
  p.exp_base = ExpBase::kTwo;
  p.exp_rel = kTwoUlp;
  p.shift = Shift::kInteger;
  p.max = {MaxPolicy::Kind::kTwoPass, 0};
  p.p = NumberType::kCase;
  p.splits = 1;
  p.log_rel = kTwoUlp;
  return p;
}

NumericProfile CpuF32() {
  NumericProfile p;
  p.name = "cpu-f32";
  p.description = "f32 everywhere, any order of sums, library exp and tanh";
  p.lane = Lane::kF32;
  p.tanh_rel = 0x1p-21;
  p.exp_rel = 0x1p-21;
  p.division = Division::kReciprocal;
  p.log_rel = 0x1p-21;
  return p;
}

NumericProfile FlashBf16() {
  NumericProfile p;
  p.name = "flash-bf16";
  p.description =
      "bf16 tensors, base-2 flash kernel, f32 sums, weights rounded to bf16, "
      "accurate tanh";
  p.lane = Lane::kBf16;
  p.scale_at = ScaleAt::kExponent;
  p.cap_div = CapDivision::kFolded;
  p.tanh_rel = 0x1p-20;
  p.exp_base = ExpBase::kTwo;
  p.exp_rel = 0x1p-21;
  p.shift = Shift::kFma;
  p.p = NumberType::kBf16;
  p.division = Division::kReciprocal;
  p.log_rel = 0x1p-20;
  return p;
}

NumericProfile SplashBf16() {
  NumericProfile p;
  p.name = "splash-bf16";
  p.description =
      "bf16 tensors, q scaled in bf16 beforehand, natural exp, f32 weights, "
      "finite mask value, empty rows unspecified";
  p.lane = Lane::kBf16;
  p.scale_at = ScaleAt::kQLane;
  p.tanh_rel = 0x1p-20;
  p.exp_rel = 0x1p-20;
  p.division = Division::kReciprocal;
  p.log_rel = 0x1p-20;
  p.mask = MaskApplication::kSelectFinite;
  p.empty_row = EmptyRow::kMeanVisited;
  p.nan = NanPolicy::kUnspecified;
  p.masked_nan_safe = false;
  return p;
}

NumericProfile MmaBf16() {
  NumericProfile p = FlashBf16();
  p.name = "mma-bf16";
  p.description =
      "flash-bf16 on matrix units: truncating block sums, hardware exp2 and "
      "tanh, flushed subnormals";
  p.acc_qk = {Accumulator::Kind::kMma, 16, 1};
  p.acc_pv = {Accumulator::Kind::kMma, 16, 1};
  p.tanh_rel = 0x1.1p-11;
  p.exp_rel = 0x1p-20;
  p.division_rel = 0x1p-22;
  p.ftz = true;
  p.nan = NanPolicy::kUnspecified;
  return p;
}

}  // namespace

std::span<const NumericProfile> BuiltinProfiles() {
  static const std::array<NumericProfile, 6> kProfiles = {
      Exact("exact-f32", Lane::kF32),
      Exact("exact-bf16", Lane::kBf16),
      CpuF32(),
      FlashBf16(),
      SplashBf16(),
      MmaBf16()};
  return kProfiles;
}

}  // namespace lockstep::verify
