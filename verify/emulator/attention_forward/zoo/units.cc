// Correct kernels of every chip whose matrix unit docs/gpu-units.md models and
// whose operands attention has: bf16 and tf32. Ada's are Ampere's, Blackwell's
// are Hopper's.
#include "reference/contract/matrix_units.h"
#include "verify/emulator/attention_forward/zoo/builder.h"

namespace lockstep::verify {
namespace {

struct Chip {
  const char* base;  // its built-in profile
  UnitStep step;
};
constexpr Chip kHopper{"hopper-bf16", kHopperStep};
constexpr Chip kAmpere{"ampere-bf16", kAmpereStep};
constexpr Chip kHopperTf32{"hopper-tf32", kHopperTf32Step};
constexpr Chip kAmpereTf32{"ampere-tf32", kAmpereTf32Step};

AttentionVariant& Add(AttentionBuilder* zoo, const Chip& chip, const char* name,
                      const char* description) {
  AttentionVariant& variant = zoo->Add(name, chip.base, description);
  variant.unit = chip.step;
  return variant;
}

void AddHopper(AttentionBuilder* zoo) {
  const auto add = [&](const char* name, const char* what) -> auto& {
    return Tiles(Add(zoo, kHopper, name, what), 64, 64);
  };
  add("hopper", "Hopper's unit, tiles of 64x64");
  Tiles(add("hopper-tile16", "Hopper's unit, a step a tile"), 16, 16);
  Tiles(add("hopper-tile128", "Hopper's unit, tiles of 64x128"), 64, 128);
  auto& claim = add("hopper-ascending", "Hopper's unit, its order claimed");
  claim.numeric.chain_order = ChainOrder::kAscending;
  claim.numeric.tile_kv = 64;
  add("hopper-descending", "Hopper's unit, last tile first").order =
      KeyOrder::kDescending;
  add("hopper-partial-first", "Hopper's unit, partial tiles first").order =
      KeyOrder::kPartialThenFull;
  add("hopper-split", "Hopper's unit, three parts merged").splits = 3;
  add("hopper-lazy", "Hopper's unit, maximum moved by 8 at least")
      .numeric.max = {MaxPolicy::Kind::kLazy, 8};
  add("hopper-l-rounded", "Hopper's unit, l of the rounded weights")
      .numeric.l_from = LFrom::kRounded;
  add("hopper-l-lanes", "Hopper's unit, eight partial sums of l").l_lanes = 8;
  add("hopper-reciprocal", "Hopper's unit, multiplied by 1/l")
      .numeric.division = Division::kReciprocal;
  add("hopper-eager", "Hopper's unit, o kept normalised").numeric.normalise =
      Normalise::kEager;
  Unfused(add("hopper-unfused", "Hopper's unit, softmax, then times V"));
  auto& coarse = add("hopper-coarse", "Hopper's unit, tanh of 16 bits");
  coarse.numeric.tanh_rel = 0x1p-16;
  coarse.numeric.exp_rel = 0x1p-20;
}

void AddAmpere(AttentionBuilder* zoo) {
  const auto add = [&](const char* name, const char* what) -> auto& {
    return Tiles(Add(zoo, kAmpere, name, what), 32, 64);
  };
  add("ampere", "Ampere's unit, tiles of 32x64");
  Tiles(add("ampere-tile8", "Ampere's unit, a step a tile"), 16, 8);
  auto& claim = add("ampere-ascending", "Ampere's unit, its order claimed");
  claim.numeric.chain_order = ChainOrder::kAscending;
  claim.numeric.tile_kv = 64;
  add("ampere-split", "Ampere's unit, two parts merged").splits = 2;
  add("ampere-two-pass", "Ampere's unit, the row's maximum first")
      .numeric.max = {MaxPolicy::Kind::kTwoPass, 0};
  Unfused(add("ampere-unfused", "Ampere's unit, softmax, then times V"));
}

void AddTf32(AttentionBuilder* zoo) {
  const auto hopper = [&](const char* name, const char* what) -> auto& {
    return Tiles(Add(zoo, kHopperTf32, name, what), 32, 32);
  };
  hopper("hopper-tf32", "Hopper's tf32 unit, tiles of 32x32");
  hopper("hopper-tf32-descending", "Hopper's tf32 unit, last tile first")
      .order = KeyOrder::kDescending;
  hopper("hopper-tf32-split", "Hopper's tf32 unit, three parts").splits = 3;
  Unfused(hopper("hopper-tf32-unfused", "Hopper's tf32 unit, softmax first"));
  auto& rounded =
      hopper("hopper-tf32-rounded", "Hopper's tf32 unit, operands rounded");
  rounded.numeric.operand_round = rounded.numeric.p_round = Rounding::kNearest;
  const auto ampere = [&](const char* name, const char* what) -> auto& {
    return Tiles(Add(zoo, kAmpereTf32, name, what), 16, 32);
  };
  ampere("ampere-tf32", "Ampere's tf32 unit, tiles of 16x32");
  Tiles(ampere("ampere-tf32-tile4", "Ampere's tf32 unit, a step a tile"), 8, 4);
  ampere("ampere-tf32-eager", "Ampere's tf32 unit, o kept normalised")
      .numeric.normalise = Normalise::kEager;
}

}  // namespace

void AddUnits(AttentionBuilder* zoo) {
  AddHopper(zoo);
  AddAmpere(zoo);
  AddTf32(zoo);
}

}  // namespace lockstep::verify
