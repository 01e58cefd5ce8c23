#include "tests/power/lengths/structural.h"

#include <algorithm>
#include <string_view>

namespace lockstep::verify {
namespace {

constexpr const char* kPrecision =
    "a matter of precision: an error bound that grows with the length hides "
    "it, and its dial says from where on it is found";
constexpr const char* kTwoCalls =
    "it needs two calls that differ; a sequence of short calls proves it";
constexpr const char* kSpecial =
    "it needs NaN among the visible keys, where every profile but the "
    "contract's leaves the row open; short cases prove it by bits";

constexpr const char* kAsManyHeads =
    "the shapes agree only where there are as many heads as tokens; a short "
    "case proves it";

constexpr const char* kDense =
    "dense tensors have the strides that it takes for granted; a short case "
    "with others proves it";

constexpr Exempt kExempt[] = {
    {"attn.strides_ignored", kDense},
    {"attn.cap_wrong_value", kPrecision},
    {"attn.tanh_coarse", kPrecision},
    {"attn.lazy_stale_max", kPrecision},
    {"attn.lse_from_bf16_l", kPrecision},
    {"attn.cap_stale", kTwoCalls},
    {"attn.racy", kTwoCalls},
    {"attn.stale_output", kTwoCalls},
    {"scan.stale_output", kTwoCalls},
    {"merge.stale_output", kTwoCalls},
    {"attn.nan_swallowed", kSpecial},
    {"scan.time_head_swapped", kAsManyHeads},
};

constexpr const char* kOtherMaximum =
    "a maximum that is not the row's own cancels in o and in lse, but for "
    "rounding, until a weight over- or underflows";
constexpr const char* kSmallWeight =
    "its keys weigh e^-cap beside the others: below a rounding for large caps";
constexpr const char* kSmallCap =
    "far below the cap a capped logit is the logit, but for its cube";
constexpr const char* kSmallGrowth =
    "where the maximum grows by less than a rounding, so does what is not "
    "rescaled";

constexpr const char* kSeenAlike =
    "keys that a row sees alike, moved together with their V rows, leave its "
    "sums what they were, but for rounding";

constexpr const char* kNoGate =
    "without a gate only the order of one sum is another";

constexpr const char* kSmallDs =
    "what f16 cuts off dP is below the rounding of dS where P is far from 1";

constexpr const char* kRatio =
    "a ratio of two exponentials is the exponential of the difference, but for "
    "rounding, until both vanish";

constexpr Exempt kSomewhere[] = {
    {"attn.fixed_max", kOtherMaximum},
    {"attn.max_init_zero", kOtherMaximum},
    {"attn.max_of_row_pair", kOtherMaximum},
    {"attn.sink_not_in_max", kOtherMaximum},
    {"merge.no_max", kOtherMaximum},
    {"merge.max_of_first", kOtherMaximum},
    {"merge.max_from_zero", kOtherMaximum},
    {"merge.max_from_finite", kOtherMaximum},
    {"merge.max_of_head", kOtherMaximum},
    {"attn.max_finite_sentinel", kOtherMaximum},
    {"attn.mask_before_cap", kSmallWeight},
    {"attn.padding_before_cap", kSmallWeight},
    {"attn.cap_on_sink", kSmallCap},
    {"attn.cap_clamp", kSmallCap},
    {"attn.kv_pages_exchanged", kSeenAlike},
    {"attn.acc_not_rescaled", kSmallGrowth},
    {"attn.last_rescale_forgotten", kSmallGrowth},
    {"attn.l_not_rescaled", kSmallGrowth},
    {"attn.acc_column_not_rescaled", kSmallGrowth},
    {"attn.rescale_stale", kSmallGrowth},
    {"attn.rescale_inverted", kSmallGrowth},
    {"attn.lse_previous_max", kSmallGrowth},
    {"attn.lse_unrescaled_l", kSmallGrowth},
    {"scan.skip_after_gate", kNoGate},
    {"ssd.skip_after_gate", kNoGate},
    {"scan.ratio_decay", kRatio},
    {"grad.f16_dp_f16", kSmallDs},
    {"grad.f16_delta_f16", kSmallDs},
};

constexpr const char* kFewScores =
    "the scores of few keys are wrong: under a small cap no key can be made to "
    "outweigh the rest, and what they add is below the roundings of all "
    "weights";
constexpr const char* kPartsAlike =
    "the weights of parts of the keys are wrong, and under a small cap these "
    "are nearly equal";

constexpr Exempt kUnderSmallCap[] = {
    {"attn.k_row_off_by_one", kFewScores},
    {"attn.k_row_of_tile_edge", kFewScores},
    {"attn.k_of_next_tile", kFewScores},
    {"attn.k_tile_of_other_head", kFewScores},
    {"attn.k_prefetched_head_zero", kFewScores},
    {"attn.scale_twice_last_tile", kFewScores},
    {"attn.k_swizzle_row", kFewScores},
    {"attn.cap_only_full_tiles", kFewScores},
    {"attn.cap_only_partial_tiles", kFewScores},
    {"attn.p_of_previous_tile", kFewScores},
    {"attn.merge_swapped", kPartsAlike},
    {"attn.merge_unweighted", kPartsAlike},
};

const char* Find(std::span<const Exempt> table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(),
                   [&](const Exempt& e) { return name == e.mutant; });
  return found == table.end() ? nullptr : found->why;
}

}  // namespace

std::span<const Exempt> ExemptMutants() { return kExempt; }

bool BreaksF16(const MutantInfo& info) {
  return std::string_view(info.family) == "f16";
}

bool BreaksFp8(const MutantInfo& info) {
  return std::string_view(info.family) == "fp8";
}

const char* WhyExempt(const MutantInfo& info) {
  const char* why = Find(kExempt, info.name);
  if (why != nullptr) return why;
  return std::string_view(info.family) == "numeric" ? kPrecision : nullptr;
}

const char* WhyOnlySomewhere(const MutantInfo& info) {
  return Find(kSomewhere, info.name);
}

const char* WhyInvisibleUnderSmallCap(const MutantInfo& info) {
  return Find(kUnderSmallCap, info.name);
}

bool DependsOnValues(const MutantInfo& info) {
  return !info.attention() || Find(kSomewhere, info.name) == kOtherMaximum ||
         Find(kSomewhere, info.name) == kSmallGrowth;
}

}  // namespace lockstep::verify
