// The zoo of correct kernels of attention's gradients.
#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "verify/emulator/attention_backward/kernel.h"
#include "verify/emulator/zoo.h"

namespace lockstep::verify {
namespace {

// Errors of the emulator's own functions: correctly rounded but for 2^-50.
constexpr double kRounded = 0x1p-23;

class GradBuilder {
 public:
  GradVariant& Add(const char* name, const char* base,
                   const char* description) {
    GradVariant variant;
    for (const NumericProfile& profile : BuiltinProfiles()) {
      if (profile.name == base) variant.numeric = profile;
    }
    variant.numeric.name = name;
    variant.numeric.description = description;
    if (!variant.numeric.exact) {
      variant.numeric.exp_rel = kRounded;
      variant.numeric.tanh_rel = kRounded;
    }
    variants_.push_back(std::move(variant));
    return variants_.back();
  }
  GradVariant& Tiles(GradVariant& v, int64_t q, int64_t kv) {
    v.tile_q = q;
    v.tile_kv = kv;
    return v;
  }
  std::vector<GradVariant> Take() const {
    return {variants_.begin(), variants_.end()};
  }

 private:
  std::deque<GradVariant> variants_;  // references stay good
};

void AddF32(GradBuilder* zoo) {
  zoo->Add("grad-exact", "exact-f32", "gradients: the contract, 4x4");
  zoo->Tiles(zoo->Add("grad-exact-wide", "exact-f32",
                      "gradients: the contract, tiles of 16x64"),
             16, 64);
  zoo->Add("grad-cpu", "cpu-f32", "gradients: f32, natural exp, 4x4");
  zoo->Tiles(zoo->Add("grad-cpu-tile1", "cpu-f32",
                      "gradients: f32, a tile for every pair"),
             1, 1);
  zoo->Tiles(
      zoo->Add("grad-cpu-wide", "cpu-f32", "gradients: f32, tiles of 64x128"),
      64, 128);
  zoo->Add("grad-cpu-descending", "cpu-f32",
           "gradients: f32, tiles in descending order")
      .descending = true;
  zoo->Add("grad-cpu-split3", "cpu-f32",
           "gradients: f32, each sum in three parts, added up")
      .parts = 3;
  auto& base2 = zoo->Add("grad-cpu-base2", "cpu-f32",
                         "gradients: f32, exp2 of scaled scores");
  base2.numeric.exp_base = ExpBase::kTwo;
  auto& fma = zoo->Add("grad-cpu-fma", "cpu-f32",
                       "gradients: f32, exp2 with a fused lse");
  fma.numeric.exp_base = ExpBase::kTwo;
  fma.numeric.shift = Shift::kFma;
  auto& cut = zoo->Add("grad-cpu-truncating", "cpu-f32",
                       "gradients: f32, all sums cut off");
  cut.numeric.acc_qk = {Accumulator::Kind::kTrunc32, 0, 0};
  cut.numeric.grad->acc_dp = cut.numeric.grad->acc_dq =
      cut.numeric.grad->acc_dkv = cut.numeric.acc_qk;
  auto& tf32 = zoo->Add("grad-cpu-tf32", "cpu-f32",
                        "gradients: f32, matrix units of tf32");
  tf32.numeric.operand_qk = tf32.numeric.operand_v = tf32.numeric.p =
      NumberType::kTf32;
  tf32.numeric.grad->p = tf32.numeric.grad->ds = NumberType::kTf32;
}

void AddBf16(GradBuilder* zoo) {
  auto& exact = zoo->Add("grad-exact-bf16", "exact-bf16",
                         "gradients: the contract, bf16");
  zoo->Tiles(exact, 2, 8);
  zoo->Add("grad-flash", "flash-bf16",
           "gradients: P and dS recomputed and rounded to bf16, f32 sums");
  zoo->Tiles(zoo->Add("grad-flash-wide", "flash-bf16",
                      "gradients: the same in tiles of 64x64, last first"),
             64, 64)
      .descending = true;
  auto& partial =
      zoo->Add("grad-flash-dq-bf16", "flash-bf16",
               "gradients: dq kept in bf16 between key tiles of 16");
  zoo->Tiles(partial, 8, 16);
  partial.numeric.tile_kv = 16;
  partial.numeric.grad->dq_state = NumberType::kBf16;
  auto& heads = zoo->Add("grad-flash-dkv-bf16", "flash-bf16",
                         "gradients: dk and dv kept in bf16 between tiles of "
                         "16 queries");
  zoo->Tiles(heads, 16, 8);
  heads.numeric.grad->tile_q = 16;
  heads.numeric.grad->dkv_state = NumberType::kBf16;
  zoo->Add("grad-flash-split", "flash-bf16",
           "gradients: flash, each sum in two parts")
      .parts = 2;
  auto& p32 = zoo->Add("grad-flash-p-f32", "flash-bf16",
                       "gradients: bf16 tensors, P and dS in f32");
  p32.numeric.grad->p = p32.numeric.grad->ds = NumberType::kF32;
  auto& cut = zoo->Add("grad-flash-cut", "flash-bf16",
                       "gradients: P and dS cut to bf16");
  cut.numeric.p_round = Rounding::kTruncate;
  auto& mma = zoo->Add("grad-mma", "mma-bf16",
                       "gradients: matrix units, truncating blocks of 16");
  zoo->Tiles(mma, 16, 32);
  mma.numeric.tanh_rel = 0x1p-11;
  mma.numeric.exp_rel = 0x1p-20;
}

}  // namespace

std::span<const GradVariant> GradZoo() {
  static const std::vector<GradVariant> kZoo = [] {
    GradBuilder zoo;
    AddF32(&zoo);
    AddBf16(&zoo);
    return zoo.Take();
  }();
  return kZoo;
}

Result<GradVariant> FindGradVariant(std::string_view name) {
  return FindInZoo(name, GradZoo(), "");
}

}  // namespace lockstep::verify
