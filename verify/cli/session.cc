#include "verify/cli/session.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <utility>

#include "verify/events.h"
#include "verify/self_check.h"
#include "verify/shard.h"

namespace lockstep::verify::cli {
namespace {

constexpr const char* kDefaultCandidate = "builtin:optimized";

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

bool WantsColor(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(fd) != 0 && (no_color == nullptr || *no_color == '\0');
}

// A line on the terminal that is written over; nothing in a pipe.
class Progress {
 public:
  explicit Progress(int64_t total)
      : on_(isatty(STDERR_FILENO) != 0 && total > 1), total_(total) {}
  ~Progress() { Clear(); }

  void Clear() {
    if (!shown_) return;
    std::cerr << "\r\x1b[K" << std::flush;
    shown_ = false;
  }
  void Show(int64_t done, int64_t findings) {
    if (!on_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::cerr << "\r\x1b[K" << ProgressLine(done, total_, findings, seconds)
              << std::flush;
    shown_ = true;
  }

 private:
  bool on_;
  bool shown_ = false;
  int64_t total_;
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_;
};

class Session : public RunObserver {
 public:
  Session(const SessionOptions& options, int64_t total,
          const Environment& environment, ReceiptRequest request)
      : options_(options),
        progress_(total),
        junit_(options.fail_on == "suspicious") {
    // Where stdout belongs to a program, people read stderr.
    text_ =
        options.json == "-" || options.junit == "-" || options.receipt == "-"
            ? &std::cerr
            : &std::cout;
    style_.color =
        WantsColor(text_ == &std::cout ? STDOUT_FILENO : STDERR_FILENO);
    style_.verbose = options.verbose;
    Emit(StartEvent(environment, request.candidates, total));
    if (!options.receipt.empty()) {
      receipt_ = std::make_unique<Receipt>(environment, std::move(request));
    }
  }

  void OnCase(const CaseResult& result, const Totals&, int64_t) override {
    Emit(CaseEvents(result));
    if (!options_.junit.empty()) junit_.Add(result);
    if (receipt_ != nullptr) receipt_->Add(result);
    statistics_.Add(result);
    ++done_;
    findings_ += static_cast<int64_t>(result.findings.size());
    const std::string text = ReportCase(result, style_);
    if (!text.empty()) {
      progress_.Clear();
      *text_ << text << std::flush;
    }
    progress_.Show(done_, findings_);
  }

  // Delivers everything. Errors: a file could not be written.
  Status Finish(const Totals& totals, int exit_code) {
    progress_.Clear();
    *text_ << ReportSummary(totals, statistics_, exit_code, style_)
           << std::flush;
    Emit(SummaryEvent(totals, exit_code));
    Status status;
    const auto deliver = [&](const std::string& path, const std::string& text) {
      if (path.empty() || !status.ok()) return;
      status = Deliver(path, text);
    };
    if (options_.json != "-") deliver(options_.json, events_);
    if (!options_.junit.empty()) {
      deliver(options_.junit, junit_.Document(totals));
    }
    if (receipt_ != nullptr) {
      deliver(options_.receipt, receipt_->Document(totals, exit_code));
    }
    return status;
  }

 private:
  // A stream to stdout at once; a file at the end, whole.
  void Emit(const std::string& lines) {
    if (options_.json.empty()) return;
    if (options_.json == "-") {
      progress_.Clear();
      std::cout << lines << std::flush;
    } else {
      events_ += lines;
    }
  }

  const SessionOptions& options_;
  Progress progress_;
  JUnit junit_;
  std::unique_ptr<Receipt> receipt_;
  std::ostream* text_;
  ReportStyle style_;
  RunStatistics statistics_;
  std::string events_;
  int64_t done_ = 0;
  int64_t findings_ = 0;
};

// Options as typed into options of the run. Errors: usage.
Result<RunOptions> Resolve(const SessionOptions& options) {
  RunOptions run;
  if (!options.budget.empty()) {
    const Result<Budget> budget = ParseBudget(options.budget);
    if (!budget.ok()) return budget.status();
    run.budget = budget.value();
  }
  if (!options.shard.empty()) {
    const Result<Shard> shard = ResolveShard(options.shard);
    if (!shard.ok()) return shard.status();
    run.shard = shard.value();
  }
  run.max_memory = DefaultMemoryBudget();
  if (!options.max_memory.empty()) {
    const Result<int64_t> memory = ParseMemory(options.max_memory);
    if (!memory.ok()) return memory.status();
    run.max_memory = memory.value();
  }
  if (!options.seed.empty()) {
    const Result<uint64_t> seed = ParseSeed(options.seed);
    if (!seed.ok()) return seed.status();
    run.seed = seed.value();
  }
  run.fail_fast = options.fail_fast;
  run.judge.materialise.max_bytes = run.max_memory;
  run.judge.threads = options.threads;
  run.judge.all_rows = options.all_rows;
  run.judge.invariance = !options.no_invariance;
  run.judge.probes = !options.no_probes;
  run.judge.require_executed = options.require_executed;
  return run;
}

// --threads is the number of every candidate that takes one and names none.
std::string WithThreads(const std::string& spec, int threads) {
  const bool takes = spec.starts_with("builtin:optimized") &&
                     spec.find(",threads=") == std::string::npos;
  return threads > 0 && takes ? spec + ",threads=" + std::to_string(threads)
                              : spec;
}

// Whether a case is judged by what a profile claims of its arithmetic.
bool NeedsProfile(const JobGroup& group) {
  for (const Job& job : group.jobs) {
    for (const Case& c : job.sequence) {
      const Result<Op> op = FindOp(c);
      if (!op.ok() || op->judge == nullptr) return true;
    }
  }
  return false;
}

Result<std::vector<std::unique_ptr<Candidate>>> OpenCandidates(
    const JobGroup& group, const SessionOptions& options) {
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (const std::string& spec : group.candidates) {
    Result<std::unique_ptr<Candidate>> candidate =
        ParseCandidate(WithThreads(spec, options.threads));
    if (!candidate.ok()) return candidate.status();
    if (!candidate.value()->Ours() && group.profile.empty() &&
        NeedsProfile(group)) {
      std::string known;
      for (const NumericProfile& profile : BuiltinProfiles()) {
        known += " " + profile.name;
      }
      return Status::Error("candidate '" + spec +
                           "' needs --profile, the numeric contract it "
                           "claims; built in:" +
                           known + "; or a file (docs/profiles.md)");
    }
    candidates.push_back(std::move(candidate.value()));
  }
  return candidates;
}

Status CheckOutputs(const SessionOptions& options) {
  int on_stdout = 0;
  for (const std::string& path :
       {options.json, options.junit, options.receipt}) {
    if (path.empty()) continue;
    on_stdout += path == "-" ? 1 : 0;
    const Status status = CheckDeliverable(path);
    if (!status.ok()) return status;
  }
  if (on_stdout > 1) {
    return Status::Error(
        "only one of --json, --junit and --receipt can go "
        "to stdout ('-')");
  }
  return {};
}

void Accumulate(const Totals& more, Totals* totals) {
  totals->cases += more.cases;
  totals->pass += more.pass;
  totals->fail += more.fail;
  totals->suspicious += more.suspicious;
  totals->untrusted += more.untrusted;
  totals->skipped += more.skipped;
  totals->error += more.error;
  totals->skipped_unsupported += more.skipped_unsupported;
  totals->self_errors += more.self_errors;
  totals->not_run += more.not_run;
  totals->seconds += more.seconds;
  totals->interrupted = totals->interrupted || more.interrupted;
}

ReceiptRequest DescribeRequest(const std::vector<JobGroup>& groups,
                               const SessionOptions& options) {
  ReceiptRequest request;
  request.arguments = CommandArguments();
  for (const JobGroup& group : groups) {
    for (const std::string& spec : group.candidates) {
      request.candidates.push_back(spec);
    }
  }
  request.candidate_explicit = !options.candidates.empty();
  request.profile = options.profile;
  request.require_executed = options.require_executed;
  request.time = UtcNow();
  return request;
}

}  // namespace

int RunSession(std::vector<JobGroup> groups, const SessionOptions& options) {
  const Result<RunOptions> resolved = Resolve(options);
  if (!resolved.ok()) return Fail(resolved.message());
  const Status outputs = CheckOutputs(options);
  if (!outputs.ok()) return Fail(outputs.message());

  // Everything is opened before anything is judged.
  std::vector<Run> runs;
  int64_t total = 0;
  for (JobGroup& group : groups) {
    if (group.candidates.empty()) group.candidates = {kDefaultCandidate};
    auto candidates = OpenCandidates(group, options);
    if (!candidates.ok()) return Fail(candidates.message());
    RunOptions run_options = resolved.value();
    if (!group.profile.empty()) {
      Result<NumericProfile> profile = LoadProfile(group.profile);
      if (!profile.ok()) return Fail(profile.message());
      run_options.judge.profile = std::move(profile.value());
      run_options.judge.profile_spec = group.profile;
    }
    run_options.judge.stop = WatchInterrupt();
    Result<Run> run = Run::Prepare(std::move(group.jobs),
                                   std::move(candidates.value()), run_options);
    if (!run.ok()) return Fail(run.message());
    total += run->cases();
    runs.push_back(std::move(run.value()));
  }
  const Status sound = SelfCheck();
  if (!sound.ok()) {
    return Fail("self-check failed: " + sound.message(), kExitSelf);
  }

  Session session(options, total, ReadEnvironment(),
                  DescribeRequest(groups, options));
  Totals totals;
  for (Run& run : runs) Accumulate(run.Judge(&session), &totals);
  const int exit_code = ExitCode(totals, options.fail_on == "suspicious");
  const Status delivered = session.Finish(totals, exit_code);
  if (!delivered.ok()) {
    return Fail(delivered.message(),
                exit_code == kExitPass ? kExitUsage : exit_code);
  }
  return exit_code;
}

}  // namespace lockstep::verify::cli
