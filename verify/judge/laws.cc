#include "verify/judge/laws.h"

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/compare.h"
#include "verify/judge/answers.h"
#include "verify/judge/bounded.h"
#include "verify/judge/invariance.h"
#include "verify/judge/runs/again.h"
#include "verify/judge/runs/kept.h"
#include "verify/ops/envelopes.h"

namespace lockstep::verify {
namespace {

class LawJudge {
 public:
  LawJudge(const LawsRequest& request, const Law& law, CaseResult* result)
      : request_(request),
        law_(law),
        check_("law_" + law.name),
        result_(result) {}

  // False if the candidate or the judge broke, which ends all.
  bool Run() {
    OutputSet before;
    for (const LawCall& call : law_.calls) {
      if (call.take) call.take(before);
      Result<OutputSet> outputs =
          call.trial->Allocate(request_.candidate->traits().fixed.shift);
      if (!outputs.ok()) return Broken(Tier::kSelf, outputs.message());
      const std::optional<bool> ran = RunCall(call, outputs.value());
      if (!ran) return false;
      // Answers to later calls may rest on this one.
      if (!*ran) return true;
      if (request_.rehearsal) {
        before = std::move(outputs.value());
        continue;
      }
      if (request_.profile == nullptr || law_.structural) {
        if (!CompareBits(call, outputs.value())) return false;
      } else {
        CompareAllowed(*call.trial, outputs.value());
      }
      before = std::move(outputs.value());
    }
    return true;
  }

 private:
  bool Broken(Tier tier, const std::string& message) {
    result_->findings.push_back({tier, check_, message, "", std::nullopt});
    return false;
  }

  // Whether it was answered; none: something broke.
  std::optional<bool> RunCall(const LawCall& call, const OutputSet& outputs) {
    RunOutcome outcome;
    switch (AskLaw(request_, law_.name, call, law_.may_be_refused, outputs,
                   &outcome, result_)) {
      case LawAnswer::kAnswered:
        return true;
      case LawAnswer::kBroken:
        return std::nullopt;
      case LawAnswer::kAbsent:
        NoteUnanswered(check_, outcome, result_);
        return false;
      case LawAnswer::kRefused:
        break;
    }
    if (law_.may_be_refused) {
      result_->refused.push_back(check_);
      return false;
    }
    Broken(Tier::kPower, "ran on the case, but not on inputs of " + law_.name +
                             ": " + outcome.message);
    return std::nullopt;
  }

  // False where the kernel gives other bits to the case itself, too.
  bool CompareBits(const LawCall& call, const OutputSet& produced) {
    const auto compared = CompareKept({.own = *request_.trial,
                                       .base = *request_.base,
                                       .there = *call.trial,
                                       .kept = call.kept,
                                       .produced = produced,
                                       .profile = request_.profile,
                                       .exponents = law_.exponents,
                                       .zeros_alike = &law_.zeros_alike});
    return NoteBits(request_, law_.name, "breaks the law of " + law_.name,
                    compared, result_);
  }

  // Of what is merely improbable other calls tell nothing.
  void CompareAllowed(const Trial& trial, const OutputSet& produced) {
    std::vector<int64_t> rows(static_cast<size_t>(trial.rows()));
    std::iota(rows.begin(), rows.end(), 0);
    const auto allowed = trial.envelopes().Envelope(
        *request_.profile, std::move(rows), request_.threads);
    for (EnvelopeResult& found : allowed->Judge(produced)) {
      NoteBounds(trial, law_.name,
                 "outside the envelope of a call of the law of " + law_.name,
                 std::move(found), result_);
    }
  }

  const LawsRequest& request_;
  const Law& law_;
  std::string check_;
  CaseResult* result_;
};

// Those that are wanted of the trial's.
std::vector<std::string> PickLaws(const LawsRequest& request) {
  std::vector<std::string> all = request.trial->laws().LawNames();
  if (!request.only.empty()) {
    std::erase_if(all,
                  [&](const std::string& law) { return law != request.only; });
  }
  return PickSome(std::move(all), request.most, request.salt);
}

// Whether a power of two may take numbers to where f16 has fewer bits.
bool MeetsSmallF16(const Law& law, const NumericProfile* profile) {
  const bool scaled = std::any_of(law.exponents.begin(), law.exponents.end(),
                                  [](int exponent) { return exponent != 0; });
  return scaled && profile != nullptr && !profile->scan &&
         (profile->operand_v == NumberType::kF16 ||
          profile->state == NumberType::kF16 ||
          profile->acc_pv.kind == Accumulator::Kind::kF16);
}

// Whether a call goes on from an output that the kernel does not have.
bool TakesWhatLacks(const Law& law, const NumericProfile* profile) {
  if (profile == nullptr) return false;
  return std::any_of(
      law.calls.begin(), law.calls.end(), [&](const LawCall& call) {
        return std::any_of(call.taken.begin(), call.taken.end(),
                           [&](const TakenInput& input) {
                             return !HasOutput(*profile, input.output);
                           });
      });
}

}  // namespace

LawAnswer AskLaw(const LawsRequest& request, const std::string& law,
                 const LawCall& call, bool may_be_refused,
                 const OutputSet& outputs, RunOutcome* outcome,
                 CaseResult* result) {
  CaseRequest asked = *request.request;
  asked.law = law;
  asked.taken = call.taken;
  const GuardedRun run =
      RunGuarded(*request.candidate, asked, *call.trial,
                 request.candidate->traits().fixed, kSecondPoison, outputs);
  ++result->runs;
  *outcome = run.outcome;
  using State = RunOutcome::State;
  const bool raised = run.outcome.state == State::kError &&
                      run.outcome.check == "exception" && run.guards_intact &&
                      run.inputs_unchanged;
  if (may_be_refused && raised) return LawAnswer::kRefused;
  const std::vector<Finding> broken = GuardFindings(run, "");
  result->findings.insert(result->findings.end(), broken.begin(), broken.end());
  if (!broken.empty()) return LawAnswer::kBroken;
  switch (run.outcome.state) {
    case State::kRan:
      return LawAnswer::kAnswered;
    case State::kAbsent:
      return LawAnswer::kAbsent;
    case State::kUnsupported:
      return LawAnswer::kRefused;
    default:
      break;
  }
  result->findings.push_back({Tier::kCandidate, "law_" + law,
                              "ran on the case, but not on inputs of " + law +
                                  ": " + run.outcome.message,
                              "", std::nullopt});
  return LawAnswer::kBroken;
}

bool NoteBits(const LawsRequest& request, const std::string& law,
              const std::string& says, const std::vector<Comparison>& compared,
              CaseResult* result) {
  const Trial& trial = *request.trial;
  const std::string check = "law_" + law;
  for (const Comparison& comparison : compared) {
    if (!comparison.Passed() && IsARace(*request.candidate, *request.request,
                                        trial, *request.base, result)) {
      return false;
    }
    NoteCheck(result, check, comparison.Passed());
    if (comparison.Passed()) continue;
    result->findings.push_back(
        {Tier::kInvariance, check,
         says + ": " +
             DescribeComparison(OutputNamed(trial, comparison.tensor),
                                comparison),
         "", comparison});
  }
  return true;
}

void NoteBounds(const Trial& trial, const std::string& law,
                const std::string& says, EnvelopeResult found,
                CaseResult* result) {
  const std::string check = "law_" + law;
  NoteCheck(result, check, found.Passed());
  if (found.Passed()) return;
  const std::string message =
      says + ": " + DescribeEnvelope(OutputNamed(trial, found.tensor), found);
  result->findings.push_back({Tier::kEnvelope, check, message, "", std::nullopt,
                              "", std::move(found)});
}

void JudgeLaws(const LawsRequest& request, CaseResult* result) {
  const Trial& trial = *request.trial;
  for (const std::string& name : PickLaws(request)) {
    if (request.stop != nullptr && *request.stop) return;
    Result<Law> law = trial.laws().MakeLaw(name, request.salt);
    if (!law.ok()) {
      result->findings.push_back(
          {Tier::kSelf, "laws", law.message(), "", std::nullopt});
      return;
    }
    if (TakesWhatLacks(law.value(), request.profile)) continue;
    // There the envelope of the call says how far it may be off.
    const bool repeats = request.profile == nullptr || request.profile->repeat;
    const bool by_bits = law->structural;
    if (!repeats || MeetsSmallF16(law.value(), request.profile)) {
      law->structural = false;
    }
    const bool bits = request.profile == nullptr || law->structural;
    if (!bits && trial.rows() > kLawEnvelopeWork / trial.RowCost()) {
      if (by_bits && !repeats) result->too_large.push_back("law_" + name);
      continue;
    }
    if (!LawJudge(request, law.value(), result).Run()) return;
  }
}

}  // namespace lockstep::verify
