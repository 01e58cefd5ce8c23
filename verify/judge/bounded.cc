#include "verify/judge/bounded.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "verify/base/format.h"
#include "verify/candidate/probe_folders.h"
#include "verify/judge/answers.h"
#include "verify/judge/evidence/power.h"
#include "verify/judge/invariance.h"
#include "verify/judge/truth.h"
#include "verify/ops/envelopes.h"

namespace lockstep::verify {
namespace {

std::string Decimal(double x) { return Format("%.9g", x); }

std::string DescribeSet(const ValueSet& set) {
  std::string text;
  if (set.lo == set.hi) {
    text = Decimal(set.lo);
  } else if (set.lo < set.hi) {
    text = Decimal(set.lo) + " .. " + Decimal(set.hi);
  }
  if (set.nan) text += text.empty() ? "NaN" : " or NaN";
  return text;
}

std::string DescribeIndex(const OutputSpec& spec,
                          const std::array<int64_t, 4>& index) {
  std::string text;
  for (size_t axis = 0; axis < 4; ++axis) {
    if (spec.axes[axis] == nullptr) continue;
    text += std::string(text.empty() ? "" : " ") + spec.axes[axis] + "=" +
            std::to_string(index[axis]);
  }
  return "[" + text + "]";
}

// Whether anything known to be wrong fails the probe: a fault that nothing
// before has shown, or an answer that knows nothing.
bool IsEvidence(const Trial& trial, const AllowedResults& allowed,
                const std::string& line, EvidenceBook* evidence) {
  const bool fault = evidence != nullptr &&
                     evidence->LookAtProbe(trial, BySets(allowed), line);
  return fault || RejectsANull(trial, allowed);
}

// Of the entries from that one on.
void MarkEvidence(size_t from, bool evidence, CaseResult* result) {
  for (size_t n = from; n < result->judged.size(); ++n) {
    result->judged[n].evidence = evidence;
  }
}

// Probes of at most so many multiply-adds are made ready and asked while the
// one before is judged.
constexpr int64_t kProbeAside = int64_t{1} << 20;

// One probe: its own trial, a run, the verdict.
class ProbeJudge {
 public:
  ProbeJudge(const BoundedRequest& request, const Case& probe,
             CaseResult* result)
      : request_(request),
        line_(MinimalLine(probe)),
        asked_{.call = &probe,
               .line = line_,
               .number = request.request->number,
               .total = request.request->total,
               .probe = ProbeName(line_),
               .max_bytes = request.request->max_bytes,
               .claims = request.request->claims},
        result_(result) {}

  const std::string& line() const { return line_; }

  // Makes the trial, the expectation and room for the answer. Judge()
  // reports what is wrong with them.
  void Prepare(const TrialRow& op) {
    Result<std::unique_ptr<Trial>> opened =
        op.open(*asked_.call, *request_.materialise);
    if (!opened.ok()) return Refuse(opened.message());
    trial_ = std::move(opened.value());
    allowed_ = trial_->envelopes().Probe(*request_.profile, ProbeRows(*trial_));
    answers_ = request_.candidate->Answers(asked_);
    if (allowed_ == nullptr || !answers_) return;
    Result<OutputSet> outputs = trial_->Allocate(Fixed().shift);
    if (!outputs.ok()) return Refuse(outputs.message());
    outputs_ = std::move(outputs.value());
  }

  // Asks a kernel that has a process of its own, and does not wait for it.
  void Begin() {
    if (!Runs()) return;
    PoisonOutputs(outputs_, kFirstPoison);
    request_.candidate->Begin(asked_, *trial_, Fixed(), outputs_);
  }

  // Takes the answer.
  void Run() {
    if (!Runs()) return;
    run_ = RunGuarded(*request_.candidate, asked_, *trial_, Fixed(),
                      kFirstPoison, outputs_);
  }

  // Judges it; false where probing ends.
  bool Judge() {
    if (!refused_.empty()) return Broken(Tier::kSelf, refused_);
    if (allowed_ == nullptr) return true;
    if (!answers_) {
      result_->probes_missed.push_back(asked_.probe);
      return true;
    }
    const size_t before = result_->findings.size();
    JudgeAnswer();
    for (size_t n = before; n < result_->findings.size(); ++n) {
      Finding& finding = result_->findings[n];
      finding.line = line_;
      if (!request_.candidate->traits().repeatable) {
        finding.candidate = request_.candidate->SpecOf(asked_);
      }
    }
    return result_->findings.size() == before;
  }

  // Whether the run went well, so that its process is there for the next.
  bool Answered() const {
    return run_.outcome.state == RunOutcome::State::kRan && run_.guards_intact;
  }
  bool IsSmall() const {
    return trial_ != nullptr &&
           trial_->rows() * trial_->RowCost() <= kProbeAside;
  }

 private:
  const Variation& Fixed() const { return request_.candidate->traits().fixed; }
  bool Runs() const {
    return refused_.empty() && allowed_ != nullptr && answers_;
  }
  void Refuse(const std::string& why) { refused_ = why; }

  bool Broken(Tier tier, const std::string& message) {
    result_->findings.push_back(
        {tier, "probes", message, "", std::nullopt, line_, std::nullopt});
    return false;
  }

  void JudgeAnswer() {
    const std::vector<Finding> broke = GuardFindings(run_, "");
    ++result_->runs;
    result_->findings.insert(result_->findings.end(), broke.begin(),
                             broke.end());
    if (!broke.empty() || request_.rehearsal) return;
    using State = RunOutcome::State;
    if (run_.outcome.state == State::kAbsent) {
      result_->probes_missed.push_back(asked_.probe);
      NoteUnanswered("probe " + asked_.probe, run_.outcome, result_);
      return;
    }
    if (run_.outcome.state != State::kRan) {
      const bool refused = run_.outcome.state == State::kUnsupported;
      if (refused) result_->probes_missed.push_back(asked_.probe);
      Broken(refused ? Tier::kPower : Tier::kProbes, run_.outcome.message);
      return;
    }
    NoteAnswers(run_.outcome, result_);
    const size_t first = result_->judged.size();
    JudgeByAllowed(*trial_, *allowed_, outputs_, Tier::kProbes, line_, result_);
    RejectMore(*trial_, *allowed_, false, &result_->power);
    MarkEvidence(first,
                 IsEvidence(*trial_, *allowed_, line_, request_.evidence),
                 result_);
    result_->probes_met.push_back(line_);
  }

  const BoundedRequest& request_;
  std::string line_;
  CaseRequest asked_;
  CaseResult* result_;
  std::string refused_;  // why it cannot be asked
  std::unique_ptr<Trial> trial_;
  std::unique_ptr<AllowedResults> allowed_;
  bool answers_ = true;
  OutputSet outputs_;
  GuardedRun run_;
};

// The probes that are wanted, one after the other. A candidate in a process of
// its own answers one while the one before is judged and the next is made.
class ProbeLine {
 public:
  ProbeLine(const BoundedRequest& request, const TrialRow& op,
            const std::vector<Case>& cases, CaseResult* result)
      : request_(request), op_(op), cases_(cases), result_(result) {}

  // False where one has found something.
  bool Run() {
    std::unique_ptr<ProbeJudge> asked = Next();
    if (asked != nullptr && Aside(*asked)) asked->Begin();
    while (asked != nullptr) {
      std::unique_ptr<ProbeJudge> next = Aside(*asked) ? Next() : nullptr;
      asked->Run();
      const bool ahead =
          next != nullptr && next->IsSmall() && asked->Answered() && !Stopped();
      if (ahead) next->Begin();
      const bool sound = asked->Judge();
      if (!sound || Stopped()) {
        // An answer that stays there would be taken for the next one's.
        if (ahead) next->Run();
        return sound;
      }
      asked.reset();
      if (next == nullptr) next = Next();
      asked = std::move(next);
    }
    return true;
  }

 private:
  bool Stopped() const { return request_.stop != nullptr && *request_.stop; }
  bool Aside(const ProbeJudge& probe) const {
    return request_.candidate->traits().apart && probe.IsSmall();
  }
  bool Wanted(const std::string& line) const {
    return request_.only == nullptr ||
           std::find(request_.only->begin(), request_.only->end(), line) !=
               request_.only->end();
  }

  // The next one, made ready; null: there is none.
  std::unique_ptr<ProbeJudge> Next() {
    while (at_ < cases_.size() && !Stopped()) {
      auto probe =
          std::make_unique<ProbeJudge>(request_, cases_[at_++], result_);
      if (!Wanted(probe->line())) continue;
      probe->Prepare(op_);
      return probe;
    }
    return nullptr;
  }

  const BoundedRequest& request_;
  const TrialRow& op_;
  const std::vector<Case>& cases_;
  CaseResult* result_;
  size_t at_ = 0;
};

}  // namespace

std::vector<int64_t> ProbeRows(const Trial& trial) {
  const int64_t rows = trial.rows();
  const int64_t most =
      std::max<int64_t>(kProbeElements / trial.outputs()[0].shape[3], 64);
  std::vector<int64_t> chosen;
  if (rows > most) {
    chosen = trial.faults().TellingRows();
    chosen.resize(std::min(chosen.size(), static_cast<size_t>(most / 2)));
  }
  const int64_t step = rows > most ? rows / (most / 2) + 1 : 1;
  for (int64_t row = 0; row < rows; row += step) chosen.push_back(row);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

std::string DescribeEnvelope(const OutputSpec& spec,
                             const EnvelopeResult& result) {
  std::string text;
  const auto add = [&](const char* word, const EnvelopeWitness& witness) {
    const Bounds& bounds = witness.bounds;
    text += word + DescribeIndex(spec, witness.index) + ": produced " +
            Decimal(witness.produced) + ", allowed " +
            DescribeSet(bounds.allowed);
    if (std::isfinite(bounds.error)) {
      text += ", truth " + Decimal(bounds.truth);
    }
    text += "; ";
  };
  if (result.first) add((result.tensor + " at ").c_str(), *result.first);
  if (result.furthest && result.furthest->index != result.first->index) {
    add("furthest at ", *result.furthest);
  }
  text += std::to_string(result.outside) + " of " +
          std::to_string(result.expected) + " elements outside";
  const std::string dominant = result.Dominant();
  if (dominant.empty()) return text;
  if (std::isfinite(result.worst)) {
    text += ", error before the last rounding at most " +
            Decimal(std::round(result.worst * 100) / 100) + " x the bound";
  }
  return text + "; of the bound " + dominant;
}

void JudgeByAllowed(const Trial& trial, const AllowedResults& allowed,
                    const OutputSet& produced, Tier tier,
                    const std::string& line, CaseResult* result) {
  for (EnvelopeResult& found : allowed.Judge(produced)) {
    const OutputSpec& spec = OutputNamed(trial, found.tensor);
    if (!found.Passed()) {
      result->findings.push_back({tier, found.tensor,
                                  DescribeEnvelope(spec, found), "",
                                  std::nullopt, line, found});
    } else if (found.Suspicious()) {
      result->findings.push_back(
          {Tier::kCalibrated, found.tensor,
           found.tensor + ": " + std::to_string(found.unlikely) + " of " +
               std::to_string(found.expected) +
               " elements further from the truth than random roundings "
               "explain, within the bound",
           "", std::nullopt, line, found});
    }
    result->judged.push_back(
        {tier, line.empty() ? result->line : line, std::move(found)});
  }
}

bool JudgeOwnProbe(const Trial& trial, const NumericProfile& profile,
                   const OutputSet& produced, EvidenceBook* evidence,
                   CaseResult* result) {
  const auto allowed = trial.envelopes().Probe(profile, ProbeRows(trial));
  if (allowed == nullptr) return false;
  const size_t before = result->findings.size();
  const size_t first = result->judged.size();
  JudgeByAllowed(trial, *allowed, produced, Tier::kProbes, "", result);
  // Of deep the values say little where parts may be merged by their lse: by
  // the lse itself, about -2e6, a kernel that knows nothing is told.
  RejectMore(trial, *allowed, true, &result->power);
  MarkEvidence(first, IsEvidence(trial, *allowed, result->line, evidence),
               result);
  result->checks.push_back({"probes", result->findings.size() == before, 1});
  return true;
}

void JudgeProbes(const BoundedRequest& request, CaseResult* result) {
  const Case& call = *request.request->call;
  const Result<TrialRow> op = TrialRowOf(call);
  if (!op.ok()) return;
  const std::vector<Case> cases = op->probe_cases(call, *request.profile);
  const bool sound = ProbeLine(request, op.value(), cases, result).Run();
  const auto met = static_cast<int64_t>(result->probes_met.size());
  if (met > 0 || !sound) {
    result->checks.push_back({"probes", sound, std::max<int64_t>(met, 1)});
  }
}

}  // namespace lockstep::verify
