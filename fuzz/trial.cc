#include "fuzz/trial.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/wire/candidate.h"
#include "verify/candidate/wire/host.h"
#include "verify/identify/identify.h"
#include "verify/judge/evidence/truth_chain.h"
#include "verify/judge/judge.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz {
namespace {

using verify::CaseResult;
using verify::Finding;
using verify::Tier;
using verify::Verdict;

// From harmless to grave.
int Gravity(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSkipped:
      return 0;
    case Verdict::kUntrusted:
      return 1;
    case Verdict::kPass:
      return 2;
    case Verdict::kSuspicious:
      return 3;
    case Verdict::kFail:
      return 4;
    case Verdict::kError:
      return 5;
  }
  return 5;
}

// The finding that a verdict rests on.
const Finding* Telling(const CaseResult& result, bool suspicious) {
  const bool bad = result.verdict == Verdict::kFail ||
                   result.verdict == Verdict::kError ||
                   (suspicious && result.verdict == Verdict::kSuspicious);
  if (!bad) return nullptr;
  for (const Finding& finding : result.findings) {
    if (verify::Counts(result, finding)) return &finding;
  }
  return nullptr;
}

// Tells whether NaN was produced where none may be, or the other way round.
bool ShowsNan(const Finding& finding) {
  using enum verify::PairClass;
  if (finding.comparison && finding.comparison->first) {
    const verify::PairClass pair = finding.comparison->first->pair;
    return pair == kNaNProduced || pair == kNaNExpected;
  }
  if (finding.envelope && finding.envelope->first) {
    const verify::EnvelopeWitness& first = *finding.envelope->first;
    return std::isnan(first.produced) || std::isnan(first.bounds.truth);
  }
  return finding.message.find("nan") != std::string::npos;
}

void Merge(const CaseResult& result, const Target& target, Outcome* outcome) {
  if (Gravity(result.verdict) >= Gravity(outcome->verdict)) {
    outcome->verdict = result.verdict;
  }
  outcome->seconds += result.seconds;
  outcome->inputs = result.input_digest;
  outcome->outputs.clear();
  for (const std::string& digest : result.output_digests) {
    outcome->outputs += (outcome->outputs.empty() ? "" : " ") + digest;
  }
  outcome->unsupported = result.skip == verify::Skip::kUnsupported;
  if (outcome->unsupported) outcome->refusal = result.reason;
  for (const Finding& finding : result.findings) {
    outcome->self_error = outcome->self_error || finding.tier == Tier::kSelf;
  }
  for (const verify::Judged& judged : result.judged) {
    outcome->nearness = std::max(outcome->nearness, judged.result.worst);
  }
  for (const verify::Canary& canary : result.canaries) {
    ++outcome->canaries;
    if (canary.caught) continue;
    ++outcome->canaries_missed;
    outcome->missed.push_back(canary.candidate);
  }
  for (const verify::Check& check : result.checks) {
    const std::string law = verify::LawOf(check.name);
    if (!law.empty()) outcome->laws.push_back(law);
  }
  const Finding* finding = Telling(result, target.suspicious);
  if (finding == nullptr || outcome->Found()) return;
  outcome->signature = verify::SignatureOf(*finding);
  outcome->message = finding->message;
  outcome->nan = ShowsNan(*finding);
  outcome->line = finding->line;
  outcome->replay = verify::ReplayLine(result, *finding);
}

// Tables of integers, for instance, are not.
bool JudgedByProfile(std::string_view op) {
  for (const verify::OpRow* row : verify::Ops()) {
    if (row->text.name == op)
      return row->trial == nullptr || row->trial->claims;
  }
  return true;
}

// What designed inputs show of the kernel.
Result<verify::NumericProfile> Identified(const std::string& op,
                                          bool allow_auto,
                                          verify::Candidate& candidate) {
  if (!allow_auto) {
    RETURN_IF_ERROR(verify::MayLearnHere(", or give --allow-auto"));
  }
  ASSIGN_OR_RETURN(const auto found,
                   verify::IdentifyInItsLane(op, nullptr, candidate));
  return found.profile;
}

}  // namespace

Result<Target> Target::Open(const std::string& candidate,
                            const std::string& profile, const std::string& op,
                            bool answers, bool allow_auto) {
  ASSIGN_OR_RETURN(std::unique_ptr<verify::Candidate> opened,
                   verify::ParseCandidate(candidate));
  RETURN_IF_ERROR(opened->Start());
  if (!opened->traits().computes && !answers) {
    return Status::Error("candidate '" + candidate +
                         "' has answers to fixed cases only; fuzzing needs one "
                         "that computes");
  }
  if (!opened->traits().ours && profile.empty() &&
      JudgedByProfile(op.empty() ? opened->Introduce().usual_op : op)) {
    return Status::Error("candidate '" + candidate +
                         "' needs --profile, the numeric contract it claims "
                         "(lockstep list profiles)");
  }
  Target target;
  target.candidate = candidate;
  target.usual_op = opened->Introduce().usual_op;
  target.apart = opened->traits().apart;
  target.computes = opened->traits().computes;
  target.claims = verify::ClaimsOf(*opened);
  target.guarded = opened->traits().backend == "optimized";
  target.threads = opened->traits().fixed.threads.value_or(1);
  std::optional<verify::NumericProfile> claims = opened->traits().claims;
  if (!profile.empty()) {
    ASSIGN_OR_RETURN(verify::NumericProfile loaded,
                     profile == verify::kProfileAuto
                         ? Identified(op, allow_auto, *opened)
                     : profile == verify::kProfileFromCandidate
                         ? verify::StatedProfileOf(*opened)
                         : verify::LoadProfile(profile));
    target.profile = std::move(loaded);
    target.profile_spec = profile;
    target.allow_auto = allow_auto;
    claims = target.profile;
  }
  if (claims) target.lane = claims->lane;
  return target;
}

int NearnessBucket(double nearness, int buckets) {
  const int bucket = std::ilogb(std::min(nearness, 1.0)) + buckets - 1;
  return std::max(bucket, 0);
}

Outcome TryCase(const std::vector<verify::Case>& sequence, const Target& target,
                int64_t number) {
  Outcome outcome;
  outcome.verdict = Verdict::kSkipped;
  Result<std::unique_ptr<verify::Candidate>> candidate =
      verify::ParseCandidate(target.candidate);
  if (!candidate.ok()) {
    outcome.verdict = Verdict::kError;
    outcome.message = candidate.message();
    outcome.self_error = true;
    return outcome;
  }
  verify::JudgeOptions options;
  options.profile = target.profile;
  options.profile_spec = target.profile_spec;
  options.threads = 1;
  options.max_variations = target.variations;
  options.max_laws = target.law ? INT64_MAX : number % 2;
  options.only_law = target.law.value_or("");
  options.stop = target.stop;
  if (target.allow_auto) options.replay_options = {"--allow-auto"};
  // Of what one case would not show another of a million will.
  options.evidence = false;
  options.only_verdict = true;
  verify::TruthChain truths;
  const std::string replay = verify::MinimalLine(sequence);
  for (const verify::Case& call : sequence) {
    const verify::CaseRequest request{
        .call = &call,
        .line = verify::MinimalLine(call),
        .number = number,
        .total = target.computes ? INT64_MAX : kOnlyCase,
        .last = &call == &sequence.back(),
        .claims = target.profile ? &*target.profile : nullptr};
    const Status ready =
        target.computes ? Status() : candidate.value()->Prepare(request);
    if (!ready.ok()) {
      outcome.verdict = Verdict::kError;
      outcome.message = ready.message();
      return outcome;
    }
    const verify::ChainPlace place{truths, &call - sequence.data()};
    CaseResult result =
        verify::JudgeCase(request, *candidate.value(), options, &place);
    truths.End(place.place);
    result.replay_case = replay;
    Merge(result, target, &outcome);
  }
  return outcome;
}

Outcome TryAlone(const std::vector<verify::Case>& sequence,
                 const Target& target, int64_t number) {
  verify::RetireHosts();
  return TryCase(sequence, target, number);
}

}  // namespace lockstep::fuzz
