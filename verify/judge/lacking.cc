// Of outputs that a kernel does not have it claims nothing, whatever profile
// was typed: `lacks` of a kernel is `lse = none` of its profile.
#include <string>
#include <utility>
#include <vector>

#include "verify/judge/judge.h"
#include "verify/judge/judgement.h"

namespace lockstep::verify {
namespace {

// Takes the outputs out of the profile. Returns whether it had one of them.
bool Drop(const std::vector<std::string>& outputs, NumericProfile* profile) {
  const NumericProfile before = *profile;
  for (const std::string& output : outputs) {
    if (output == "lse") profile->lse = LseLane::kNone;
    for (size_t n = 0; profile->scan && n < kScanCarries.size(); ++n) {
      if (output == kScanCarries[n]) profile->scan->lacks[n] = true;
    }
  }
  return !(*profile == before);
}

}  // namespace

CaseResult JudgeCase(const CaseRequest& request, Candidate& candidate,
                     const JudgeOptions& options, const ChainPlace* among) {
  if (!options.profile) {
    return Judgement(request, candidate, options).Run(among);
  }
  JudgeOptions own = options;
  CaseRequest asked = request;
  Drop(candidate.Introduce().lacks, &*own.profile);
  asked.claims = &*own.profile;
  bool told = false;
  {
    Judgement first(asked, candidate, own);
    CaseResult result = first.Run(among);
    // A kernel that said at its first answer what it lacks is asked again.
    if (!Drop(candidate.Introduce().lacks, &*own.profile)) return result;
    told = first.told();
  }
  return Judgement(asked, candidate, own).Run(told ? nullptr : among);
}

}  // namespace lockstep::verify
