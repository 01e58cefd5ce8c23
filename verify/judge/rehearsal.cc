#include "verify/judge/rehearsal.h"

#include <memory>
#include <optional>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/judge/bounded.h"
#include "verify/judge/causes.h"
#include "verify/judge/invariance.h"
#include "verify/judge/laws.h"
#include "verify/judge/pictures/ask_again.h"
#include "verify/judge/shards/shards.h"
#include "verify/judge/truth.h"
#include "verify/ops/envelopes.h"

namespace lockstep::verify {
namespace {

class Rehearsal {
 public:
  Rehearsal(const CaseRequest& request, Candidate& candidate,
            const JudgeOptions& options, const Trial& trial)
      : request_(request),
        candidate_(candidate),
        options_(options),
        trial_(trial),
        materialise_(OptionsFor(profile(), options.materialise)),
        salt_(SaltOf(trial.InputDigest())) {}

  Status Run() {
    for (OutputSet* set : {&first_, &second_}) {
      ASSIGN_OR_RETURN(OutputSet allocated,
                       trial_.Allocate(candidate_.traits().fixed.shift));
      *set = std::move(allocated);
      RunGuarded(candidate_, request_, trial_, candidate_.traits().fixed,
                 kFirstPoison, *set);
    }
    if (options_.invariance) RunVariations();
    if (profile() != nullptr && options_.probes) RunProbes();
    if (options_.causes) RunTwin();
    return {};
  }

 private:
  // What it claims; null: exact bits.
  const NumericProfile* profile() const {
    const bool exact = !options_.profile || options_.profile->exact;
    return exact ? nullptr : &*options_.profile;
  }

  void RunVariations() {
    InvarianceRequest ways;
    ways.candidate = &candidate_;
    ways.request = &request_;
    ways.trial = &trial_;
    ways.base = &first_;
    ways.scratch = &second_;
    // Nothing here is moved: answers have no addresses.
    ways.reopen = [](int64_t) -> Result<std::unique_ptr<Trial>> {
      return Status::Error("a rehearsal moves no buffers");
    };
    ways.salt = salt_;
    ways.most = options_.max_variations;
    CaseResult ignored;
    JudgeInvariance(ways, &ignored);
    LawsRequest laws;
    laws.candidate = &candidate_;
    laws.request = &request_;
    laws.trial = &trial_;
    laws.base = &first_;
    laws.profile = profile();
    laws.salt = salt_;
    laws.most = options_.max_laws;
    laws.only = options_.only_law;
    laws.rehearsal = true;
    JudgeLaws(laws, &ignored);
    if (request_.call->shard) JudgeShards({laws, nullptr, {}}, &ignored);
  }

  void RunProbes() {
    CaseResult ignored;
    BoundedRequest probes;
    probes.candidate = &candidate_;
    probes.request = &request_;
    probes.profile = profile();
    probes.materialise = &materialise_;
    probes.rehearsal = true;
    JudgeProbes(probes, &ignored);
  }

  // Asked where the case fails.
  void RunTwin() {
    const std::optional<Case> twin = TwinToAsk(*request_.call, trial_);
    if (!twin) return;
    AskedAgain asked;
    AskAgain(
        request_, candidate_, MinimalLine(*twin),
        [](const Trial&) { return true; }, &asked);
  }

  const CaseRequest& request_;
  Candidate& candidate_;
  const JudgeOptions& options_;
  const Trial& trial_;
  const MaterialiseOptions materialise_;
  uint64_t salt_;
  OutputSet first_;
  OutputSet second_;
};

}  // namespace

Status RehearseCase(const CaseRequest& request, Candidate& candidate,
                    const JudgeOptions& options) {
  ASSIGN_OR_RETURN(const TrialRow op, TrialRowOf(*request.call));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Trial> trial,
      op.open(*request.call,
              OptionsFor(options.profile ? &*options.profile : nullptr,
                         options.materialise)));
  if (trial->scene() != nullptr) {
    // Of tables there is one call, whatever comes of it.
    JudgeCase(request, candidate, options, nullptr);
    return {};
  }
  const bool declared =
      !options.profile ||
      trial->envelopes().WhyUndeclared(*options.profile).empty();
  if (!declared) return {};
  const Status status = Rehearsal(request, candidate, options, *trial).Run();
  candidate.Settle(request);
  return status;
}

}  // namespace lockstep::verify
