// Judges case lines for check, as verify does, and keeps every result.
#ifndef LOCKSTEP_FUZZ_CHECK_JUDGING_H_
#define LOCKSTEP_FUZZ_CHECK_JUDGING_H_

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/judge/verdict.h"
#include "verify/profile/claims.h"
#include "verify/report/report.h"

namespace lockstep::fuzz::check {

struct Judging {
  std::string spec;
  std::string profile;   // as --profile takes it
  bool thorough = true;  // false: the case's own inputs alone, without causes
  verify::ClaimSet claims;        // not empty: nothing but these is tried
  std::optional<double> seconds;  // after which no further case begins
  const std::atomic<bool>* stop = nullptr;
};

struct Answers {
  std::vector<verify::CaseResult> cases;
  verify::Totals totals;
  verify::RunStatistics statistics;
  // A call of a law put NaN into other numbers, and it spread: a convention.
  // Cases where that is all that is wrong are counted as passed.
  bool nan_laws = false;

  // The first that is wrong, or whose kernel broke; null: none is.
  const verify::CaseResult* Wrong() const;
};

// Errors: a line that is no case, a kernel that cannot be started.
Result<Answers> JudgeLines(const std::vector<std::string>& lines,
                           const Judging& how);

}  // namespace lockstep::fuzz::check

#endif  // LOCKSTEP_FUZZ_CHECK_JUDGING_H_
