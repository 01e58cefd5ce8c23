// The zoo of correct kernels of attention's gradients.
#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "verify/emulator/attention_backward/kernel.h"
#include "verify/emulator/zoo.h"

namespace lockstep::verify {
namespace {

// Errors of the emulator's own functions: correctly rounded but for 2^-50.
constexpr double kRounded = 0x1p-23;

class GradBuilder {
 public:
  GradVariant& Add(const std::string& name, const char* base,
                   const std::string& description) {
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

void UseTf32(GradVariant* v) {
  NumericProfile& n = v->numeric;
  n.operand_qk = n.operand_v = n.p = NumberType::kTf32;
  n.grad->p = n.grad->ds = NumberType::kTf32;
}

void AddF32(GradBuilder* zoo) {
  zoo->Add("grad-exact", "exact-f32", "gradients: the contract, 4x4");
  zoo->Tiles(zoo->Add("grad-exact-wide", "exact-f32",
                      "gradients: the contract, tiles of 16x64"),
             16, 64);
  zoo->Add("grad-cpu", "cpu-f32", "gradients: f32, natural exp, 4x4");
  zoo->Tiles(zoo->Add("grad-cpu-tile1", "cpu-f32",
                      "gradients: f32, a tile for every pair"),
             1, 1)
      .tiles_apart = true;
  zoo->Tiles(zoo->Add("grad-cpu-wide", "cpu-f32",
                      "gradients: f32, tiles of 64x128, each a sum of its own"),
             64, 128)
      .tiles_apart = true;
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
  UseTf32(&zoo->Add("grad-cpu-tf32", "cpu-f32",
                    "gradients: f32, matrix units of tf32"));
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

// A place of the scale in dq, and in dk.
struct DqPlace {
  const char* name;
  DqScaleAt at;
};
struct DkPlace {
  const char* name;
  DkScaleAt at;
};
constexpr DqPlace kDqPlaces[] = {
    {"ds", DqScaleAt::kDs}, {"k", DqScaleAt::kK}, {"end", DqScaleAt::kEnd}};
constexpr DkPlace kDkPlaces[] = {{"ds", DkScaleAt::kDs},
                                 {"q", DkScaleAt::kQ},
                                 {"head", DkScaleAt::kHead},
                                 {"sum", DkScaleAt::kSum}};

void PlaceScale(DqScaleAt dq, DkScaleAt dk, GradVariant* v) {
  v->numeric.grad->dq_scale_at = dq;
  v->numeric.grad->dk_scale_at = dk;
  v->heads_apart |= dk == DkScaleAt::kHead;
}

// Every place of the scale, in f32, on matrix units of tf32 and in bf16; where
// it comes last the kernels above do so.
void AddPlaces(GradBuilder* zoo) {
  for (const DqPlace& dq : kDqPlaces) {
    for (const DkPlace& dk : kDkPlaces) {
      if (dq.at == DqScaleAt::kEnd && dk.at == DkScaleAt::kSum) continue;
      const std::string place = std::string(dq.name) + "-" + dk.name;
      const std::string words =
          std::string(", dq scaled at ") + dq.name + ", dk at " + dk.name;
      PlaceScale(
          dq.at, dk.at,
          &zoo->Add("grad-cpu-" + place, "cpu-f32", "gradients: f32" + words));
      auto& tf32 = zoo->Add("grad-tf32-" + place, "cpu-f32",
                            "gradients: f32, matrix units of tf32" + words);
      UseTf32(&tf32);
      PlaceScale(dq.at, dk.at, &tf32);
      PlaceScale(dq.at, dk.at,
                 &zoo->Add("grad-flash-" + place, "flash-bf16",
                           "gradients: flash" + words));
    }
  }
}

// The sum over the heads of a group: of sums in f32 or rounded to bf16, itself
// in f32 or in bf16, in either order.
void AddHeads(GradBuilder* zoo) {
  const auto add = [&](const std::string& name, const char* base, DkScaleAt dk,
                       bool descending) -> GradVariant& {
    auto& v = zoo->Add(name + (descending ? "-descending" : ""), base,
                       std::string("gradients: heads summed apart") +
                           (descending ? ", last first" : ""));
    PlaceScale(DqScaleAt::kEnd, dk, &v);
    v.heads_apart = true;
    v.heads_descending = descending;
    return v;
  };
  const auto narrow = [](GradVariant* v, bool group) {
    v->numeric.description += group ? ", all sums in bf16" : ", each in bf16";
    v->numeric.grad->dkv_state = NumberType::kBf16;
    // One tile holds any number of queries.
    v->numeric.grad->tile_q = v->tile_q = int64_t{1} << 20;
    v->group_rounded = group;
  };
  for (const bool descending : {false, true}) {
    add("grad-cpu-heads", "cpu-f32", DkScaleAt::kSum, descending);
    add("grad-flash-heads", "flash-bf16", DkScaleAt::kSum, descending);
    narrow(&add("grad-flash-heads-bf16", "flash-bf16", DkScaleAt::kSum,
                descending),
           descending);
    narrow(&add("grad-flash-heads-bf16-scaled", "flash-bf16", DkScaleAt::kHead,
                descending),
           descending);
    narrow(&add("grad-flash-heads-bf16-ds", "flash-bf16", DkScaleAt::kDs,
                descending),
           descending);
    narrow(&add("grad-mma-heads-bf16-scaled", "mma-bf16", DkScaleAt::kHead,
                descending),
           descending);
  }
  add("grad-cpu-heads-scaled", "cpu-f32", DkScaleAt::kHead, true);
}

// dS of the P that meets do, as memory-efficient attention has it, which also
// puts the scale into dS.
void AddRoundedWeights(GradBuilder* zoo) {
  const auto add = [&](const std::string& name, const char* base) {
    auto& v = zoo->Add(name, base, "gradients: dS of the rounded P");
    v.numeric.grad->ds_from = DsFrom::kRoundedP;
    return &v;
  };
  UseTf32(add("grad-tf32-rounded-p", "cpu-f32"));
  add("grad-flash-rounded-p", "flash-bf16");
  auto* cut = add("grad-flash-cut-rounded-p", "flash-bf16");
  cut->numeric.p_round = Rounding::kTruncate;
  PlaceScale(DqScaleAt::kDs, DkScaleAt::kDs,
             add("grad-mma-rounded-p-ds", "mma-bf16"));
}

// A forward pass of the kernel's own, as autograd runs it, in f32, on matrix
// units of tf32 and in bf16: at some places of the scale, with an lse to hand
// back and without, with heads rounded apart.
void AddOwn(GradBuilder* zoo) {
  const auto add = [&](const std::string& name, const char* base,
                       const std::string& words) {
    auto& v =
        zoo->Add(name, base, "gradients: of an o and lse of its own" + words);
    v.numeric.grad->from = GradFrom::kOwn;
    v.numeric.division = Division::kDivide;
    v.numeric.log_rel = 0x1p-22;
    return &v;
  };
  add("grad-cpu-own", "cpu-f32", ", f32");
  UseTf32(add("grad-tf32-own", "cpu-f32", ", matrix units of tf32"));
  // Flash attention: D is a sum over the o that was rounded.
  add("grad-flash-own", "flash-bf16", ", flash");
  const struct {
    const char* name;
    DqScaleAt dq;
    DkScaleAt dk;
  } kPlaces[] = {{"ds-ds", DqScaleAt::kDs, DkScaleAt::kDs},
                 {"k-q", DqScaleAt::kK, DkScaleAt::kQ},
                 {"end-head", DqScaleAt::kEnd, DkScaleAt::kHead}};
  for (const auto& [name, dq, dk] : kPlaces) {
    const std::string place = std::string("-own-") + name;
    const std::string words = std::string(", scaled at ") + name;
    PlaceScale(dq, dk, add("grad-cpu" + place, "cpu-f32", words));
    auto* const tf32 = add("grad-tf32" + place, "cpu-f32", ", tf32" + words);
    UseTf32(tf32);
    PlaceScale(dq, dk, tf32);
    PlaceScale(dq, dk, add("grad-flash" + place, "flash-bf16", words));
  }
  // cuDNN, and memory-efficient attention.
  PlaceScale(DqScaleAt::kDs, DkScaleAt::kDs,
             add("grad-cudnn-own", "mma-bf16", ", matrix units, scaled dS"));
  auto* const efficient =
      add("grad-efficient-own", "mma-bf16", ", dS of the rounded P");
  efficient->numeric.grad->ds_from = DsFrom::kRoundedP;
  PlaceScale(DqScaleAt::kDs, DkScaleAt::kDs, efficient);
  for (const auto& [name, base] :
       {std::pair{"grad-cpu-own-no-lse", "cpu-f32"},
        std::pair{"grad-flash-own-no-lse", "flash-bf16"}}) {
    auto* const v = add(name, base, ", of which only o is handed back");
    v->numeric.lse = LseLane::kNone;
    v->descending = true;
  }
  auto* const heads =
      add("grad-flash-own-heads-bf16", "flash-bf16", ", heads apart in bf16");
  PlaceScale(DqScaleAt::kEnd, DkScaleAt::kHead, heads);
  heads->heads_apart = heads->heads_descending = heads->group_rounded = true;
  heads->numeric.grad->dkv_state = NumberType::kBf16;
  heads->numeric.grad->tile_q = heads->tile_q = int64_t{1} << 20;
}

// D as a sum of P and dP, as the gradient of a softmax that keeps its weights
// has it: no lse is left of it.
void AddWeighedDelta(GradBuilder* zoo) {
  const auto add = [&](const char* name, const char* base) {
    auto& v = zoo->Add(name, base, "gradients: D of weights of its own");
    v.numeric.grad->from = GradFrom::kOwn;
    v.numeric.grad->delta_from = DeltaFrom::kWeights;
    v.numeric.lse = LseLane::kNone;
    v.numeric.division = Division::kDivide;
    return &v;
  };
  add("grad-cpu-own-weights", "cpu-f32");
  add("grad-flash-own-weights", "flash-bf16")->numeric.grad->ds_from =
      DsFrom::kRoundedP;
}

// Masked pairs in the products, with a weight of 0: NaN of a query is in every
// sum that it meets. Some guard the keys that no query sees.
void AddMasked(GradBuilder* zoo) {
  const auto add = [&](const char* name, const char* base, MaskedNan safe) {
    auto& v = zoo->Add(name, base,
                       safe == MaskedNan::kNo
                           ? "gradients: a weight of 0 times what is masked"
                           : "gradients: the same; keys that no query sees are "
                             "guarded");
    v.mask_multiplies = true;
    v.numeric.masked_nan_safe = safe;
    return &v;
  };
  add("grad-cpu-masked", "cpu-f32", MaskedNan::kNo);
  add("grad-flash-masked", "flash-bf16", MaskedNan::kNo);
  add("grad-cpu-guarded-padding", "cpu-f32", MaskedNan::kPadding);
  auto* const own =
      add("grad-flash-own-guarded-padding", "flash-bf16", MaskedNan::kPadding);
  own->numeric.grad->from = GradFrom::kOwn;
  own->numeric.division = Division::kDivide;
  own->numeric.log_rel = 0x1p-22;
}

void AddF16(GradBuilder* zoo) {
  zoo->Tiles(
      zoo->Add("grad-exact-f16", "exact-f16", "gradients: the contract, f16"),
      2, 8);
  zoo->Add("grad-flash-f16", "flash-f16",
           "gradients: P and dS recomputed and rounded to f16, f32 sums");
  zoo->Tiles(zoo->Add("grad-flash-f16-wide", "flash-f16",
                      "gradients: the same in tiles of 64x64, last first"),
             64, 64)
      .descending = true;
  zoo->Add("grad-mma-f16", "mma-f16", "gradients: f16 on matrix units");
}

}  // namespace

std::span<const GradVariant> GradZoo() {
  static const std::vector<GradVariant> kZoo = [] {
    GradBuilder zoo;
    AddF32(&zoo);
    AddBf16(&zoo);
    AddPlaces(&zoo);
    AddHeads(&zoo);
    AddRoundedWeights(&zoo);
    AddOwn(&zoo);
    AddWeighedDelta(&zoo);
    AddMasked(&zoo);
    AddF16(&zoo);
    return zoo.Take();
  }();
  return kZoo;
}

Result<GradVariant> FindGradVariant(std::string_view name) {
  return FindInZoo(name, GradZoo(), "");
}

}  // namespace lockstep::verify
