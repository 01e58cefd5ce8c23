// Rows of large cases that the reference did not compute, and what they are
// compared with instead.
#ifndef LOCKSTEP_VERIFY_JUDGE_ROWS_H_
#define LOCKSTEP_VERIFY_JUDGE_ROWS_H_

#include <cstdint>

#include "verify/judge/truth.h"
#include "verify/judge/verdict.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

struct OtherRows {
  const Trial* trial = nullptr;
  const Truth* truth = nullptr;         // of the sample
  const OutputSet* produced = nullptr;  // all rows
  OutputSet* scratch = nullptr;         // overwritten; empty: allocated
  int64_t shift = 0;                    // of the outputs
};

// Bits of a candidate that claims the reference's. They are compared with the
// optimized path, which has to have the reference's bits on the sampled rows.
// If it does not, the judge is broken: Tier::kSelf. Nothing is compared where
// the candidate ran that path itself, or this CPU has no such path.
void CompareOtherRows(const OtherRows& rows, CaseResult* result);

// Elements, of a candidate that claims a profile: what Trial::Ranges says that
// no row can leave.
void RangeOtherRows(const OtherRows& rows, const NumericProfile& profile,
                    CaseResult* result);

// Multiply-adds of the truth of rows that the witness does not vouch for. Where
// they cost more, the most doubtful ones come first, and the others stay with
// what no row can leave (RangeOtherRows).
inline constexpr int64_t kDoubtfulCost = int64_t{1} << 32;

// Judges by Trial::Witness, if there is one, and adds to rows_witnessed,
// rows_oracle and findings. Tier::kEnvelope is of a row that the oracle found
// outside. Tier::kSelf says that the witness is outside its own bound.
//   Requires: the candidate ran other code than the witness is.
void WitnessOtherRows(const OtherRows& rows, const NumericProfile& profile,
                      int threads, uint64_t salt, CaseResult* result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_ROWS_H_
