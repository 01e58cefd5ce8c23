#include "verify/selftest/selftest.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/ops/envelopes.h"
#include "verify/selftest/trialist.h"
#include "verify/selftest/zoo/run.h"

namespace lockstep::verify {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One mutant before all tiers: in its own base, in one that claims a profile
// only, and in one that ordinary cases meet.
class Defendant {
 public:
  // Errors: the catalogue is wrong.
  static Result<Defendant> Make(const SelftestRow& op, const MutantInfo& info) {
    Defendant defendant;
    defendant.row_.mutant = &info;
    ASSIGN_OR_RETURN(Subject own, op.mutant(info, BugBase::kOwn));
    const bool exact = own.profile.exact;
    defendant.own_.emplace(std::move(own));
    if (exact) {
      ASSIGN_OR_RETURN(Subject bounded, op.mutant(info, BugBase::kBounded));
      if (!bounded.profile.exact) {
        defendant.bounded_.emplace(std::move(bounded));
      }
    }
    if (op.ordinary == nullptr) return defendant;
    Result<Subject> ordinary = op.mutant(info, BugBase::kOrdinary);
    Result<Subject> baseline = op.correct(op.ordinary);
    if (!ordinary.ok()) return ordinary.status();
    if (!baseline.ok()) return baseline.status();
    defendant.ordinary_.emplace(std::move(ordinary.value()));
    defendant.baseline_.emplace(std::move(baseline.value()));
    return defendant;
  }

  // A kernel without a bug, before ordinary cases only.
  Defendant(Subject correct, Subject baseline)
      : ordinary_(std::in_place, std::move(correct)),
        baseline_(std::in_place, std::move(baseline)) {}

  const KillRow& row() const { return row_; }

  // Judges the last call of a sequence. Errors: the case cannot be opened.
  Status Try(const std::vector<Case>& sequence, Clock::time_point start) {
    const bool killed_before = row_.Killed();
    if (!killed_before) ++row_.cases;
    for (size_t i = 0; i + 1 < sequence.size(); ++i) {
      for (std::optional<Trialist>* trialist : {&own_, &bounded_}) {
        if (!*trialist) continue;
        ASSIGN_OR_RETURN(
            const Answer answer,
            (*trialist)->Run(InLane(sequence[i], (*trialist)->profile())));
      }
    }
    RETURN_IF_ERROR(TryLast(sequence.back()));
    const std::string line = MinimalLine(sequence);
    if (row_.Killed() && !killed_before) {
      row_.seconds = SecondsSince(start);
      row_.by = line;
    }
    if (row_.killed[static_cast<size_t>(ProofTier::kEnvelope)] &&
        row_.envelope_by.empty()) {
      row_.envelope_by = line;
    }
    return {};
  }

  // An ordinary case: the envelope and the foreign rules, side by side.
  Status TryOrdinary(const Case& call) {
    if (!ordinary_) return {};
    const Case c = InLane(call, ordinary_->profile());
    ASSIGN_OR_RETURN(const Answer answer, ordinary_->Run(c));
    ASSIGN_OR_RETURN(const Answer baseline, baseline_->Run(c));
    const auto allowed = answer.trial->envelopes().Envelope(
        ordinary_->profile(), AllRows(*answer.trial), 1);
    Note(ProofTier::kOrdinary, Judge(*allowed, answer.outputs));
    const RuleInput input = {
        .lane = answer.trial->outputs()[0].lane,
        .truth = {allowed->truth().begin(), allowed->truth().end()},
        .baseline = Numbers(baseline, 0),
        .produced = Numbers(answer, 0)};
    const auto passes = PassesForeignRules(input);
    for (size_t r = 0; r < kForeignRules; ++r) {
      row_.foreign[r] = row_.foreign[r] || !passes[r];
    }
    return {};
  }

 private:
  Defendant() = default;

  void Note(ProofTier tier, const Found& found) {
    bool& killed = row_.killed[static_cast<size_t>(tier)];
    killed = killed || found.outside;
  }

  // The tiers of bits and invariance look at the mutant's own base, the others
  // at one that claims no bits.
  Status TryLast(const Case& call) {
    const Case own = InLane(call, own_->profile());
    ASSIGN_OR_RETURN(const Answer answer, own_->Run(own));
    if (own_->exact()) Note(ProofTier::kBits, own_->Bits(answer));
    RETURN_IF_ERROR(own_->exact() ? bounded_ ? TryBounded(call) : Status()
                                  : TryClaims(own, answer, &*own_));
    const Result<Found> again = own_->Invariant(own, answer);
    if (again.ok()) Note(ProofTier::kInvariance, again.value());
    return again.status();
  }

  // A case that has no meaning in the other base's lane, as blocks have none in
  // f32 (N20), is left to the bits.
  Status TryBounded(const Case& call) {
    const Case c = InLane(call, bounded_->profile());
    if (!ValidateCase(c).ok()) return {};
    const Result<Answer> answer = bounded_->Run(c);
    return answer.ok() ? TryClaims(c, answer.value(), &*bounded_)
                       : answer.status();
  }

  Status TryClaims(const Case& c, const Answer& answer, Trialist* trialist) {
    Note(ProofTier::kEnvelope, trialist->Envelope(answer));
    if (row_.killed[static_cast<size_t>(ProofTier::kProbes)]) return {};
    const Result<Found> probes = trialist->Probes(c, std::nullopt);
    if (probes.ok()) Note(ProofTier::kProbes, probes.value());
    return probes.status();
  }

  std::optional<Trialist> own_, bounded_, ordinary_, baseline_;
  KillRow row_;
};

Status TryOrdinaryLines(const SelftestOptions& options, Defendant* defendant) {
  for (const std::string& line : options.ordinary) {
    const Result<Case> c = ParseCase(line, options.ops);
    if (!c.ok()) return Status::Error("'" + line + "': " + c.message());
    RETURN_IF_ERROR(defendant->TryOrdinary(c.value()));
  }
  return {};
}

// The mutant's pattern under several seeds, then the ordinary cases.
Result<KillRow> TryMutant(const SelftestRow& op, const MutantInfo& info,
                          const SelftestOptions& options) {
  const Clock::time_point start = Clock::now();
  ASSIGN_OR_RETURN(Defendant defendant, Defendant::Make(op, info));
  ASSIGN_OR_RETURN(std::vector<Case> sequence,
                   ParseCaseSequence(info.pattern, options.ops));
  for (int64_t v = 0;
       v <= options.variations && SecondsSince(start) < options.seconds_each;
       ++v) {
    for (Case& c : sequence) {
      if (v > 0) c.seed += 1 + options.seed;
    }
    RETURN_IF_ERROR(defendant.Try(sequence, start));
  }
  RETURN_IF_ERROR(TryOrdinaryLines(options, &defendant));
  return defendant.row();
}

// What the rules of others say of a correct kernel on the ordinary cases.
Status TryCorrect(const SelftestRow& op, const SelftestOptions& options,
                  SelftestResult* result) {
  if (op.ordinary == nullptr) return {};
  Result<Subject> correct = op.correct(op.ordinary);
  Result<Subject> baseline = op.correct(op.ordinary);
  if (!correct.ok()) return correct.status();
  Defendant defendant(std::move(correct.value()), std::move(baseline.value()));
  const Status status = TryOrdinaryLines(options, &defendant);
  result->rejects_correct = defendant.row().foreign;
  result->proof_false_alarms += defendant.row().Killed();
  return status;
}

PlanKill TryPlanMutant(const PlanMutantInfo& info) {
  const Clock::time_point start = Clock::now();
  PlanKill kill{.mutant = &info};
  const Result<PlanTrial> sound = TryPattern(info, false);
  kill.sound = sound.ok() && CheckPlan(sound->trace, sound->mask).empty();
  const Result<PlanTrial> broken = TryPattern(info, true);
  if (broken.ok()) {
    for (const Violation& found : CheckPlan(broken->trace, broken->mask)) {
      kill.named = kill.named || found.invariant == info.invariant;
    }
  }
  kill.seconds = SecondsSince(start);
  return kill;
}

}  // namespace

const char* ProofTierName(ProofTier tier) {
  constexpr const char* kNames[] = {"bits", "probes", "envelope", "invariance",
                                    "ordinary"};
  return kNames[static_cast<size_t>(tier)];
}

bool KillRow::Killed() const {
  return std::any_of(killed.begin(), killed.end(), [](bool k) { return k; });
}

int64_t SelftestResult::Mutants() const {
  return static_cast<int64_t>(kills.size() + plan_kills.size());
}

int64_t SelftestResult::Killed() const {
  const auto killed = [](const auto& row) { return row.Killed(); };
  return std::count_if(kills.begin(), kills.end(), killed) +
         std::count_if(plan_kills.begin(), plan_kills.end(), killed);
}

double SelftestResult::SlowestKill() const {
  double slowest = 0;
  for (const KillRow& row : kills) slowest = std::max(slowest, row.seconds);
  for (const PlanKill& row : plan_kills) {
    slowest = std::max(slowest, row.seconds);
  }
  return slowest;
}

int64_t SelftestResult::KilledByRule(ForeignRule rule) const {
  return std::count_if(kills.begin(), kills.end(), [&](const KillRow& row) {
    return row.foreign[static_cast<size_t>(rule)];
  });
}

bool SelftestResult::ZooPassed() const {
  return zoo_cases > 0 && proof_false_alarms == 0;
}

bool SelftestResult::Passed() const {
  return !kills.empty() && Killed() == Mutants() && ZooPassed();
}

SelftestResult RunZoo(const SelftestOptions& options) {
  SelftestResult result;
  result.seed = options.seed;
  for (const SelftestRow* op : options.rows) TryZoo(*op, options, &result);
  return result;
}

Result<SelftestResult> RunSelftest(const SelftestOptions& options) {
  SelftestResult result;
  result.seed = options.seed;
  for (const SelftestRow* op : options.rows) {
    for (const MutantInfo* info : op->mutants()) {
      Result<KillRow> row = TryMutant(*op, *info, options);
      if (!row.ok()) {
        return Status::Error(std::string(info->name) + ": " + row.message());
      }
      result.kills.push_back(std::move(row.value()));
      if (options.progress) options.progress(info->name);
    }
    RETURN_IF_ERROR(TryCorrect(*op, options, &result));
  }
  for (const PlanMutantInfo& info : PlanMutants()) {
    if (!options.plans) break;
    result.plan_kills.push_back(TryPlanMutant(info));
    if (options.progress) options.progress(info.name);
  }
  for (const SelftestRow* op : options.rows) TryZoo(*op, options, &result);
  return result;
}

}  // namespace lockstep::verify
