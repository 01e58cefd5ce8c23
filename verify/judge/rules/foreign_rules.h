// Tolerances that kernel authors know. They are computed for the published kill
// matrix and for every verdict, in addition to Lockstep's own tiers. They never
// decide one.
#ifndef LOCKSTEP_VERIFY_JUDGE_RULES_FOREIGN_RULES_H_
#define LOCKSTEP_VERIFY_JUDGE_RULES_FOREIGN_RULES_H_

#include <array>
#include <cstddef>
#include <vector>

#include "reference/contract/tensor_view.h"

namespace lockstep::verify {

enum class ForeignRule : uint8_t {
  kAllclose,    // |x - t| <= atol + rtol |t|: f32 1e-5, 1.3e-6; bf16 1e-5,
                // 1.6e-2; f16 1e-5, 1e-3 (torch.testing's defaults)
  kNmse,        // sum (x - t)^2 <= 5e-4 sum t^2 (ggml's test-backend-ops)
  kBaseline3x,  // max |x - t| <= 3 max |baseline - t| + 1e-5 (flash-attention);
                // without a baseline, as if it were exact
  kCosine,      // cosine similarity >= 0.999
  kMaxUlp,      // at most 4 ulp of the lane from the rounded truth
};
inline constexpr size_t kForeignRules = 5;
// "allclose", "nmse", "baseline3x", "cosine", "max_ulp".
const char* ForeignRuleName(ForeignRule rule);

// One output tensor: truth in double, a correct low-precision baseline, and
// what is judged, all as numbers. Rules see numbers only: equal non-finite
// elements pass, others fail.
struct RuleInput {
  Lane lane = Lane::kF32;
  std::vector<double> truth, baseline, produced;
};
std::array<bool, kForeignRules> PassesForeignRules(const RuleInput& input);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_RULES_FOREIGN_RULES_H_
