#include "verify/run/draws.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "verify/domain/draws/further.h"

namespace lockstep::verify {
namespace {

// Draws tell nothing new after a proof, and nothing at all of what did not run.
bool WorthDraws(const CaseResult& result) {
  return result.verdict == Verdict::kPass ||
         result.verdict == Verdict::kSuspicious ||
         result.verdict == Verdict::kUntrusted;
}

CaseResult NotPrepared(const Status& status, const CaseRequest& request,
                       const Candidate& candidate) {
  CaseResult result;
  result.line = request.line;
  result.replay_case = request.line;
  result.candidate = candidate.Spec();
  result.verdict = Verdict::kSkipped;
  result.reason = status.message();
  return result;
}

// A draw that was exported to be answered, and was not: nothing proves that the
// case would pass it.
void NoteAbsent(const CaseResult& drawn, CaseResult* result) {
  result->unanswered.push_back({"draw", drawn.reason});
  if (result->verdict != Verdict::kPass) return;
  result->verdict = Verdict::kUntrusted;
  result->reason = "no answer to a draw, " + drawn.line + ": " + drawn.reason;
  result->findings.push_back(
      {Tier::kPower, "answers", result->reason, "", std::nullopt});
}

}  // namespace

JudgeOptions OptionsOfDraws(JudgeOptions options) {
  options.invariance = false;
  options.repeats = 0;
  options.probes = false;
  options.evidence = false;
  options.canaries = false;
  options.one_field = false;
  options.causes = false;
  options.pictures = false;
  options.decided = nullptr;
  return options;
}

void JudgeDraws(const DrawsRequest& request, CaseResult* result) {
  if (!WorthDraws(*result)) return;
  const int64_t count =
      std::min(request.count, request.candidate.traits().MostDraws());
  JudgeOptions options = OptionsOfDraws(request.options);
  // One draw that fails has a cause; others fail for the same reason.
  options.causes = request.options.causes;
  // Weights in fp8 vanish beside others; what has answers has none to this.
  const bool fp8 = request.own.claims != nullptr &&
                   request.own.claims->p == NumberType::kE4m3 && count > 0 &&
                   request.candidate.held() == nullptr;
  for (const Case& c : FurtherDraws(*request.own.call, count, fp8)) {
    if (options.stop != nullptr && *options.stop) return;
    CaseRequest own = request.own;
    own.call = &c;
    own.line = MinimalLine(c);
    request.candidate.Reset();
    const Status ready = request.candidate.Prepare(own);
    CaseResult drawn = ready.ok()
                           ? JudgeCase(own, request.candidate, options, nullptr)
                           : NotPrepared(ready, own, request.candidate);
    if (drawn.absent) {
      NoteAbsent(drawn, result);
      continue;
    }
    options.causes = options.causes && drawn.verdict != Verdict::kFail;
    drawn.op = result->op;
    drawn.origin = result->origin;
    drawn.draw_of = result->line;
    result->draws.push_back(std::move(drawn));
  }
}

}  // namespace lockstep::verify
