// Whether a case proves anything. The null candidates come before the same
// judge as the candidate: their answers know nothing, or leave one feature out.
// A case on which one that differs from the truth passes, or on which not even
// "all zeros" is rejected, is untrusted.
#ifndef LOCKSTEP_VERIFY_JUDGE_EVIDENCE_POWER_H_
#define LOCKSTEP_VERIFY_JUDGE_EVIDENCE_POWER_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/judge/truth.h"
#include "verify/judge/verdict.h"
#include "verify/ops/allowed.h"

namespace lockstep::verify {

// Rows looked at for each null that the first row does not tell apart.
inline constexpr int64_t kPowerRows = 64;

// The first output of the case before: what a kernel that does nothing leaves
// in a reused buffer.
struct PreviousTruth {
  std::array<int64_t, 4> shape{};
  Lane lane = Lane::kF32;
  std::string inputs;  // digest: the same inputs have nearly the same answer
  Truth truth;         // of that output alone
  std::string line{};  // the case; for replay lines
};

// Beyond so many units in the last place of a row's largest element a null
// differs from the truth for an envelope, which allows some of them.
inline constexpr double kTellingUlp = 4;

// One entry per null that has a meaning for the problem. Only the first output
// decides: statistics such as lse would give every null away. `allowed` may be
// null: then bits decide.
//   Requires: allowed->rows() == truth.rows.
std::vector<Power> MeasurePower(const Trial& trial, const Truth& truth,
                                const AllowedResults* allowed);
// Appends the null that answers as the case before, where that has as many rows
// of the same shape.
void AddPreviousPower(const Trial& trial, const Truth& truth,
                      const PreviousTruth& previous,
                      const AllowedResults* allowed, std::vector<Power>* power);

// What a case leaves for the next. `inputs`: the digest; `line`: the case.
PreviousTruth FirstOutputOf(const Trial& trial, const Truth& truth,
                            std::string inputs, std::string line);

// Nulls not yet rejected, on another set of inputs; `whole`: by any output of
// theirs, not by the first alone.
void RejectMore(const Trial& trial, const AllowedResults& allowed, bool whole,
                std::vector<Power>* power);

// Why the case proves too little; empty if it does not. A null that the truth
// itself equals on all compared rows does not apply, "zeros" excepted. An
// `own_probe`, a case that is itself a probe, has to reject only one null. In
// the probe deep all keys hold the same values, so that no mask can show.
std::string WhyUntrusted(const Truth& truth, const std::vector<Power>& power,
                         bool own_probe);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_EVIDENCE_POWER_H_
