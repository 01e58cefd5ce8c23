#include "verify/emulator/attention_forward/zoo.h"

#include <vector>

#include "verify/emulator/attention_forward/zoo/builder.h"
#include "verify/emulator/zoo.h"

namespace lockstep::verify {
namespace {

using Acc = Accumulator::Kind;
using Max = MaxPolicy::Kind;

void AddExact(AttentionBuilder* zoo) {
  zoo->Add("exact", "exact-f32", "the contract, online, tiles of 4x4");
  Tiles(zoo->Add("exact-tile16", "exact-f32", "the contract, tiles of 8x16"), 8,
        16);
  Tiles(zoo->Add("exact-bf16", "exact-bf16", "the contract, bf16 lane"), 2, 8);
  Tiles(zoo->Add("exact-wide", "exact-f32", "the contract, one tile"), 64,
        4096);
}

void AddCpu(AttentionBuilder* zoo) {
  zoo->Add("cpu", "cpu-f32", "f32, natural exp, tiles of 4x4");
  Tiles(zoo->Add("cpu-tile1", "cpu-f32", "f32, a rescale for every key"), 1, 1);
  Tiles(zoo->Add("cpu-tile128", "cpu-f32", "f32, tiles of 64x128"), 64, 128);
  zoo->Add("cpu-descending", "cpu-f32", "f32, tiles in descending order")
      .order = KeyOrder::kDescending;
  zoo->Add("cpu-partial-first", "cpu-f32", "f32, partial tiles, then full ones")
      .order = KeyOrder::kPartialThenFull;
  zoo->Add("cpu-muladd", "cpu-f32", "f32, products and sums rounded apart")
      .dot = DotOrder::kMulAdd;
  zoo->Add("cpu-backward", "cpu-f32", "f32, channels in descending order").dot =
      DotOrder::kBackward;
  zoo->Add("cpu-lanes", "cpu-f32", "f32, eight lanes per dot product").dot =
      DotOrder::kLanes8;
  zoo->Add("cpu-pairwise", "cpu-f32", "f32, pairwise dot products").dot =
      DotOrder::kPairwise;
  zoo->Add("cpu-l-lanes", "cpu-f32", "f32, eight partial sums of l").l_lanes =
      8;
  zoo->Add("cpu-split3", "cpu-f32", "f32, keys in three parts, merged").splits =
      3;
  zoo->Add("cpu-eager", "cpu-f32", "f32, o kept normalised").numeric.normalise =
      Normalise::kEager;
  auto& eager_split = zoo->Add("cpu-eager-split", "cpu-f32",
                               "f32, normalised parts merged by their lse");
  eager_split.numeric.normalise = Normalise::kEager;
  eager_split.splits = 2;
  zoo->Add("cpu-reciprocal", "cpu-f32", "f32, multiplied by 1/l")
      .numeric.division = Division::kReciprocal;
  zoo->Add("cpu-two-pass", "cpu-f32", "f32, the row's maximum first")
      .numeric.max = {Max::kTwoPass, 0};
  zoo->Add("cpu-lazy", "cpu-f32", "f32, maximum moved when exceeded by 4")
      .numeric.max = {Max::kLazy, 4};
  zoo->Add("cpu-scaled-q", "cpu-f32", "f32, q scaled before the dot product")
      .numeric.scale_at = ScaleAt::kQF32;
  zoo->Add("cpu-cap-reciprocal", "cpu-f32", "f32, the cap's argument times 1/c")
      .numeric.cap_div = CapDivision::kReciprocal;
  zoo->Add("cpu-cap-folded", "cpu-f32", "f32, scale / cap as one constant")
      .numeric.cap_div = CapDivision::kFolded;
  auto& base2 = zoo->Add("cpu-base2", "cpu-f32", "f32, exp2 of scaled scores");
  base2.numeric.exp_base = ExpBase::kTwo;
  auto& fma = zoo->Add("cpu-fma", "cpu-f32", "f32, exp2 with a fused shift");
  fma.numeric.exp_base = ExpBase::kTwo;
  fma.numeric.shift = Shift::kFma;
  auto& finite =
      zoo->Add("cpu-finite-mask", "cpu-f32", "f32, masked by -0.7 FLT_MAX");
  finite.numeric.mask = MaskApplication::kSelectFinite;
  auto& added =
      zoo->Add("cpu-added-mask", "cpu-f32", "f32, -0.7 FLT_MAX added");
  added.numeric.mask = MaskApplication::kAddFinite;
  for (auto* v : {&finite, &added}) {
    v->numeric.empty_row = EmptyRow::kMeanVisited;
    v->numeric.masked_nan_safe = MaskedNan::kNo;
    v->numeric.nan = NanPolicy::kUnspecified;
  }
  auto& guarded = zoo->Add("cpu-guarded-padding", "cpu-f32",
                           "f32, a weight of 0 times every masked value; keys "
                           "that no query sees are guarded");
  guarded.numeric.masked_nan_safe = MaskedNan::kPadding;
  zoo->Add("cpu-posinf", "cpu-f32", "f32, lse of an empty row is +inf")
      .numeric.empty_row = EmptyRow::kZeroPosInf;
  zoo->Add("cpu-truncating", "cpu-f32", "f32, dot products cut off")
      .numeric.acc_qk = {Acc::kTrunc32, 0, 0};
}

void AddBf16(AttentionBuilder* zoo) {
  zoo->Add("flash", "flash-bf16", "flash kernel, tiles of 4x4");
  auto& big = Tiles(zoo->Add("flash-descending", "flash-bf16",
                             "flash kernel, 64x64, last tile first"),
                    64, 64);
  big.order = KeyOrder::kDescending;
  zoo->Add("flash-split", "flash-bf16", "flash kernel, three parts merged")
      .splits = 3;
  zoo->Add("flash-l-rounded", "flash-bf16", "flash, l of the rounded weights")
      .numeric.l_from = LFrom::kRounded;
  zoo->Add("flash-p-f16", "flash-bf16", "flash, weights in f16").numeric.p =
      NumberType::kF16;
  zoo->Add("flash-p-f32", "flash-bf16", "flash, weights in f32").numeric.p =
      NumberType::kF32;
  zoo->Add("flash-reciprocal", "flash-bf16", "flash, multiplied by 1/l")
      .numeric.division = Division::kReciprocal;
  zoo->Add("flash-lazy", "flash-bf16", "flash, maximum moved by 8 at least")
      .numeric.max = {Max::kLazy, 8};
  zoo->Add("flash-partial-first", "flash-bf16", "flash, partial tiles first")
      .order = KeyOrder::kPartialThenFull;
  auto& mma = Tiles(zoo->Add("mma", "mma-bf16",
                             "matrix units: truncating blocks of 16, coarse "
                             "tanh, no subnormals"),
                    16, 32);
  mma.numeric.tanh_rel = 0x1p-11;
  mma.numeric.exp_rel = 0x1p-20;
  auto& hopper = Tiles(zoo->Add("mma-hopper", "mma-bf16",
                                "matrix units: blocks of 16, two guard bits"),
                       64, 64);
  hopper.numeric.acc_qk = hopper.numeric.acc_pv = {Acc::kMma, 16, 2};
  auto& ampere = Tiles(zoo->Add("mma-ampere", "mma-bf16",
                                "matrix units: blocks of 8, one guard bit"),
                       32, 64);
  ampere.numeric.acc_qk = ampere.numeric.acc_pv = {Acc::kMma, 8, 1};
  auto& cut = zoo->Add("flash-cut-sums", "flash-bf16", "flash, all sums cut");
  cut.numeric.acc_qk = cut.numeric.acc_pv =
      cut.numeric.acc_l = {Acc::kTrunc32, 0, 0};
  auto& splash = zoo->Add("splash", "splash-bf16", "splash kernel");
  Tiles(splash, 8, 8);
  Tiles(zoo->Add("splash-sub-tile", "splash-bf16", "splash, tiles of 16x2"), 16,
        2);
  NumericProfile& rounded =
      zoo->Add("bf16-scores", "flash-bf16", "natural scores rounded to bf16")
          .numeric;
  rounded.scale_at = ScaleAt::kLogits;
  rounded.exp_base = ExpBase::kE;
  rounded.shift = Shift::kSubtract;
  rounded.cap_div = CapDivision::kDivide;
  rounded.score = NumberType::kBf16;
}

// Conventions and roundings of public kernels, in f32.
void AddCpuKinds(AttentionBuilder* zoo) {
  zoo->Add("cpu-no-max", "cpu-f32", "f32, no maximum subtracted")
      .numeric.max = {Max::kNone, 0};
  zoo->Add("cpu-fixed-max", "cpu-f32", "f32, the constant 5 subtracted")
      .numeric.max = {Max::kFixed, 5};
  Unfused(zoo->Add("cpu-unfused", "cpu-f32", "f32, softmax, then times V"));
  auto& unfused = Unfused(zoo->Add("cpu-unfused-no-max", "cpu-f32",
                                   "f32, softmax without a maximum"));
  unfused.numeric.max = {Max::kNone, 0};
  auto& zero = zoo->Add("cpu-exp-zero", "cpu-f32", "f32, exp(0) is not 1");
  zero.numeric.exp_rel = 0x1p-13;
  zero.numeric.exp_zero = ExpZero::kWeights;
  zero.numeric.splits = 1;
  auto& drift = zoo->Add("cpu-exp-drift", "cpu-f32",
                         "f32, every tile rescales by an exp(0) below 1");
  drift.numeric.exp_rel = 0x1p-18;
  drift.numeric.exp_zero = ExpZero::kRel;
  drift.numeric.tile_kv = drift.tile_kv;
  zoo->Add("cpu-ftz", "cpu-f32", "f32, subnormals flushed").numeric.ftz = true;
  auto& tf32 = zoo->Add("cpu-tf32", "cpu-f32", "f32, matrix units of tf32");
  auto& cut = zoo->Add("cpu-tf32-cut", "cpu-f32", "f32, operands cut to tf32");
  for (auto* v : {&tf32, &cut}) {
    v->numeric.operand_qk = v->numeric.operand_v = v->numeric.p =
        NumberType::kTf32;
  }
  cut.numeric.operand_round = cut.numeric.p_round = Rounding::kTruncate;
  auto& f16 = zoo->Add("cpu-f16-operands", "cpu-f32", "f32, operands in f16");
  f16.numeric.operand_qk = f16.numeric.operand_v = NumberType::kF16;
  auto& narrow =
      zoo->Add("cpu-bf16-operands", "cpu-f32", "f32, operands in bf16");
  narrow.numeric.operand_qk = narrow.numeric.operand_v = narrow.numeric.p =
      NumberType::kBf16;
  auto& lse = zoo->Add("cpu-lse-base2", "cpu-f32",
                       "f32, lse in base 2, 0 in empty rows");
  lse.numeric.lse_base = ExpBase::kTwo;
  lse.numeric.empty_row = EmptyRow::kZeroZero;
  zoo->Add("cpu-no-lse", "cpu-f32", "f32, no lse").numeric.lse = LseLane::kNone;
}

// The same in bf16, where weights are rounded before they meet V.
void AddBf16Kinds(AttentionBuilder* zoo) {
  zoo->Add("flash-no-max", "flash-bf16", "flash, no maximum subtracted")
      .numeric.max = {Max::kNone, 0};
  auto& cut = zoo->Add("flash-no-max-cut", "flash-bf16",
                       "flash, no maximum, weights cut to bf16");
  cut.numeric.max = {Max::kNone, 0};
  cut.numeric.p_round = Rounding::kTruncate;
  zoo->Add("flash-cut", "flash-bf16", "flash, weights cut to bf16")
      .numeric.p_round = Rounding::kTruncate;
  zoo->Add("flash-fixed-max", "flash-bf16", "flash, the constant 5 subtracted")
      .numeric.max = {Max::kFixed, 5};
  auto& late = zoo->Add("flash-lazy-no-split", "flash-bf16",
                        "flash, maximum moved by 60 at least, one part");
  late.numeric.max = {Max::kLazy, 60};
  late.numeric.splits = 1;
  Unfused(zoo->Add("unfused-bf16", "flash-bf16", "softmax, then bf16 times V"));
  Unfused(zoo->Add("unfused-bf16-cut", "flash-bf16",
                   "softmax, cut to bf16, then times V"))
      .numeric.p_round = Rounding::kTruncate;
  auto& unfused = Unfused(zoo->Add("unfused-no-max", "flash-bf16",
                                   "softmax without a maximum, then bf16"));
  unfused.numeric.max = {Max::kNone, 0};
  auto& f16 =
      Unfused(zoo->Add("unfused-f16", "flash-bf16", "softmax, then f16"));
  f16.numeric.p = NumberType::kF16;
  auto& zero = zoo->Add("flash-exp-zero", "flash-bf16",
                        "flash, natural exp of 13 bits that is not 1 at 0");
  zero.numeric.scale_at = ScaleAt::kLogits;
  zero.numeric.cap_div = CapDivision::kDivide;
  zero.numeric.exp_base = ExpBase::kE;
  zero.numeric.shift = Shift::kSubtract;
  zero.numeric.exp_rel = 0x1p-13;
  zero.numeric.exp_zero = ExpZero::kWeights;
  zero.numeric.splits = 1;
  auto& drift = zoo->Add("flash-exp-drift", "flash-bf16",
                         "flash, every tile rescales by an exp(0) below 1");
  Tiles(drift, 4, 16);
  drift.numeric.exp_rel = 0x1p-16;
  drift.numeric.exp_zero = ExpZero::kRel;
  drift.numeric.tile_kv = drift.tile_kv;
  zoo->Add("flash-lse-bf16", "flash-bf16", "flash, lse in bf16").numeric.lse =
      LseLane::kBf16;
  zoo->Add("flash-sink-bf16", "flash-bf16", "flash, sinks in bf16")
      .numeric.sink = NumberType::kBf16;
}

// One operation of a framework after the other.
void AddEager(AttentionBuilder* zoo) {
  zoo->Add("eager", "eager-bf16", "eager in bf16, scores rounded at each step");
  zoo->Add("eager-shift", "eager-bf16", "eager, the maximum subtracted in bf16")
      .numeric.score_round = ScoreRound::kShift;
  zoo->Add("eager-half", "eager-f16", "eager in f16");
  zoo->Add("math-path", "torch-math-bf16", "f32 between bf16 tensors, unfused");
}

// Kernels of f16 tensors, the emulated contract among them.
void AddF16(AttentionBuilder* zoo) {
  Tiles(zoo->Add("exact-f16", "exact-f16", "the contract, f16 lane"), 2, 8);
  zoo->Add("flash-f16", "flash-f16", "f16 flash kernel, tiles of 4x4");
  Tiles(zoo->Add("flash-f16-descending", "flash-f16",
                 "f16 flash kernel, 64x64, last tile first"),
        64, 64)
      .order = KeyOrder::kDescending;
  zoo->Add("flash-f16-split", "flash-f16", "f16 flash, three parts merged")
      .splits = 3;
  zoo->Add("flash-f16-l-rounded", "flash-f16",
           "f16 flash, l of rounded weights")
      .numeric.l_from = LFrom::kRounded;
  zoo->Add("flash-f16-p-f32", "flash-f16", "f16 flash, weights in f32")
      .numeric.p = NumberType::kF32;
  zoo->Add("flash-f16-cut", "flash-f16", "f16 flash, weights cut to f16")
      .numeric.p_round = Rounding::kTruncate;
  zoo->Add("flash-f16-lazy", "flash-f16", "f16 flash, maximum moved by 8")
      .numeric.max = {Max::kLazy, 8};
  auto& scaled = zoo->Add("flash-f16-scaled-q", "flash-f16",
                          "f16 flash, q scaled in f16 beforehand");
  scaled.numeric.scale_at = ScaleAt::kQLane;
  scaled.numeric.exp_base = ExpBase::kE;
  scaled.numeric.shift = Shift::kSubtract;
  scaled.numeric.cap_div = CapDivision::kDivide;
  auto& scores = zoo->Add("f16-scores", "flash-f16", "scores rounded to f16");
  scores.numeric.scale_at = ScaleAt::kLogits;
  scores.numeric.exp_base = ExpBase::kE;
  scores.numeric.shift = Shift::kSubtract;
  scores.numeric.cap_div = CapDivision::kDivide;
  scores.numeric.score = NumberType::kF16;
  Unfused(zoo->Add("unfused-f16-lane", "flash-f16", "softmax, f16, times V"));
  auto& sums = zoo->Add("flash-f16-sums", "flash-f16",
                        "f16 flash, P.V accumulated in f16");
  sums.numeric.acc_pv = {Acc::kF16, 0, 0};
  auto& mma = Tiles(zoo->Add("mma-f16", "mma-f16",
                             "f16 on matrix units: blocks of 16, hardware "
                             "functions"),
                    16, 32);
  mma.numeric.tanh_rel = 0x1p-11;
  mma.numeric.exp_rel = 0x1p-20;
}

// Kernels whose weights are in e4m3, and places of v's scale.
void AddFp8(AttentionBuilder* zoo) {
  auto& fa3 = Tiles(zoo->Add("fp8-fa3", "fa3-fp8",
                             "weights in e4m3 times 256, Hopper's fp8 sums"),
                    64, 64);
  auto& cudnn = Tiles(zoo->Add("fp8-cudnn", "cudnn-fp8",
                               "weights in e4m3 times 448, Hopper's fp8 sums"),
                      16, 32);
  cudnn.numeric.p_scale = kLargestWeightScale;
  for (auto* v : {&fa3, &cudnn}) {
    v->numeric.tanh_rel = Builtin("fa3-fp8").tanh_rel;
    v->numeric.exp_rel = 0x1p-20;
  }
  zoo->Add("fp8-p-unscaled", "cudnn-fp8", "weights in e4m3 without a scale");
  const auto flash = [&](const char* name, const char* what,
                         ValueScaleAt place) -> AttentionVariant& {
    AttentionVariant& v = zoo->Add(name, "flash-bf16", what);
    v.numeric.grad.reset();
    v.numeric.p = NumberType::kE4m3;
    v.numeric.p_scale = 256;
    v.numeric.vscale_at = place;
    return v;
  };
  flash("fp8-p-e4m3", "flash, weights in e4m3", ValueScaleAt::kOut);
  flash("fp8-l-rounded", "flash, weights in e4m3, l of the rounded ones",
        ValueScaleAt::kAcc)
      .numeric.l_from = LFrom::kRounded;
  auto& scaled =
      flash("fp8-scale-in-p", "flash, weights in e4m3 with v's scale",
            ValueScaleAt::kP);
  scaled.numeric.p_scale = 1;
  flash("fp8-scale-in-acc", "flash, weights in e4m3, v's scale on tiles' sums",
        ValueScaleAt::kAcc);
  Unfused(flash("fp8-unfused", "softmax in e4m3, then times V",
                ValueScaleAt::kOut));
}

std::vector<AttentionVariant> Build() {
  AttentionBuilder zoo;
  AddExact(&zoo);
  AddCpu(&zoo);
  AddBf16(&zoo);
  AddCpuKinds(&zoo);
  AddBf16Kinds(&zoo);
  AddEager(&zoo);
  AddUnits(&zoo);
  AddF16(&zoo);
  AddFp8(&zoo);
  return zoo.Take();
}

}  // namespace

std::span<const AttentionVariant> AttentionZoo() {
  static const std::vector<AttentionVariant> kZoo = Build();
  return kZoo;
}

Result<AttentionVariant> FindVariant(std::string_view name) {
  return FindInZoo(name, AttentionZoo(), "");
}

}  // namespace lockstep::verify
