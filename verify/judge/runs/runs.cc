// The runs of a candidate that a verdict begins with.
#include <string>
#include <utility>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/judge/answers.h"
#include "verify/judge/judgement.h"
#include "verify/judge/runs/again.h"
#include "verify/ops/varlen/answer_digests.h"

namespace lockstep::verify {
namespace {

// Multiply-adds of the truth, a few milliseconds, up to which processes are not
// watched meanwhile.
constexpr int64_t kWorkAside = int64_t{1} << 20;

}  // namespace

Result<std::unique_ptr<Trial>> Judgement::OpenShifted(int64_t shift) const {
  ASSIGN_OR_RETURN(const TrialRow op, TrialRowOf(*request_.call));
  MaterialiseOptions materialise = materialise_;
  materialise.alignment_shift = shift;
  Result<std::unique_ptr<Trial>> trial = op.open(*request_.call, materialise);
  // Inputs are a pure function of the case: alignment must not change them.
  if (trial.ok() && !result_.input_digest.empty() &&
      trial.value()->InputDigest() != result_.input_digest) {
    return Status::Error("inputs changed with their alignment");
  }
  return trial;
}

bool Judgement::Open() {
  const int64_t shift = candidate_.traits().fixed.shift;
  Result<std::unique_ptr<Trial>> trial = OpenShifted(shift);
  if (!trial.ok()) {
    return SelfError(InputsCheck(*request_.call), trial.message());
  }
  trial_ = std::move(trial.value());
  result_.input_digest = trial_->InputDigest();
  result_.facts = trial_->facts().Facts();
  result_.outputs = trial_->outputs();
  result_.rows = trial_->rows();
  for (OutputSet* set : {&first_, &second_}) {
    if (set == &second_ && !candidate_.traits().repeatable) break;
    Result<OutputSet> allocated = trial_->Allocate(shift);
    if (!allocated.ok()) return SelfError("outputs", allocated.message());
    *set = std::move(allocated.value());
  }
  return true;
}

GuardedRun Judgement::RunOnce(PoisonBits poison, const OutputSet& outputs) {
  ++result_.runs;
  return RunGuarded(candidate_, request_, *trial_, candidate_.traits().fixed,
                    poison, outputs);
}

bool Judgement::FirstRun() {
  const GuardedRun run = RunOnce(kFirstPoison, first_);
  result_.execution = run.execution;
  result_.candidate_seconds = run.seconds;
  NoteAnswers(run.outcome, &result_);
  if (!run.execution.target.empty()) {
    result_.targets.push_back(run.execution.target);
  }
  if (run.outcome.state == RunOutcome::State::kUnsupported) {
    result_.skip = Skip::kUnsupported;
    return End(Verdict::kSkipped, run.outcome.message);
  }
  const RunOutcome::State state = run.outcome.state;
  AddCheck(
      "forward_success",
      state != RunOutcome::State::kError && state != RunOutcome::State::kAbsent,
      1);
  const bool shaped = run.outcome.state != RunOutcome::State::kMismatch;
  AddCheck("output_shape_valid", shaped, 1);
  if (!CannotTry(candidate_, "guard_zones")) {
    AddCheck("guard_zones", run.guards_intact, 1);
    AddCheck("inputs_unchanged", run.inputs_unchanged, 1);
  }
  result_.findings = GuardFindings(run, "");
  if (run.outcome.state == RunOutcome::State::kAbsent) {
    result_.absent = true;
    result_.findings.push_back({Tier::kCandidate, "answer",
                                "candidate files: " + run.outcome.message, "",
                                std::nullopt});
  }
  if (!result_.findings.empty()) {
    return End(Verdict::kError, result_.findings[0].message);
  }
  if (!shaped) {
    const std::string message = run.outcome.tensor + ": " + run.outcome.message;
    result_.findings.push_back(
        {Tier::kBits, run.outcome.tensor, message, "", std::nullopt});
    return End(Verdict::kFail, message);
  }
  FindUntrue(run.execution, "", &result_);
  Result<std::vector<std::string>> digests = AnswerDigests(*trial_, first_);
  if (!digests.ok()) return SelfError("outputs", digests.message());
  result_.output_digests = std::move(digests.value());
  return true;
}

// A kernel in a process of its own computes while the truth is computed here.
void Judgement::BeginSecondRun() {
  const int64_t work = trial_->rows() * trial_->RowCost();
  if (!candidate_.traits().repeatable || work > kWorkAside) return;
  PoisonOutputs(second_, kSecondPoison);
  candidate_.Begin(request_, *trial_, candidate_.traits().fixed, second_);
}

bool Judgement::SecondRun() {
  if (!candidate_.traits().repeatable) return true;
  const GuardedRun run = RunOnce(kSecondPoison, second_);
  const std::vector<Finding> broken = GuardFindings(run, "");
  if (!broken.empty()) {
    result_.findings = broken;
    return End(Verdict::kError, broken[0].message);
  }
  if (run.outcome.state == RunOutcome::State::kUnsupported) {
    result_.findings.push_back(
        {Tier::kPower, "repeat",
         "answered once and would not again: " + run.outcome.message, "",
         std::nullopt});
    return true;
  }
  if (run.outcome.state == RunOutcome::State::kAbsent) {
    NoteUnanswered("repeat", run.outcome, &result_);
    return true;
  }
  if (CannotTry(candidate_, "written")) {
    CompareRuns();
    return true;
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
  // Otherwise the two runs differ where nothing was stored.
  if (written) CompareRuns();
  return true;
}

void Judgement::CompareRuns() {
  ran_twice_ = true;
  // Held against the envelope once that is known.
  if (!Repeats()) return;
  const std::optional<Comparison> difference =
      FirstDifference(*trial_, first_, second_);
  AddCheck("repeat", !difference.has_value(), 1);
  if (difference) {
    result_.findings.push_back(
        OtherBits(*trial_, *difference, "when run again"));
  }
}

void Judgement::JudgeSecondRun() {
  if (!ran_twice_ || Repeats() || !result_.findings.empty()) return;
  JudgeAgain(*trial_, *allowed_, first_, second_, "repeat", "run again", "",
             &result_);
}

void Judgement::RepeatCall() {
  if (!candidate_.traits().repeatable) return;
  for (int64_t n = 0; n < options_.repeats && result_.findings.empty(); ++n) {
    if (options_.stop != nullptr && *options_.stop) return;
    const GuardedRun run = RunOnce(kSecondPoison, second_);
    result_.findings = GuardFindings(run, "");
    if (!result_.findings.empty()) return;
    const std::string after =
        " in call " + std::to_string(result_.runs) + " of the case: ";
    if (run.outcome.state != RunOutcome::State::kRan) {
      result_.findings.push_back(
          {Tier::kPower, "repeat",
           "would not answer again" + after + run.outcome.message, "",
           std::nullopt});
      return;
    }
    if (!Repeats()) {
      JudgeAgain(*trial_, *allowed_, first_, second_, "repeat",
                 "run again, in call " + std::to_string(result_.runs), "",
                 &result_);
      continue;
    }
    const auto difference = FirstDifference(*trial_, first_, second_);
    NoteCheck(&result_, "repeat", !difference.has_value());
    if (!difference) continue;
    result_.findings.push_back(
        OtherBits(*trial_, *difference,
                  "in call " + std::to_string(result_.runs) + " of the case"));
  }
}

}  // namespace lockstep::verify
