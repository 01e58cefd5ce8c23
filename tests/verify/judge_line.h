// One case, one candidate, one verdict: as `lockstep verify` would.
#ifndef LOCKSTEP_TESTS_VERIFY_JUDGE_LINE_H_
#define LOCKSTEP_TESTS_VERIFY_JUDGE_LINE_H_

#include <gtest/gtest.h>

#include <string>

#include "verify/candidate/candidate.h"
#include "verify/judge/judge.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::verify {

// Requires: a line of one call.
inline CaseResult JudgeLine(const std::string& line, Candidate& candidate,
                            const JudgeOptions& options = {}) {
  const Result<Case> c = ParseCase(line);
  EXPECT_TRUE(c.ok()) << line << ": " << c.message();
  const CaseRequest request = {.call = &c.value(),
                               .line = MinimalLine(c.value())};
  return JudgeCase(request, candidate, options, nullptr);
}

inline CaseResult JudgeSpec(const std::string& line, const std::string& spec,
                            const JudgeOptions& options = {}) {
  const auto candidate = ParseCandidate(spec);
  EXPECT_TRUE(candidate.ok()) << candidate.message();
  return JudgeLine(line, *candidate.value(), options);
}

// As the option --profile.
inline JudgeOptions With(const char* profile) {
  JudgeOptions options;
  options.profile = LoadProfile(profile).value();
  options.profile_spec = profile;
  return options;
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_JUDGE_LINE_H_
