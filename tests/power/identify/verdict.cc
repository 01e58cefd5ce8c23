// Whether a whole verdict fails a bug: with laws and other runs of a case,
// which an envelope and probes lack.
#include "tests/power/identify/measured.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/judge/judge.h"
#include "verify/registry/ops.h"
#include "verify/selftest/trialist.h"

namespace lockstep::verify {

Result<bool> FailsWhole(const std::string& line, const std::string& spec,
                        const NumericProfile& profile) {
  ASSIGN_OR_RETURN(auto kernel, ParseCandidate(spec));
  ASSIGN_OR_RETURN(const Case parsed, ParseCase(line));
  const Case call = InLane(parsed, profile);
  const CaseRequest request = {.call = &call, .line = MinimalLine(call)};
  RETURN_IF_ERROR(kernel->Prepare(request));
  JudgeOptions options;
  options.profile = profile;
  options.profile_spec = "identified";
  options.threads = 1;
  options.only_verdict = true;
  return JudgeCase(request, *kernel, options, nullptr).verdict ==
         Verdict::kFail;
}

}  // namespace lockstep::verify
