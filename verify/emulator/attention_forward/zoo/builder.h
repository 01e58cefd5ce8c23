// How the files of the zoo write down its variants.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ZOO_BUILDER_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ZOO_BUILDER_H_

#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/emulator/attention_forward/variant.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Errors of the emulator's own functions: correctly rounded but for 2^-50.
inline constexpr double kRounded = 0x1p-23;

inline NumericProfile Builtin(std::string_view name) {
  for (const NumericProfile& profile : BuiltinProfiles()) {
    if (profile.name == name) return profile;
  }
  return {};
}

// Collects variants; every method starts one from a built-in profile.
class AttentionBuilder {
 public:
  AttentionVariant& Add(const char* name, const char* base,
                        const char* description) {
    AttentionVariant variant;
    variant.numeric = Builtin(base);
    variant.numeric.name = name;
    variant.numeric.description = description;
    if (!variant.numeric.exact) {
      variant.numeric.exp_rel = kRounded;
      variant.numeric.tanh_rel = kRounded;
      variant.numeric.division = Division::kDivide;
      variant.numeric.log_rel = 0x1p-22;
    }
    variants_.push_back(std::move(variant));
    return variants_.back();
  }
  std::vector<AttentionVariant> Take() const {
    return {variants_.begin(), variants_.end()};
  }

 private:
  std::deque<AttentionVariant> variants_;  // references stay good
};

inline AttentionVariant& Tiles(AttentionVariant& v, int64_t q, int64_t kv) {
  v.tile_q = q;
  v.tile_kv = kv;
  return v;
}

// A whole softmax, then its product with V.
inline AttentionVariant& Unfused(AttentionVariant& v) {
  v.numeric.normalise = Normalise::kBefore;
  v.numeric.max = {MaxPolicy::Kind::kTwoPass, 0};
  v.numeric.splits = 1;
  return v;
}

// Kernels whose products are those of a GPU's matrix unit, bit by bit.
void AddUnits(AttentionBuilder* zoo);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ZOO_BUILDER_H_
