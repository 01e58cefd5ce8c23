#include "verify/run/run.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>

#include "verify/run/case_file.h"
#include "verify/run/draws.h"

namespace lockstep::verify {
namespace {

// Failures of a run whose causes are looked for: a broken kernel fails a
// thousand cases for one reason.
constexpr int64_t kMostExplained = 3;
// And those whose error is drawn, where that is asked for.
constexpr int64_t kMostPictured = 8;

constexpr int64_t kMiB = int64_t{1} << 20;

template <typename T>
bool ParseWhole(std::string_view text, T* value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc{} && stop == end && !text.empty();
}

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

SharedDirectories Shared(std::vector<std::string> directories) {
  return std::make_shared<const std::vector<std::string>>(
      std::move(directories));
}

SharedDirectories Here() { return Shared({"."}); }

Result<std::vector<Job>> JobsOf(Result<CaseFile> file,
                                const SharedDirectories& search_directories,
                                std::string* note) {
  if (!file.ok()) return file.status();
  if (note != nullptr && file->aside > 0) {
    *note = std::to_string(file->aside) +
            (file->aside == 1 ? " line of " : " lines of ") + file->path +
            " left aside, whose probe does not apply; first " +
            file->first_aside;
  }
  std::vector<Job> jobs;
  jobs.reserve(file->entries.size());
  const auto path = std::make_shared<const std::string>(file->path);
  for (CaseFileEntry& entry : file->entries) {
    jobs.push_back(
        {std::move(entry.sequence), {path, entry.line}, search_directories});
  }
  return jobs;
}

}  // namespace

Result<Budget> ParseBudget(std::string_view text) {
  const Status bad =
      Status::Error("budget '" + std::string(text) +
                    "': want seconds, minutes, hours or cases, such as 60s, "
                    "5m, 2h or 1000cases");
  const size_t digits =
      std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view unit = text.substr(digits);
  if (unit == "cases") {
    int64_t cases = 0;
    if (!ParseWhole(text.substr(0, digits), &cases) || cases < 1) return bad;
    return Budget{.seconds = std::nullopt, .cases = cases};
  }
  double value = 0;
  if (!ParseWhole(text.substr(0, digits), &value)) return bad;
  const double scale = unit == "s"   ? 1
                       : unit == "m" ? 60
                       : unit == "h" ? 3600
                                     : 0;
  if (scale == 0 || !(value > 0) || !std::isfinite(value)) return bad;
  return Budget{.seconds = value * scale, .cases = std::nullopt};
}

Result<Shard> ParseShard(std::string_view text) {
  Shard shard;
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos ||
      !ParseWhole(text.substr(0, slash), &shard.index) ||
      !ParseWhole(text.substr(slash + 1), &shard.count) || shard.index < 0 ||
      shard.index >= shard.count) {
    return Status::Error("shard '" + std::string(text) +
                         "': want i/N with 0 <= i < N, such as 0/4");
  }
  return shard;
}

Result<std::vector<Job>> JobsFromLines(const std::vector<std::string>& lines,
                                       OpRows ops) {
  std::vector<Job> jobs;
  const SharedDirectories here = Here();
  for (const std::string& line : lines) {
    Result<std::vector<Case>> sequence = ParseCaseSequence(line, ops);
    if (!sequence.ok()) return Status::Error("case: " + sequence.message());
    for (const Case& c : sequence.value()) {
      const Status status = ValidateCase(c);
      if (!status.ok() && c.expect != Expect::kRefuse) {
        return Status::Error("case: " + status.message());
      }
    }
    const int64_t number = static_cast<int64_t>(jobs.size()) + 1;
    jobs.push_back({std::move(sequence.value()), {nullptr, number}, here});
  }
  return jobs;
}

Result<std::vector<Job>> JobsFromFile(const std::string& path, OpRows ops,
                                      std::string* note) {
  return JobsOf(ReadCaseFile(path, ops), Shared(SearchDirectories(path)), note);
}

Result<std::vector<Job>> JobsFromText(const std::string& name,
                                      std::string_view text, OpRows ops,
                                      std::string* note) {
  return JobsOf(ParseCaseFile(name, text, ops), Here(), note);
}

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
                       " takes not all of these arguments; its " +
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

// `last`: the job's cases are asked of nobody after this candidate, and move.
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
    const Result<TrialRow> op = TrialRowOf(call.request);
    if (!op.ok()) return op.status();
    const auto trial = op->open(call.request, materialise);
    if (!trial.ok()) return trial.status();
  }
  return candidates_[call.candidate]->Prepare(RequestOf(call));
}

JudgeOptions Run::OptionsFor(const Call& call) const {
  JudgeOptions judge = options_.judge;
  judge.materialise.search_directories = *call.search_directories;
  return judge;
}

CaseResult Run::JudgeCall(const Call& call,
                          std::optional<PreviousTruth>* previous) {
  JudgeOptions judge = OptionsFor(call);
  Candidate& candidate = *candidates_[call.candidate];
  if (call.request.expect != Expect::kRefuse) {
    judge.causes = judge.causes && explained_ < kMostExplained;
    judge.pictures = judge.pictures && pictured_ < kMostPictured;
    CaseResult result = JudgeCase(RequestOf(call), candidate, judge, previous);
    explained_ += judge.causes && result.verdict == Verdict::kFail ? 1 : 0;
    pictured_ += result.picture != nullptr ? 1 : 0;
    result.replay_case = *call.replay;
    return result;
  }
  CaseResult result;
  result.line = *call.line;
  result.canonical = CanonicalLine(call.request);
  result.replay_case = *call.replay;
  result.candidate = candidate.Spec();
  result.replay_options = judge.replay_options;
  result.expect = call.request.expect;
  result.requested_backend = candidate.Backend();
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

Totals Run::Judge(RunObserver* observer) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  const std::atomic<bool>* stop = options_.judge.stop;
  Totals totals;
  std::optional<PreviousTruth> previous;
  for (const Call& call : calls_) {
    if (stop != nullptr && *stop) {
      totals.interrupted = true;
      break;
    }
    const Budget& budget = options_.budget;
    if (budget.cases && totals.cases >= *budget.cases) break;
    if (budget.seconds && seconds() >= *budget.seconds) break;
    if (call.first) candidates_[call.candidate]->Reset();
    CaseResult result = JudgeCall(call, &previous);
    result.op = OpName(call.request);
    result.origin = call.origin;
    result.known = MatchKnown(options_.known, result);
    if (call.first && call.last) {
      JudgeDraws({RequestOf(call), *candidates_[call.candidate],
                  OptionsFor(call), options_.draws},
                 &result);
      for (CaseResult& drawn : result.draws) {
        drawn.known = MatchKnown(options_.known, drawn);
      }
    }
    // Interrupted inside a case: what it says is not the whole truth.
    if (stop != nullptr && *stop && result.verdict == Verdict::kPass) {
      totals.interrupted = true;
      break;
    }
    totals.Add(result);
    totals.seconds = seconds();
    observer->OnCase(result, totals, cases() - totals.cases);
    const bool bad = HasVerdict(result, Verdict::kFail) ||
                     HasVerdict(result, Verdict::kError);
    if (bad && options_.fail_fast) break;
  }
  totals.not_run = cases() - totals.cases;
  totals.seconds = seconds();
  return totals;
}

}  // namespace lockstep::verify
