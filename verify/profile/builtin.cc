// The built-in profiles. Numbers of hardware are those of the vendors' manuals
// and of docs/profiles.md.
#include <array>
#include <string>

#include "verify/profile/profile.h"

namespace lockstep::verify {
namespace {

// Largest errors of Exp2Core, TanhCore and Log2Core with room to spare: the
// sweeps of elementary_sweep.cc stay below 2 ulp.
constexpr double kTwoUlp = 0x1p-22;

// Largest errors over all f32 arguments on an H100 80GB HBM3: tanh.approx.f32
// 2^-16.46, and sigmoid and exp of Triton 2^-18.0, far from 0.
constexpr double kApproxTanh = 0x1.76p-17;
constexpr double kTritonExp = 0x1.1p-18;

NumericProfile Exact(const char* name, Lane lane) {
  NumericProfile p;
  p.name = name;
  p.description = std::string("claims the numerics contract, ") +
                  LaneName(lane) + " lane: judged by bits";
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
  p.grad.emplace();
  p.grad->p = p.grad->ds = NumberType::kCase;
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
  p.grad.emplace();
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
  p.grad.emplace();
  p.grad->p = p.grad->ds = NumberType::kBf16;
  return p;
}

NumericProfile SplashBf16() {
  NumericProfile p;
  p.name = "splash-bf16";
  p.description =
      "bf16 tensors, q scaled in bf16 beforehand, natural exp, f32 weights, "
      "finite mask value, empty rows unspecified, flushed subnormals";
  p.lane = Lane::kBf16;
  p.scale_at = ScaleAt::kQLane;
  p.tanh_rel = 0x1p-20;
  p.exp_rel = 0x1p-20;
  p.division = Division::kReciprocal;
  p.log_rel = 0x1p-20;
  p.mask = MaskApplication::kSelectFinite;
  p.empty_row = EmptyRow::kMeanVisited;
  p.ftz = true;  // XLA on CPU and TPU
  p.nan = NanPolicy::kUnspecified;
  p.masked_nan_safe = MaskedNan::kNo;
  p.grad.emplace();
  p.grad->p = p.grad->ds = NumberType::kBf16;
  return p;
}

// The same between f16 tensors: weights have f16's smallest number, 2^-24, and
// its range.
NumericProfile FlashF16() {
  NumericProfile p = FlashBf16();
  p.name = "flash-f16";
  p.description =
      "f16 tensors, base-2 flash kernel, f32 sums, weights rounded to f16, "
      "accurate tanh";
  p.lane = Lane::kF16;
  p.p = p.grad->p = p.grad->ds = NumberType::kF16;
  return p;
}

void SumBy(const Accumulator& unit, NumericProfile* p) {
  p->acc_qk = p->acc_pv = unit;
  p->grad->acc_dp = p->grad->acc_dq = p->grad->acc_dkv = unit;
}

// A flash kernel on matrix units.
NumericProfile Mma(NumericProfile p, const char* name) {
  p.description = p.name +
                  " on matrix units: truncating block sums, hardware exp2 and "
                  "tanh, flushed subnormals";
  p.name = name;
  SumBy({Accumulator::Kind::kMma, 16, 1}, &p);
  p.tanh_rel = kApproxTanh;
  p.exp_rel = 0x1p-20;
  p.division_rel = 0x1p-22;
  p.ftz = true;
  p.nan = NanPolicy::kUnspecified;
  return p;
}

// A kernel whose tensors are in fp8 and whose weights are in e4m3, on Hopper's
// fp8 unit (mma:32,-10; docs/gpu-units.md). Scales are the caller's.
NumericProfile Fp8(const char* name, const char* kernel, double p_scale) {
  NumericProfile p = Mma(FlashBf16(), name);
  p.description = std::string(kernel) +
                  ": weights in e4m3, Hopper's fp8 sums, hardware exp2 and "
                  "tanh, v's scale multiplied into o";
  p.grad.reset();
  p.acc_qk = p.acc_pv = {Accumulator::Kind::kMma, 32, -10};
  p.p = NumberType::kE4m3;
  p.p_scale = p_scale;
  p.vscale_at = ValueScaleAt::kOut;
  return p;
}

// Kernels on a chip's matrix unit, which takes K products and the accumulator
// and keeps F bits: mma:K,F-23 (docs/gpu-units.md).
NumericProfile ChipBf16(const char* name, int k, int guard_bits) {
  NumericProfile p = Mma(FlashBf16(), name);
  p.description = "mma-bf16 with the sums of this chip's matrix unit";
  SumBy({Accumulator::Kind::kMma, k, guard_bits}, &p);
  return p;
}

NumericProfile ChipTf32(const char* name, int k, int guard_bits) {
  NumericProfile p = CpuF32();
  p.name = name;
  p.description =
      "f32 tensors on this chip's matrix unit: operands and weights cut to "
      "tf32, natural exp of Triton, hardware tanh, flushed subnormals";
  p.operand_qk = p.operand_v = p.p = NumberType::kTf32;
  p.operand_round = p.p_round = Rounding::kTruncate;
  p.grad->p = p.grad->ds = NumberType::kTf32;
  SumBy({Accumulator::Kind::kMma, k, guard_bits}, &p);
  p.tanh_rel = kApproxTanh;
  p.exp_rel = kTritonExp;
  p.division_rel = 0x1p-22;
  p.ftz = true;
  p.nan = NanPolicy::kUnspecified;
  return p;
}

// A whole softmax of a framework in f32, then its product with V. There is no
// lse, and nothing is said of gradients.
NumericProfile Unfused(const char* name, Lane lane) {
  NumericProfile p = CpuF32();
  p.name = name;
  p.lane = lane;
  p.normalise = Normalise::kBefore;
  p.max = {MaxPolicy::Kind::kTwoPass, 0};
  p.splits = 1;
  p.ftz = lane == Lane::kBf16;  // products of bf16 on a CPU
  p.lse = LseLane::kNone;
  p.nan = NanPolicy::kUnspecified;
  p.masked_nan_safe = MaskedNan::kNo;
  p.grad.reset();
  return p;
}

// The eager attention of model libraries: tensors of the lane between all
// operations.
NumericProfile Eager(const char* name, Lane lane) {
  NumericProfile p = Unfused(name, lane);
  p.description =
      std::string(LaneName(lane)) +
      " tensors, one operation of a framework after the other: each step of a "
      "score, and the weights, are rounded to the lane; softmax in f32";
  p.score = p.sink = p.p = NumberTypeOf(lane);
  p.score_round = ScoreRound::kEach;
  p.mask = MaskApplication::kAddFinite;
  p.empty_row = EmptyRow::kMeanVisited;
  return p;
}

// torch's SDPBackend.MATH, which widens q, k and v.
NumericProfile TorchMathBf16() {
  NumericProfile p = Unfused("torch-math-bf16", Lane::kBf16);
  p.description =
      "bf16 tensors, the math path of torch's scaled_dot_product_attention: "
      "f32 throughout, the scale's root in q and in k";
  p.scale_at = ScaleAt::kRoots;
  return p;
}

// A scan in f32: chunks of any length, any order of sums.
NumericProfile ScanF32() {
  NumericProfile p;
  p.name = "scan-f32";
  p.description = "scans: f32 everywhere, recurrent or chunks of any length";
  p.lane = Lane::kF32;
  p.tanh_rel = 0x1p-21;
  p.exp_rel = 0x1p-21;
  p.nan = NanPolicy::kUnspecified;
  ScanNumeric s;
  s.form = ScanForm::kChunked;
  s.decay = DecayForm::kPrefix;
  s.angle_form = AngleForm::kRadians;
  s.trig_abs = 0x1p-21;
  s.sigmoid_rel = 0x1p-21;
  p.scan = s;
  return p;
}

// builtin:optimized,chunk=N: the contract's functions, f32 inside, any lane.
NumericProfile ScanChunked() {
  NumericProfile p = ScanF32();
  p.name = "scan-chunked";
  p.description =
      "scans: this library's algorithm=chunked, f32 inside, any lane";
  p.lane.reset();
  p.tanh_rel = p.exp_rel = 0x1p-22;
  ScanNumeric& s = *p.scan;
  s.decay = DecayForm::kProduct;
  s.angle_form = AngleForm::kTurns;
  s.trig_abs = s.sigmoid_rel = 0x1p-22;
  return p;
}

// The public SISO kernel: bf16 operands, f32 sums, hardware functions.
NumericProfile SisoBf16(const char* name, NumberType angle) {
  NumericProfile p = ScanF32();
  p.name = name;
  p.description = angle == NumberType::kBf16
                      ? "scans: chunks of 64 with bf16 operands, angles stored "
                        "in bf16"
                      : "scans: chunks of 64 with bf16 operands, angles in f32";
  p.lane = Lane::kBf16;
  p.tanh_rel = 0x1.1p-11;
  p.exp_rel = 0x1p-20;
  ScanNumeric& s = *p.scan;
  s.chunk = 64;
  s.angle = s.angle_carry = angle;
  s.trig_abs = 0x1p-20;
  s.sigmoid_rel = kTritonExp;
  s.query = s.scaled = NumberType::kBf16;
  s.score = s.state = s.decayed = NumberType::kBf16;
  s.diagonal_rel = 0x1p-10;
  s.grad_do = s.grad_state = NumberType::kBf16;
  // Six roundings of a lone term come to 2.07 in one of 10 000 cases, 3.01 at
  // most; beside a bf16 angle they hardly count.
  s.companion = angle == NumberType::kBf16 ? 9 : 2.5;
  return p;
}

NumericProfile MimoBf16() {
  NumericProfile p = SisoBf16("mimo-bf16", NumberType::kF32);
  p.description =
      "scans: MIMO kernel, bf16 operands, parameters, diagonal and rank sums, "
      "segment sums";
  ScanNumeric& s = *p.scan;
  s.decay = DecayForm::kSegment;
  s.dt = s.weight = s.param = NumberType::kBf16;
  s.key = s.carry_key = NumberType::kBf16;
  s.diagonal = s.gate = s.rank_sum = NumberType::kBf16;
  s.companion = 4;
  return p;
}

// The same between f16 tensors: what is bf16 there is f16.
NumericProfile ScanInF16(NumericProfile p, const char* name) {
  p.description = "scans: in f16 what " + p.name + " has in bf16";
  p.name = name;
  p.lane = Lane::kF16;
  ScanNumeric& s = *p.scan;
  for (NumberType* type :
       {&s.dt, &s.weight, &s.param, &s.query, &s.key, &s.scaled, &s.carry_key,
        &s.score, &s.state, &s.decayed, &s.diagonal, &s.gate, &s.rank_sum,
        &s.grad_do, &s.grad_state}) {
    if (*type == NumberType::kBf16) *type = NumberType::kF16;
  }
  return p;
}

// Decoding with an f32 state: accurate functions, lambda, q and k in bf16.
NumericProfile StepF32State() {
  NumericProfile p = ScanF32();
  p.name = "step-f32state";
  p.description =
      "scans: token by token, f32 state and reads, bf16 lambda, angles never "
      "reduced";
  p.lane = Lane::kBf16;
  ScanNumeric& s = *p.scan;
  s.form = ScanForm::kRecurrent;
  s.decay = DecayForm::kProduct;
  s.angle_form = AngleForm::kUnreduced;
  s.lambda = NumberType::kBf16;
  s.query = s.key = s.carry_key = NumberType::kBf16;
  s.companion = 4;
  return p;
}

NumericProfile StepBf16Read() {
  NumericProfile p = StepF32State();
  p.name = "step-bf16read";
  p.description =
      "scans: token by token, the state read in bf16, hardware functions";
  p.tanh_rel = 0x1.1p-11;
  p.exp_rel = 0x1p-20;
  ScanNumeric& s = *p.scan;
  s.angle_form = AngleForm::kRadians;
  s.trig_abs = 0x1p-20;
  s.sigmoid_rel = kTritonExp;
  s.lambda = s.key = s.carry_key = NumberType::kF32;
  s.state = NumberType::kBf16;
  return p;
}

}  // namespace

std::span<const NumericProfile> BuiltinProfiles() {
  static const std::array<NumericProfile, 31> kProfiles = {
      Exact("exact-f32", Lane::kF32),
      Exact("exact-bf16", Lane::kBf16),
      CpuF32(),
      FlashBf16(),
      SplashBf16(),
      Mma(FlashBf16(), "mma-bf16"),
      ChipBf16("ampere-bf16", 8, 1),
      ChipBf16("ada-bf16", 8, 1),
      ChipBf16("hopper-bf16", 16, 2),
      ChipBf16("blackwell-bf16", 16, 2),
      ChipTf32("ampere-tf32", 4, 1),
      ChipTf32("ada-tf32", 4, 1),
      ChipTf32("hopper-tf32", 8, 2),
      ChipTf32("blackwell-tf32", 8, 2),
      ScanF32(),
      ScanChunked(),
      SisoBf16("siso-bf16-a16", NumberType::kBf16),
      SisoBf16("siso-bf16-a32", NumberType::kF32),
      MimoBf16(),
      StepF32State(),
      StepBf16Read(),
      Exact("exact-f16", Lane::kF16),
      FlashF16(),
      Mma(FlashF16(), "mma-f16"),
      ScanInF16(SisoBf16("siso-bf16-a32", NumberType::kF32), "siso-f16-a32"),
      ScanInF16(MimoBf16(), "mimo-f16"),
      Fp8("fa3-fp8", "FlashAttention-3 between fp8 tensors", 256),
      Fp8("cudnn-fp8", "cuDNN's attention between fp8 tensors", 1),
      Eager("eager-bf16", Lane::kBf16),
      Eager("eager-f16", Lane::kF16),
      TorchMathBf16()};
  return kProfiles;
}

}  // namespace lockstep::verify
