#include "verify/run/run.h"

#include <algorithm>
#include <map>

#include "reference/contract/team.h"
#include "verify/base/status_macros.h"
#include "verify/run/draws.h"

namespace lockstep::verify {
namespace {

// Failures of a run whose causes are looked for: a broken kernel fails a
// thousand cases for one reason.
constexpr int64_t kMostExplained = 3;
// And those whose error is drawn, where that is asked for.
constexpr int64_t kMostPictured = 8;

constexpr int64_t kMiB = int64_t{1} << 20;

// Bytes that judging the case takes, saturating.
int64_t JudgeBytes(const Case& c) {
  const int64_t bytes = EstimateBytes(c);
  return bytes > INT64_MAX / kJudgeCopies ? INT64_MAX : bytes * kJudgeCopies;
}

// Refused before judging, or accepted although the case expects otherwise.
void DecideRefusal(const Status& refusal, CaseResult* result) {
  if (!refusal.ok()) {
    result->verdict = Verdict::kPass;
    result->reason = "refused as expected: " + refusal.message();
    return;
  }
  result->verdict = Verdict::kFail;
  result->reason = "expected to be refused, but the case is accepted";
  result->findings.push_back(
      {Tier::kRefusal, "refusal", result->reason, "", std::nullopt});
}

// A worker's time with cases: if an exception ends it, nothing more is told of.
class AtWork {
 public:
  explicit AtWork(SideBySide* all) : all_(all) {}
  ~AtWork() {
    if (all_ != nullptr) all_->Abandon();
  }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
  void Finish() { all_ = nullptr; }

 private:
  SideBySide* all_;
};

}  // namespace

// A candidate whose arguments some op of the cases lacks is judged on that
// op's cases without them, if another op has them all.
void Run::ReduceCandidates(const std::vector<Job>& jobs) {
  std::map<std::string, int64_t> cases;
  for (const Job& job : jobs) {
    for (const Case& c : job.sequence) ++cases[OpName(c)];
  }
  const size_t asked = candidates_.size();
  for (size_t which = 0; which < asked; ++which) {
    std::map<std::string, std::unique_ptr<Candidate>> reduced;
    for (const auto& [op, count] : cases) {
      auto without = candidates_[which]->Without(op);
      if (without != nullptr) reduced.emplace(op, std::move(without));
    }
    if (reduced.size() == cases.size()) continue;  // Prepare says what is wrong
    for (auto& [op, without] : reduced) {
      notes_.push_back("candidate " + candidates_[which]->Spec() + ": " + op +
                       " does not take all of these arguments; its " +
                       std::to_string(cases[op]) +
                       (cases[op] == 1 ? " case is" : " cases are") +
                       " judged with " + without->Spec());
      reduced_[{which, op}] = candidates_.size();
      candidates_.push_back(std::move(without));
    }
  }
}

Result<Run> Run::Prepare(std::vector<Job> jobs,
                         std::vector<std::unique_ptr<Candidate>> candidates,
                         const RunOptions& options) {
  Run run;
  run.options_ = options;
  run.candidates_ = std::move(candidates);
  const size_t asked = run.candidates_.size();
  run.ReduceCandidates(jobs);
  for (size_t which = 0; which < asked; ++which) {
    const bool last = which + 1 == asked;
    int64_t number = 0;
    for (size_t n = 0; n < jobs.size(); ++n) {
      Job& job = jobs[n];
      const bool ours =
          static_cast<int64_t>(n) % options.shard.count == options.shard.index;
      if (options.seed) {
        for (Case& c : job.sequence) c.seed = *options.seed;
      }
      if (ours) {
        run.AddCalls(&job, which, last, &number);
      } else {
        number += static_cast<int64_t>(job.sequence.size());
      }
    }
    run.total_ = number;
  }
  jobs = {};
  for (const Call& call : run.calls_) {
    const Status status = run.PrepareCall(call);
    if (!status.ok()) {
      return Status::Error(OriginText(call.origin) + ": " + status.message());
    }
  }
  return run;
}

// `last`: this candidate is the last one to judge the job's cases, which are
// moved.
void Run::AddCalls(Job* job, size_t candidate, bool last, int64_t* number) {
  // One text for all calls of a sequence: there may be thousands.
  const auto replay =
      std::make_shared<const std::string>(MinimalLine(job->sequence));
  const bool alone = job->sequence.size() == 1;
  for (Case& c : job->sequence) {
    ++*number;
    auto line =
        alone ? replay : std::make_shared<const std::string>(MinimalLine(c));
    const auto reduced = reduced_.find({candidate, OpName(c)});
    const bool first = &c == &job->sequence.front();
    const bool final = &c == &job->sequence.back();
    calls_.push_back(
        {.request = last ? std::move(c) : c,
         .first = first,
         .last = final,
         .line = std::move(line),
         .replay = replay,
         .origin = job->origin,
         .candidate = reduced == reduced_.end() ? candidate : reduced->second,
         .number = *number,
         .search_directories = job->search_directories});
  }
}

CaseRequest Run::RequestOf(const Call& call) const {
  return {
      .call = &call.request,
      .line = *call.line,
      .number = call.number,
      .total = total_,
      .max_bytes = options_.max_memory,
      .last = call.last,
      .claims = options_.judge.profile ? &*options_.judge.profile : nullptr};
}

Status Run::PrepareCall(const Call& call) {
  if (call.request.expect == Expect::kRefuse) return {};
  const int64_t bytes = JudgeBytes(call.request);
  if (bytes > options_.max_memory) {
    return Status::Error(
        "judging the case takes " + std::to_string(bytes / kMiB) +
        " MiB, above the limit of " +
        std::to_string(options_.max_memory / kMiB) + " MiB (--max-memory)");
  }
  if (NamesFiles(call.request)) {
    MaterialiseOptions materialise = options_.judge.materialise;
    materialise.search_directories = *call.search_directories;
    ASSIGN_OR_RETURN(const TrialRow op, TrialRowOf(call.request));
    ASSIGN_OR_RETURN(const auto trial, op.open(call.request, materialise));
  }
  return candidates_[call.candidate]->Prepare(RequestOf(call));
}

JudgeOptions Run::OptionsFor(const Call& call) const {
  JudgeOptions judge = options_.judge;
  judge.materialise.search_directories = *call.search_directories;
  return judge;
}

CaseResult Run::JudgeRefusal(const Call& call, const Candidate& candidate,
                             JudgeOptions judge) const {
  CaseResult result;
  result.line = *call.line;
  result.canonical = CanonicalLine(call.request);
  result.candidate = candidate.Spec();
  result.replay_options = judge.replay_options;
  result.expect = call.request.expect;
  result.requested_backend = candidate.traits().backend;
  Status refusal = ValidateCase(call.request);
  if (refusal.ok()) {
    judge.materialise.max_bytes = options_.max_memory;
    const Result<TrialRow> op = TrialRowOf(call.request);
    refusal = op.ok() ? op->open(call.request, judge.materialise).status()
                      : op.status();
  }
  DecideRefusal(refusal, &result);
  return result;
}

void Run::Place(const Call& call, CaseResult* result) const {
  result->replay_case = *call.replay;
  result->op = OpName(call.request);
  result->origin = call.origin;
  result->known = MatchKnown(options_.known, *result);
}

CaseResult Run::JudgeCall(const Call& call, Candidate& candidate,
                          const JudgeOptions& judge,
                          const ChainPlace& place) const {
  if (call.first) candidate.Reset();
  CaseResult result =
      call.request.expect == Expect::kRefuse
          ? JudgeRefusal(call, candidate, judge)
          : JudgeCase(RequestOf(call), candidate, judge, &place);
  Place(call, &result);
  if (!call.first || !call.last) return result;
  JudgeDraws({RequestOf(call), candidate, OptionsFor(call), options_.draws},
             &result);
  for (CaseResult& drawn : result.draws) {
    drawn.known = MatchKnown(options_.known, drawn);
  }
  return result;
}

// The calls of a line are made one after another, of one candidate.
std::vector<CallUnit> Run::Units() const {
  std::vector<CallUnit> units;
  for (int64_t n = 0; n < cases(); ++n) {
    const Call& call = calls_[static_cast<size_t>(n)];
    if (call.first) units.push_back({n, n, 0});
    CallUnit& unit = units.back();
    unit.end = n + 1;
    if (call.request.expect == Expect::kRefuse) continue;
    unit.bytes = std::max(unit.bytes, JudgeBytes(call.request));
  }
  return units;
}

int Run::Jobs() const {
  const int64_t wanted = options_.jobs > 0 ? options_.jobs : DefaultThreads();
  const auto single = [](const std::unique_ptr<Candidate>& candidate) {
    return candidate->Copy() == nullptr;
  };
  if (std::any_of(candidates_.begin(), candidates_.end(), single)) return 1;
  return static_cast<int>(std::clamp<int64_t>(cases(), 1, wanted));
}

// A worker's part: units as they come, until there is none.
void Run::JudgeUnits(const Candidates& candidates, SideBySide* all,
                     TruthChain* truths, const Suggested& suggested,
                     RunObserver* observer) const {
  while (const std::optional<CallUnit> unit = all->Take()) {
    for (int64_t n = unit->begin; n < unit->end && all->Begins(n); ++n) {
      const Call& call = calls_[static_cast<size_t>(n)];
      JudgeOptions judge = OptionsFor(call);
      // Side by side with failures that may come before it, it may look in
      // vain; what is told is the same.
      judge.causes = judge.causes && suggested.explained < kMostExplained;
      judge.pictures = judge.pictures && suggested.pictured < kMostPictured;
      judge.decided = [&](CaseResult result) {
        if (!all->IsNext(n)) return;
        Place(call, &result);
        observer->OnDecided(result);
      };
      CaseResult result =
          JudgeCall(call, *candidates[call.candidate], judge, {*truths, n});
      truths->End(n);
      all->Deliver(n, std::move(result), judge.causes);
    }
    all->Leave(*unit);
  }
}

// Of a result in its turn: keeps what is said beside a verdict to the first few
// failures, draws among them.
void Run::CountSuggestions(bool causes, CaseResult* result,
                           Suggested* suggested) const {
  const auto count = [&](bool failed, CaseResult* one) {
    if (!failed || suggested->explained++ < kMostExplained) return;
    one->causes.clear();
    one->no_cause.clear();
    one->cause_kernels = 0;
    one->cause_seconds = 0;
  };
  count(causes && result->verdict == Verdict::kFail &&
            result->expect != Expect::kRefuse,
        result);
  for (CaseResult& drawn : result->draws) {
    count(!drawn.causes.empty() || !drawn.no_cause.empty(), &drawn);
  }
  if (suggested->pictured >= kMostPictured) {
    result->picture.reset();
    result->no_picture.clear();
  }
  suggested->pictured += result->picture != nullptr ? 1 : 0;
}

Totals Run::Judge(RunObserver* observer) {
  Totals totals;
  TruthChain truths;
  Suggested suggested;
  const SideBySide::Limits limits{
      .seconds = options_.budget.seconds,
      .calls = options_.budget.cases.value_or(INT64_MAX),
      .bytes = options_.max_memory,
      .stop = options_.judge.stop};
  const SideBySide* clock = nullptr;
  SideBySide all(Units(), limits, &truths,
                 [&](CaseResult* result, bool causes) {
                   CountSuggestions(causes, result, &suggested);
                   totals.Add(*result);
                   totals.seconds = clock->Seconds();
                   observer->OnCase(*result, totals, cases() - totals.cases);
                   const bool bad = HasVerdict(*result, Verdict::kFail) ||
                                    HasVerdict(*result, Verdict::kError);
                   return !(bad && options_.fail_fast);
                 });
  clock = &all;
  RunOwnThreads(Jobs(), [&](int worker) {
    AtWork at_work(&all);
    if (worker == 0) {
      JudgeUnits(candidates_, &all, &truths, suggested, observer);
    } else {
      Candidates own;
      for (const auto& candidate : candidates_) {
        own.push_back(candidate->Copy());
      }
      JudgeUnits(own, &all, &truths, suggested, observer);
    }
    at_work.Finish();
  });
  // A case in which the interrupt came was not judged to its end.
  const std::atomic<bool>* const stop = options_.judge.stop;
  totals.interrupted = all.interrupted() || (stop != nullptr && *stop);
  totals.not_run = cases() - totals.cases;
  totals.seconds = all.Seconds();
  return totals;
}

}  // namespace lockstep::verify
