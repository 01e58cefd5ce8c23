// What common tolerances (allclose, NMSE, ...) would have said about a case.
// They are printed, but do not affect the verdict.
#ifndef LOCKSTEP_VERIFY_JUDGE_RULES_BASELINES_H_
#define LOCKSTEP_VERIFY_JUDGE_RULES_BASELINES_H_

#include "verify/judge/truth.h"
#include "verify/judge/verdict.h"
#include "verify/ops/allowed.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Multiply-adds up to which there is a baseline: the rule compares with a
// correct kernel of low precision. The emulator does about 5e7 of them a
// second.
inline constexpr int64_t kBaselineWork = int64_t{1} << 24;

// On every output that the kernel has, of the truth's rows: a rule passes if it
// passes each. `allowed` (may be null) brings a truth of the first output
// without rounding, `profile` (may be null) what the kernel claims.
std::vector<Baseline> JudgeByBaselines(const Trial& trial, const Truth& truth,
                                       const AllowedResults* allowed,
                                       const NumericProfile* profile,
                                       const OutputSet& produced);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_RULES_BASELINES_H_
