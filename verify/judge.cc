#include "verify/judge.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

#include "verify/baselines.h"
#include "verify/bounded.h"
#include "verify/canary.h"
#include "verify/digest.h"
#include "verify/invariance.h"
#include "verify/laws.h"

namespace lockstep::verify {
namespace {

class Judgement {
 public:
  Judgement(const CaseRequest& request, Candidate& candidate,
            const JudgeOptions& options)
      : request_(request),
        candidate_(candidate),
        options_(options),
        profile_(options.profile ? options.profile : candidate.Claims()) {}

  CaseResult Run(std::optional<PreviousTruth>* previous);

 private:
  void Describe();
  // Each step returns false where judging ends; verdict and reason are set.
  bool Open();
  bool Declared();
  bool FirstRun();
  bool SecondRun();
  void CompareBits();
  bool CompareAllowed();
  void CheckExecution();
  void CheckInvariance();
  void CheckPower(std::optional<PreviousTruth>* previous);
  void CheckProbes();
  void CheckCanary();
  void AddBaselines();
  void Decide();

  bool End(Verdict verdict, const std::string& reason) {
    result_.verdict = verdict;
    result_.reason = reason;
    return false;
  }
  bool SelfError(const std::string& check, const std::string& message) {
    result_.findings.push_back({Tier::kSelf, check, message, "", std::nullopt});
    return End(Verdict::kError, message);
  }
  void AddCheck(const std::string& name, bool passed, int64_t runs) {
    result_.checks.push_back({name, passed, runs});
  }
  bool Has(Tier tier) const {
    for (const Finding& finding : result_.findings) {
      if (finding.tier == tier) return true;
    }
    return false;
  }
  // Whether nothing of the first output could have failed.
  bool Vacuous() const {
    return !result_.judged.empty() && result_.judged[0].result.Vacuous();
  }
  // Whether a finding proves something against the candidate.
  bool Proven() const {
    return std::any_of(result_.findings.begin(), result_.findings.end(),
                       [](const Finding& finding) {
                         return finding.tier != Tier::kCalibrated &&
                                finding.tier != Tier::kPower;
                       });
  }
  // Whether bits are claimed.
  bool Exact() const { return !profile_ || profile_->exact; }
  uint64_t Salt() const {
    return std::strtoull(result_.input_digest.substr(0, 8).c_str(), nullptr,
                         16);
  }
  Result<std::unique_ptr<Trial>> OpenShifted(int64_t shift) const;
  GuardedRun RunOnce(PoisonBits poison, const OutputSet& outputs);

  const CaseRequest& request_;
  Candidate& candidate_;
  const JudgeOptions& options_;
  std::optional<NumericProfile> profile_;  // absent: the exact contract
  CaseResult result_;
  std::unique_ptr<Trial> trial_;
  OutputSet first_;
  OutputSet second_;
  Truth truth_;
  std::unique_ptr<AllowedResults> allowed_;  // unless Exact()
};

void Judgement::Describe() {
  result_.line = request_.line;
  result_.canonical = CanonicalLine(*request_.call);
  result_.replay_case = request_.line;
  result_.candidate = candidate_.Spec();
  result_.profile = options_.profile_spec;
  if (!Exact()) result_.claims = profile_;
  result_.expect = request_.call->expect;
  result_.requested_backend = candidate_.Backend();
  result_.requested_suffix = candidate_.Fixed().Suffix();
}

bool Judgement::Declared() {
  if (!profile_) return true;
  const std::string why = trial_->WhyUndeclared(*profile_);
  if (why.empty()) return true;
  result_.skip = Skip::kUndeclared;
  return End(Verdict::kSkipped,
             "profile " + profile_->name + " does not cover " + why);
}

Result<std::unique_ptr<Trial>> Judgement::OpenShifted(int64_t shift) const {
  const Result<Op> op = FindOp(*request_.call);
  if (!op.ok()) return op.status();
  MaterialiseOptions materialise = options_.materialise;
  materialise.alignment_shift = shift;
  Result<std::unique_ptr<Trial>> trial = op->open(*request_.call, materialise);
  // Inputs are a pure function of the case: alignment must not change them.
  if (trial.ok() && !result_.input_digest.empty() &&
      trial.value()->InputDigest() != result_.input_digest) {
    return Status::Error("inputs changed with their alignment");
  }
  return trial;
}

bool Judgement::Open() {
  const int64_t shift = candidate_.Fixed().shift;
  Result<std::unique_ptr<Trial>> trial = OpenShifted(shift);
  if (!trial.ok()) return SelfError("inputs", trial.message());
  trial_ = std::move(trial.value());
  result_.input_digest = trial_->InputDigest();
  result_.facts = trial_->Facts();
  result_.outputs = trial_->outputs();
  result_.rows = trial_->rows();
  for (OutputSet* set : {&first_, &second_}) {
    if (set == &second_ && !candidate_.Repeatable()) break;
    Result<OutputSet> allocated = trial_->Allocate(shift);
    if (!allocated.ok()) return SelfError("outputs", allocated.message());
    *set = std::move(allocated.value());
  }
  return true;
}

GuardedRun Judgement::RunOnce(PoisonBits poison, const OutputSet& outputs) {
  ++result_.runs;
  return RunGuarded(candidate_, request_, *trial_, candidate_.Fixed(), poison,
                    outputs);
}

bool Judgement::FirstRun() {
  const GuardedRun run = RunOnce(kFirstPoison, first_);
  result_.execution = run.execution;
  result_.candidate_seconds = run.seconds;
  if (!run.execution.target.empty()) {
    result_.targets.push_back(run.execution.target);
  }
  if (run.outcome.state == RunOutcome::State::kUnsupported) {
    result_.skip = Skip::kUnsupported;
    return End(Verdict::kSkipped, run.outcome.message);
  }
  AddCheck("forward_success", run.outcome.state != RunOutcome::State::kError,
           1);
  const bool shaped = run.outcome.state != RunOutcome::State::kMismatch;
  AddCheck("output_shape_valid", shaped, 1);
  AddCheck("guard_zones", run.guards_intact, 1);
  AddCheck("inputs_unchanged", run.inputs_unchanged, 1);
  result_.findings = GuardFindings(run, "");
  if (!result_.findings.empty()) {
    return End(Verdict::kError, result_.findings[0].message);
  }
  if (!shaped) {
    const std::string message = run.outcome.tensor + ": " + run.outcome.message;
    result_.findings.push_back(
        {Tier::kBits, run.outcome.tensor, message, "", std::nullopt});
    return End(Verdict::kFail, message);
  }
  for (const LaneTensor& tensor : first_.tensors) {
    result_.output_digests.push_back(DigestTensor(tensor.const_view()));
  }
  return true;
}

bool Judgement::SecondRun() {
  if (!candidate_.Repeatable()) return true;
  const GuardedRun run = RunOnce(kSecondPoison, second_);
  const std::vector<Finding> broken = GuardFindings(run, "");
  if (!broken.empty()) {
    result_.findings = broken;
    return End(Verdict::kError, broken[0].message);
  }
  bool written = true;
  const std::vector<Comparison> unwritten =
      FindUnwritten(*trial_, first_, second_);
  for (size_t t = 0; t < unwritten.size(); ++t) {
    if (unwritten[t].unwritten == 0) continue;
    written = false;
    result_.findings.push_back(
        {Tier::kInvariance, "written",
         DescribeComparison(trial_->outputs()[t], unwritten[t]), "",
         unwritten[t]});
  }
  AddCheck("written", written, 2);
  if (!written) return true;  // the two runs differ where nothing was stored
  const std::optional<Comparison> difference =
      FirstDifference(*trial_, first_, second_);
  AddCheck("repeat", !difference.has_value(), 1);
  if (difference) {
    for (const OutputSpec& spec : trial_->outputs()) {
      if (spec.name != difference->tensor) continue;
      result_.findings.push_back({Tier::kInvariance, "repeat",
                                  "other bits when run again: " +
                                      DescribeComparison(spec, *difference),
                                  "", difference});
    }
  }
  return true;
}

void Judgement::CompareBits() {
  truth_ = ComputeTruth(*trial_, options_.all_rows, options_.threads);
  result_.reference_seconds = truth_.seconds;
  result_.rows_compared = static_cast<int64_t>(truth_.rows.size());
  result_.comparisons = CompareWithTruth(
      *trial_, truth_, first_, candidate_.Repeatable() ? &second_ : nullptr);
  if (!Exact()) return;
  bool equal = true;
  for (size_t t = 0; t < result_.comparisons.size(); ++t) {
    const Comparison& comparison = result_.comparisons[t];
    if (comparison.Passed()) continue;
    equal = false;
    result_.findings.push_back(
        {Tier::kBits, comparison.tensor,
         DescribeComparison(trial_->outputs()[t], comparison), "", comparison});
  }
  AddCheck("bits", equal, 1);
}

bool Judgement::CompareAllowed() {
  if (Exact()) return true;
  allowed_ = trial_->Envelope(*profile_, truth_.rows, options_.threads);
  JudgeByAllowed(*trial_, *allowed_, first_, Tier::kEnvelope, "", &result_);
  AddCheck("envelope", !Has(Tier::kEnvelope), 1);
  if (!Vacuous() || !result_.findings.empty()) return true;
  result_.skip = Skip::kUndeclared;
  return End(Verdict::kSkipped,
             "profile " + profile_->name + " bounds nothing on these inputs");
}

void Judgement::CheckExecution() {
  const Execution& ran = result_.execution;
  const Variation& asked = candidate_.Fixed();
  result_.executed_as_requested =
      ran.fallback_reason.empty() && ran.backend == candidate_.Backend() &&
      (!asked.target || *asked.target == ran.target) &&
      (!asked.threads || *asked.threads == ran.threads);
  AddCheck("executed_as_requested", result_.executed_as_requested, 1);
  if (result_.executed_as_requested || !options_.require_executed) return;
  std::string message =
      "requested " + candidate_.Spec() + ", executed " + ran.backend;
  if (!ran.target.empty()) message += "@" + ran.target;
  if (ran.threads > 0) {
    message += " on " + std::to_string(ran.threads) + " threads";
  }
  if (!ran.fallback_reason.empty()) message += ": " + ran.fallback_reason;
  result_.findings.push_back(
      {Tier::kExecution, "executed_as_requested", message, "", std::nullopt});
}

void Judgement::CheckInvariance() {
  // After a wrong answer the other ways to compute it tell nothing new.
  const bool worth = options_.invariance && candidate_.Repeatable() &&
                     result_.findings.empty();
  if (!worth) return;
  InvarianceRequest request;
  request.candidate = &candidate_;
  request.request = &request_;
  request.trial = trial_.get();
  request.base = &first_;
  request.scratch = &second_;
  request.reopen = [this](int64_t shift) { return OpenShifted(shift); };
  request.salt = Salt();
  request.most = options_.max_variations;
  request.stop = options_.stop;
  JudgeInvariance(request, &result_);
  if (!result_.findings.empty()) return;
  LawsRequest laws;
  laws.candidate = &candidate_;
  laws.request = &request_;
  laws.trial = trial_.get();
  laws.base = &first_;
  laws.profile = Exact() ? nullptr : &*profile_;
  laws.salt = Salt();
  laws.most = options_.max_laws;
  laws.only = options_.only_law;
  laws.threads = options_.threads;
  laws.stop = options_.stop;
  JudgeLaws(laws, &result_);
}

void Judgement::CheckPower(std::optional<PreviousTruth>* previous) {
  const bool has_previous = previous != nullptr && previous->has_value() &&
                            (*previous)->inputs != result_.input_digest;
  result_.power =
      MeasurePower(*trial_, truth_, has_previous ? &previous->value() : nullptr,
                   allowed_.get());
}

void Judgement::CheckProbes() {
  JudgeOwnProbe(*trial_, profile_ ? *profile_ : BuiltinProfiles()[0], first_,
                &result_);
  // After a wrong answer other inputs tell nothing new.
  if (Exact() || !options_.probes || Proven()) return;
  JudgeProbes({&candidate_, &request_, &*profile_, &options_.materialise,
               options_.stop},
              &result_);
}

void Judgement::CheckCanary() {
  const bool wanted =
      options_.canaries && request_.call->expect == Expect::kPass;
  if (!wanted || !WantsCanary(request_, *trial_, Salt())) return;
  JudgeCanary(request_, *trial_, options_, Salt(), &result_);
}

void Judgement::AddBaselines() {
  // Where bits are equal every rule is content.
  if (Exact() && !Has(Tier::kBits)) return;
  result_.baselines = JudgeByBaselines(*trial_, truth_, allowed_.get(), first_);
}

void Judgement::Decide() {
  if (Has(Tier::kSelf) || Has(Tier::kCandidate)) {
    result_.verdict = Verdict::kError;
  } else if (Proven()) {
    result_.verdict = Verdict::kFail;
  } else {
    result_.verdict =
        Has(Tier::kCalibrated) ? Verdict::kSuspicious : Verdict::kPass;
    const std::string reason = WhyUntrusted(truth_, result_.power);
    if (!reason.empty()) {
      result_.findings.push_back(
          {Tier::kPower, "nulls", reason, "", std::nullopt});
    }
    if (Has(Tier::kPower)) {
      result_.verdict = Verdict::kUntrusted;
      result_.reason = reason;
    }
  }
  if (!result_.findings.empty() && result_.reason.empty()) {
    result_.reason = result_.findings[0].message;
  }
}

CaseResult Judgement::Run(std::optional<PreviousTruth>* previous) {
  const auto start = std::chrono::steady_clock::now();
  Describe();
  const bool ran = Open() && Declared() && FirstRun() && SecondRun();
  if (ran) CompareBits();
  if (ran && CompareAllowed()) {
    CheckPower(previous);
    CheckExecution();
    CheckInvariance();
    CheckProbes();
    AddBaselines();
    CheckCanary();
    Decide();
    if (previous != nullptr) {
      *previous =
          PreviousTruth{trial_->outputs()[0].shape, trial_->outputs()[0].lane,
                        result_.input_digest, std::move(truth_)};
    }
  }
  ApplyExpectation(&result_);
  result_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return std::move(result_);
}

}  // namespace

CaseResult JudgeCase(const CaseRequest& request, Candidate& candidate,
                     const JudgeOptions& options,
                     std::optional<PreviousTruth>* previous) {
  const Result<Op> op = FindOp(*request.call);
  if (op.ok() && op->judge) return op->judge(request, candidate, options);
  return Judgement(request, candidate, options).Run(previous);
}

}  // namespace lockstep::verify
