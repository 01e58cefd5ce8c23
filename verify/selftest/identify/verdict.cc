// Whether a whole verdict fails a bug: with laws and other runs of a case,
// which an envelope and probes lack.
#include "verify/candidate/candidate.h"
#include "verify/judge/judge.h"
#include "verify/registry/ops.h"
#include "verify/selftest/identify/measured.h"
#include "verify/selftest/trialist.h"

namespace lockstep::verify {

Result<bool> FailsWhole(const std::string& line, const std::string& spec,
                        const NumericProfile& profile) {
  auto kernel = ParseCandidate(spec);
  if (!kernel.ok()) return kernel.status();
  const Result<Case> parsed = ParseCase(line);
  if (!parsed.ok()) return parsed.status();
  const Case call = InLane(parsed.value(), profile);
  const CaseRequest request = {.call = &call, .line = MinimalLine(call)};
  const Status ready = kernel.value()->Prepare(request);
  if (!ready.ok()) return ready;
  JudgeOptions options;
  options.profile = profile;
  options.profile_spec = "identified";
  options.threads = 1;
  options.only_verdict = true;
  return JudgeCase(request, *kernel.value(), options, nullptr).verdict ==
         Verdict::kFail;
}

}  // namespace lockstep::verify
