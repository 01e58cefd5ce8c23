#include "fuzz/explain.h"

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "fuzz/shrink.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/causes/block_plan.h"
#include "verify/causes/detail.h"
#include "verify/causes/explain.h"
#include "verify/judge/judge.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz {
namespace {

using verify::Case;

// Cases nearby on which bugs are told apart: enough for a wrong seed, a longer
// side and each key left out once.
constexpr int64_t kNearby = 24;

// Worth of work for known bugs that are held against answers to fixed cases.
constexpr double kSecondsOfAnswers = 30;

Result<std::unique_ptr<verify::Trial>> Open(
    const Case& c, const verify::NumericProfile* claims = nullptr) {
  ASSIGN_OR_RETURN(const verify::TrialRow op, verify::TrialRowOf(c));
  return op.open(c, verify::OptionsFor(claims));
}

int64_t WorkOf(const std::vector<Case>& sequence) {
  const auto trial = Open(sequence.back());
  return trial.ok() ? verify::WorkToExplain(*trial.value()) : INT64_MAX;
}

bool SmallEnough(const std::vector<Case>& sequence) {
  return WorkOf(sequence) <= verify::kCauseWork;
}

// The keys of a case line by their values: {"sq", "37"}, ...
std::map<std::string, std::string> KeysOf(const Case& c) {
  std::istringstream words(verify::MinimalLine(c));
  std::map<std::string, std::string> keys;
  for (std::string word; words >> word;) {
    const size_t at = word.find('=');
    if (at != std::string::npos) keys[word.substr(0, at)] = word.substr(at + 1);
  }
  return keys;
}

// Simpler cases, such first that differ from `c` in keys in which none before
// them does: one without a mask tells more than a fourth that is shorter.
std::vector<Case> OfEveryKind(const verify::Domain& domain, const Case& c) {
  const std::map<std::string, std::string> own = KeysOf(c);
  std::map<std::set<std::string>, std::vector<Case>> kinds;
  for (const auto& sequence : domain.reduce(std::span(&c, 1), 0)) {
    if (sequence.size() != 1) continue;
    std::set<std::string> differ;
    const std::map<std::string, std::string> keys = KeysOf(sequence[0]);
    for (const auto& [key, value] : own) {
      const auto found = keys.find(key);
      if (found == keys.end() || found->second != value) differ.insert(key);
    }
    for (const auto& [key, value] : keys) {
      if (!own.contains(key)) differ.insert(key);
    }
    kinds[differ].push_back(sequence[0]);
  }
  std::vector<Case> cases;
  for (size_t n = 0, added = 1; added > 0; ++n) {
    added = 0;
    for (const auto& [kind, alike] : kinds) {
      if (n >= alike.size()) continue;
      cases.push_back(alike[n]);
      ++added;
    }
  }
  return cases;
}

// "order" of "envelope:law_order".
std::string LawIn(const Outcome& outcome) {
  return verify::LawOf(
      outcome.signature.substr(outcome.signature.find(':') + 1));
}

bool OfNumbers(const Outcome& outcome) {
  return !LawIn(outcome).empty() || outcome.signature.starts_with("bits:") ||
         outcome.signature.starts_with("envelope:") ||
         outcome.signature.starts_with("probes:");
}

// What the candidate claims of its arithmetic; none: the exact contract.
std::optional<verify::NumericProfile> ClaimsOf(const Target& target) {
  if (target.profile) return target.profile;
  const auto candidate = verify::ParseCandidate(target.candidate);
  return candidate.ok() ? candidate.value()->traits().claims : std::nullopt;
}

class Teller {
 public:
  // `asked`: the case before it was made small.
  Teller(const verify::Domain& domain, const Target& target, const Case& asked)
      : domain_(domain),
        target_(target),
        claims_(ClaimsOf(target)),
        explainer_(domain.op, claims(), target.stop,
                   std::numeric_limits<double>::infinity(), asked.shard) {}

  // The case, or the probe of it, that shows the finding.
  Status AddFailing(const Case& c, const Outcome& outcome) {
    Case shown = c;
    if (!outcome.line.empty()) {
      ASSIGN_OR_RETURN(Case probe,
                       verify::ParseCase(outcome.line, verify::Ops()));
      shown = std::move(probe);
    }
    seen_.insert(verify::MinimalLine(c));
    return Add(shown, true);
  }

  // The calls of the law that was broken.
  Status AddLaw(const Case& c, const std::string& name) {
    ASSIGN_OR_RETURN(auto own, Open(c, claims()));
    trials_.push_back(std::move(own));
    const verify::Trial& trial = *trials_.back();
    ASSIGN_OR_RETURN(
        verify::Law law,
        trial.laws().MakeLaw(name, verify::SaltOf(trial.InputDigest())));
    for (verify::LawCall& call : law.calls) {
      if (call.take) call.take(answer_);
      trials_.push_back(std::move(call.trial));
      RETURN_IF_ERROR(AddAnswer(c, *trials_.back(), name));
    }
    return {};
  }

  void TryPairs() { explainer_.TryPairs(); }

  // Until one bug is left and proved, or there is nothing more to ask.
  void TellApart(const Case& c) {
    std::vector<Case> nearby;
    for (const uint64_t more : {1, 2, 3}) {
      nearby.push_back(c);
      nearby.back().seed = c.seed + more;
    }
    const std::vector<Case> simpler = OfEveryKind(domain_, c);
    nearby.insert(nearby.end(), simpler.begin(), simpler.end());
    for (const Case& other : nearby) {
      if (cases_ >= kNearby || !Torn() || Stopped()) return;
      if (!seen_.insert(verify::MinimalLine(other)).second) continue;
      const Outcome outcome = TryCase({other}, target_, 2);
      if (OfNumbers(outcome) && LawIn(outcome).empty()) {
        if (!AddFailing(other, outcome).ok()) continue;
      } else if (outcome.verdict == verify::Verdict::kPass) {
        (void)Add(other, false);
      }
    }
  }

  Explained Take() {
    Explained explained;
    explained.causes = explainer_.Causes();
    explained.nearest = explainer_.Nearest();
    explained.cases = cases_;
    explained.tried = explainer_.tried();
    return explained;
  }

 private:
  const verify::NumericProfile* claims() const {
    return claims_ ? &*claims_ : nullptr;
  }
  bool Stopped() const { return target_.stop != nullptr && *target_.stop; }

  // Whether more than one bug reproduces what was seen, or one that is not
  // proved.
  bool Torn() const {
    const std::vector<verify::Explanation> causes = explainer_.Causes(2);
    if (causes.empty()) return false;
    return !causes[0].Proved() || !causes[0].alike.empty() ||
           (causes.size() > 1 && causes[1].Reproduced());
  }

  Status Add(const Case& c, bool wrong) {
    ASSIGN_OR_RETURN(auto opened, Open(c, claims()));
    if (verify::WorkToExplain(*opened) > verify::kCauseWork) {
      return Status::Error("too large");
    }
    trials_.push_back(std::move(opened));
    if (wrong) return AddAnswer(c, *trials_.back());
    ++cases_;
    explainer_.AddRight(*trials_.back());
    return {};
  }

  Status AddAnswer(const Case& c, const verify::Trial& trial,
                   const std::string& law = "") {
    ++cases_;
    ASSIGN_OR_RETURN(auto candidate, verify::ParseCandidate(target_.candidate));
    ASSIGN_OR_RETURN(auto outputs, trial.Allocate(0));
    const verify::CaseRequest request{
        .call = &c, .line = verify::MinimalLine(c), .law = law};
    verify::Execution execution;
    const verify::RunOutcome ran = candidate->Run(
        request, trial, candidate->traits().fixed, outputs, &execution);
    if (ran.state != verify::RunOutcome::State::kRan) {
      return Status::Error(ran.message);
    }
    answer_ = std::move(outputs);
    explainer_.AddWrong(trial, answer_);
    return {};
  }

  const verify::Domain& domain_;
  const Target& target_;
  const std::optional<verify::NumericProfile> claims_;
  std::vector<std::unique_ptr<verify::Trial>> trials_;
  verify::OutputSet answer_;  // the last one
  verify::Explainer explainer_;
  std::set<std::string> seen_;
  int64_t cases_ = 0;
};

Result<Explained> ExplainTables(const Case& c, const Target& target) {
  ASSIGN_OR_RETURN(auto trial, Open(c));
  ASSIGN_OR_RETURN(auto candidate, verify::ParseCandidate(target.candidate));
  verify::PlanTrace trace;
  verify::Execution execution;
  const verify::CaseRequest request{.call = &c, .line = verify::MinimalLine(c)};
  const verify::RunOutcome ran =
      PlanBy(*candidate, request, *trial->scene(), &trace, &execution);
  if (ran.state != verify::RunOutcome::State::kRan) {
    return Status::Error(ran.message);
  }
  Explained explained;
  explained.line = request.line;
  explained.causes = verify::CausesOfTables(*trial->scene(), trace);
  explained.cases = 1;
  return explained;
}

// As `verify` does at the end of a failing case, with more to spend.
Result<Explained> ExplainAnswers(const Case& c, const Target& target) {
  ASSIGN_OR_RETURN(auto candidate, verify::ParseCandidate(target.candidate));
  verify::JudgeOptions options;
  options.profile = target.profile;
  options.threads = 1;
  options.evidence = options.canaries = options.one_field = false;
  options.causes = true;
  options.explain_seconds = kSecondsOfAnswers;
  options.stop = target.stop;
  const verify::CaseRequest request{
      .call = &c,
      .line = verify::MinimalLine(c),
      .claims = target.profile ? &*target.profile : nullptr};
  RETURN_IF_ERROR(candidate->Prepare(request));
  const verify::CaseResult result =
      verify::JudgeCase(request, *candidate, options, nullptr);
  Explained explained;
  explained.line = result.line;
  explained.causes = result.causes;
  explained.none = result.no_cause;
  explained.cases = 1;
  explained.tried = result.cause_kernels;
  return explained;
}

}  // namespace

Result<Explained> Explain(const verify::Domain& domain,
                          const std::vector<Case>& sequence,
                          const Outcome& outcome, const Target& target,
                          double seconds) {
  ASSIGN_OR_RETURN(const auto first, Open(sequence.back()));
  if (first->scene() != nullptr) {
    return ExplainTables(sequence.back(), target);
  }
  if (!OfNumbers(outcome)) {
    const bool broken = outcome.verdict == verify::Verdict::kError;
    return Status::Error(
        "the finding is " + outcome.signature +
        ", which already says what is wrong: " +
        (broken ? outcome.message
                : "no outputs that could be compared with known bugs"));
  }
  if (!target.computes) return ExplainAnswers(sequence.back(), target);
  Shrunk shrunk;
  shrunk.sequence = sequence;
  shrunk.outcome = outcome;
  if (!SmallEnough(sequence)) {
    const ShrinkGoal goal = {WorkOf, verify::kCauseWork};
    shrunk = Shrink(domain, sequence, outcome, target, seconds, &goal);
  }
  const Case& c = shrunk.sequence.back();
  if (!SmallEnough(shrunk.sequence)) {
    return Status::Error(
        "no case that fails in the same way is small enough to replay known "
        "bugs on; the smallest is '" +
        verify::MinimalLine(shrunk.sequence) + "' (give it more --seconds)");
  }
  Teller teller(domain, target, sequence.back());
  const std::string law = LawIn(shrunk.outcome);
  RETURN_IF_ERROR(law.empty() ? teller.AddFailing(c, shrunk.outcome)
                              : teller.AddLaw(c, law));
  teller.TryPairs();
  if (shrunk.sequence.size() == 1) teller.TellApart(c);
  Explained explained = teller.Take();
  explained.line = verify::MinimalLine(shrunk.sequence);
  for (verify::Explanation& cause : explained.causes) {
    cause.what += verify::DetailOf(cause.bug, sequence.back());
  }
  return explained;
}

}  // namespace lockstep::fuzz
