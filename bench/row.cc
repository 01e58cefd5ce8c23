#include "bench/row.h"

#ifdef __linux__
#include <malloc.h>
#endif

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <thread>

#include "bench/judge_job.h"
#include "bench/measure.h"
#include "bench/told.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward.h"
#include "verify/ops/varlen/answer_digests.h"

namespace lockstep::bench {
namespace {

using verify::RunOutcome;
using verify::Teller;

// A sample lasts this long at least, so that a look at the clock is no part of
// it; a burst about so long.
constexpr double kSampleSeconds = 1e-3;
constexpr double kBurstSeconds = 1e-3;
constexpr int64_t kMostCallsOfSample = 10000;
// What two clocks may differ by because they are read one after the other.
constexpr double kTick = 5e-6;

double CpuNow() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

// How often threads of this process have waited for something.
long Waits() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

// Leaves a mutex for as long as it lives.
class Left {
 public:
  explicit Left(std::mutex* held) : held_(held) {
    if (held_ != nullptr) held_->unlock();
  }
  ~Left() {
    if (held_ != nullptr) held_->lock();
  }
  Left(const Left&) = delete;
  Left& operator=(const Left&) = delete;

 private:
  std::mutex* held_;
};

double BytesOf(const verify::Trial& trial, const verify::OutputSet& outputs) {
  double bytes = 0;
  for (const verify::NamedTensor& tensor : trial.Inputs().tensors) {
    bytes += static_cast<double>(
        std::min(verify::ElementCount(tensor.shape),
                 verify::ElementSpan(tensor.shape, tensor.strides)) *
        verify::ElementBytes(tensor.type));
  }
  for (size_t n = 0; n < outputs.tensors.size(); ++n) {
    const verify::OutputSpec& spec = trial.outputs()[n];
    bytes += static_cast<double>(spec.lines() * spec.shape[3]) *
             static_cast<double>(LaneBytes(spec.lane));
  }
  return bytes;
}

// Whether the scene's outputs are an answer that was judged and passes.
bool IsRight(const Scene& scene) {
  const auto digests = verify::AnswerDigests(*scene.trial, scene.outputs);
  return digests.ok() && scene.right.contains(digests.value());
}

// The answer, every element of it, and nothing that needs the kernel to run
// again on other inputs: `lockstep verify` is for that.
verify::RunOptions JudgeOnce() {
  verify::RunOptions options;
  options.judge.invariance = false;
  options.judge.max_laws = 0;
  options.judge.evidence = false;
  options.judge.canaries = false;
  options.judge.probes = false;
  return options;
}

}  // namespace

Result<std::shared_ptr<Scene>> OpenScene(const verify::Job& job) {
  const verify::Case& c = job.sequence[0];
  ASSIGN_OR_RETURN(const verify::TrialRow op, verify::TrialRowOf(c));
  verify::MaterialiseOptions options;
  options.max_bytes = verify::DefaultMemoryBudget();
  if (job.search_directories) {
    options.search_directories = *job.search_directories;
  }
  auto scene = std::make_shared<Scene>();
  scene->line = verify::MinimalLine(c);
  ASSIGN_OR_RETURN(scene->trial, op.open(c, options));
  if (scene->trial->outputs().empty()) {
    return Status::Error(
        "bench: '" + scene->line +
        "' has no tensors to compute; `lockstep plan` says what planning "
        "costs, and a goal planning_ms in a case file has it in this table");
  }
  ASSIGN_OR_RETURN(scene->outputs, scene->trial->Allocate(0));
  scene->work = scene->trial->facts().CountWork();
  scene->bytes = BytesOf(*scene->trial, scene->outputs);
  return scene;
}

Result<Row> Row::Open(Ask ask, std::shared_ptr<Scene> scene) {
  ASSIGN_OR_RETURN(std::unique_ptr<verify::Candidate> candidate,
                   verify::ParseCandidate(ask.spec));
  if (!candidate->traits().computes || !candidate->traits().repeatable) {
    return Status::Error("candidate '" + ask.spec +
                         "' computes nothing that could be timed; want a "
                         "kernel, such as builtin:optimized or so:PATH");
  }
  Row row(std::move(ask), std::move(scene));
  row.candidate_ = std::move(candidate);
  RETURN_IF_ERROR(row.candidate_->Start());
  row.request_.line = row.scene_->line;
  row.request_.call = &row.ask_.job.sequence[0];
  RETURN_IF_ERROR(row.candidate_->Prepare(row.request_));
  return row;
}

int Row::threads() const {
  if (execution_.threads > 0) return execution_.threads;
  return std::max(1, candidate_->traits().fixed.threads.value_or(1));
}

Result<CallTimes> Row::TimeOnce() {
  // A row may have been moved since it was opened.
  request_.call = &ask_.job.sequence[0];
  verify::Execution execution;
  std::optional<Left> left(held_);
  const long waits = Waits();
  const double cpu = CpuNow();
  const double start = Now();
  const RunOutcome outcome =
      candidate_->Run(request_, *scene_->trial, candidate_->traits().fixed,
                      scene_->outputs, &execution);
  const double wall = Now() - start;
  const double used = CpuNow() - cpu;
  const bool slept = Waits() != waits;
  left.reset();
  if (outcome.state != RunOutcome::State::kRan) {
    return Status::Error(outcome.message);
  }
  execution_ = std::move(execution);
  CallTimes times = {wall, used, wall, execution_.call_seconds.value_or(wall)};
  bool waited = slept;
  if (execution_.seconds) {
    times.seconds = *execution_.seconds;
    times.processor = execution_.processor_seconds.value_or(times.seconds);
    waited = !execution_.processor_seconds;
    times.teller = execution_.teller;
  }
  // A processor time that is told has no other witness.
  if (IsTold(times.teller)) {
    waited = waited || !MayBe(times.processor, times.asked);
  }
  // Threads that are not told of show in what they use together.
  times.alone = !waited && threads() == 1 &&
                times.processor <= times.seconds * 1.05 + kTick;
  return times;
}

void Row::ChooseEngines() {
  engines_.clear();
  if (!scene_->work) return;
  engines_ = EnginesFor(scene_->work->lane);
  limits_ = engines_.size();
  // Bf16 in one chain cannot take the matrix unit (N3); what that would be is
  // printed all the same.
  if (scene_->work->lane == verify::WorkLane::kBf16) {
    for (const Engine& engine : EnginesFor(verify::WorkLane::kBf16Blocks)) {
      if (engine.instruction == Instruction::kMatrix) {
        engines_.push_back(engine);
      }
    }
  }
  const std::optional<Engine> own = EngineOf(execution_);
  used_.reset();
  if (!own) return;
  const auto at = std::find(engines_.begin(), engines_.end(), *own);
  used_ = static_cast<size_t>(at - engines_.begin());
  if (at == engines_.end()) engines_.push_back(*own);
}

void Row::Judge() {
  std::optional<Left> left(held_);
  const Result<verify::CaseResult> result =
      JudgeJob(ask_.job, ask_.spec, ask_.profile, JudgeOnce());
  left.reset();
  if (!result.ok()) return Refuse("not timed: " + result.message());
  verdict_ = verify::VerdictName(result->verdict);
  if (result->verdict == verify::Verdict::kPass) {
    scene_->right.insert(result->output_digests);
    return;
  }
  Refuse("not timed: " + verdict_ +
         (result->reason.empty() ? "" : ": " + result->reason));
}

void Row::Verify() {
  // The first call packs, faults pages in and asks for targets; what it took
  // decides how many calls a sample has.
  Result<CallTimes> first = TimeOnce();
  // It may have said just then that it has no lse.
  if (!first.ok() && !candidate_->Introduce().lacks.empty()) first = TimeOnce();
  if (first.ok()) cold_ = first->alone ? first->processor : first->seconds;
  if (first.ok() && !IsRight(*scene_)) {
    Judge();
    if (!refused_.empty()) return;
    first = TimeOnce();
    // What is timed has to be what was judged.
    if (first.ok() && candidate_->traits().ours && !IsRight(*scene_)) {
      return Refuse(
          "not timed: its answer differs from the one that was judged");
    }
  }
  if (!first.ok()) return Refuse("not timed: " + first.message());
  verdict_ = verify::VerdictName(verify::Verdict::kPass);
  ChooseEngines();
  const Result<CallTimes> warm = TimeOnce();
  if (!warm.ok()) return Refuse("not timed: " + warm.message());
  CheckTold(warm->seconds, warm->asked);
  if (!refused_.empty()) return;
  wall_ = warm->wall;
  alone_ = warm->alone;
  const double calls = kSampleSeconds / std::max(wall_, 1e-9);
  calls_ = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(calls)), 1,
                               kMostCallsOfSample);
}

void Row::TakeSample(int64_t round) {
  Sample sample = {.round = round, .calls = calls_, .bursts = {}};
  for (int64_t n = 0; n < calls_; ++n) {
    const Result<CallTimes> times = TimeOnce();
    if (!times.ok())
      return Refuse("broke while it was timed: " + times.message());
    sample.seconds += times->seconds / static_cast<double>(calls_);
    sample.cpu += times->processor / static_cast<double>(calls_);
    sample.wall += times->wall / static_cast<double>(calls_);
    sample.asked += times->asked / static_cast<double>(calls_);
  }
  for (const Engine& engine : engines_) {
    sample.bursts.push_back(Burst(engine, threads(), kBurstSeconds));
  }
  samples_.push_back(std::move(sample));
}

void Row::CheckTold(double seconds, double asked) {
  if (!IsTold(execution_.teller)) return;
  // What a device does at most is not known here.
  const bool known = scene_->work && execution_.teller == Teller::kKernel;
  const int cores = std::max(
      threads(), static_cast<int>(std::thread::hardware_concurrency()));
  double peak = 0;
  if (known && seconds < asked) {
    for (const Engine& engine : engines_) {
      peak = std::max(peak, Burst(engine, cores, kBurstSeconds));
    }
  }
  const std::string why =
      WhyNoTime(seconds, asked, scene_->work ? scene_->work->flop : 0, peak);
  if (!why.empty()) Refuse("not timed: " + why);
}

void Row::SettleClock() {
  if (!refused_.empty() || samples_.empty()) return;
  std::vector<double> shares;
  for (const Sample& sample : samples_) {
    shares.push_back(sample.seconds / sample.asked);
  }
  told_unused_ = !IsUsed(execution_.teller, shares);
  if (!told_unused_) return;
  for (Sample& sample : samples_) sample.seconds = sample.cpu = sample.asked;
}

std::string Row::told() const {
  return IsTold(execution_.teller) ? ToldText(execution_.teller, !told_unused_)
                                   : "";
}

std::optional<double> Row::MeasureMemory() {
#ifdef __GLIBC__
  // What calls before have given back is not resident any more.
  malloc_trim(0);
#endif
  const MemoryMark mark;
  const Result<CallTimes> times = TimeOnce();
  if (!times.ok() || execution_.seconds) return std::nullopt;
  return mark.Extra();
}

void Row::Close() {
  if (candidate_ == nullptr) return;
  request_.call = &ask_.job.sequence[0];
  const RunOutcome settled = candidate_->Settle(request_);
  if (settled.state == RunOutcome::State::kError && refused_.empty()) {
    Refuse("broke after it was timed: " + settled.message);
  }
  candidate_->Reset();
}

}  // namespace lockstep::bench
