// What it costs a kernel to be judged in a process of its own, as so:PATH: a
// round trip, and a long call against the same call in this process. Both
// medians; pairs of calls take turns, so that a busy machine slows both.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "verify/candidate/wire/host_caller.h"
#include "verify/case/case.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The optimized kernel with one thread, in lockstep-host.
HostCaller& TheHost() {
  static HostCaller& host =
      *new HostCaller({LOCKSTEP_HOST, LOCKSTEP_OPTIMIZED_KERNEL, "threads=1"});
  return host;
}

// A case with its tensors.
struct Scene {
  std::string line;
  std::unique_ptr<Trial> trial;
  OutputSet outputs;

  explicit Scene(const std::string& text) : line(text) {
    const Result<Case> c = ParseCase(text);
    const Result<TrialRow> op = TrialRowOf(c.value());
    trial = std::move(op->open(c.value(), {}).value());
    outputs = std::move(trial->Allocate(0).value());
  }
};

HostAnswer CallHost(const Scene& scene) {
  const KernelCall call = scene.trial->Call(0, scene.outputs);
  const PoisonOf poison = ReadPoison(call.outputs);
  HostAnswer answer = TheHost().Call({.case_line = scene.line,
                                      .call = &call,
                                      .poison = &poison,
                                      .threads = std::nullopt,
                                      .shift = 0,
                                      .place = Place::kNext,
                                      .tables = false});
  if (answer.placed) answer.placed->CopyBack();
  return answer;
}

bool Ready(benchmark::State& state) {
  const Status started = TheHost().Start();
  if (!started.ok()) state.SkipWithError(started.message().c_str());
  return started.ok();
}

// Everything around the kernel, and the kernel, which is small here.
void RoundTrip(benchmark::State& state, const std::string& line) {
  const Scene scene(line);
  if (!Ready(state)) return;
  std::vector<double> seconds;
  for (auto _ : state) {
    const Clock::time_point start = Clock::now();
    const HostAnswer answer = CallHost(scene);
    if (answer.outcome.state != RunOutcome::State::kRan) {
      state.SkipWithError(answer.outcome.message.c_str());
      return;
    }
    seconds.push_back(SecondsSince(start));
  }
  state.counters["median_us"] = 1e6 * Median(std::move(seconds));
}

double SecondsInProcess(const Scene& scene) {
  const auto& trial = dynamic_cast<const AttentionForwardTrial&>(*scene.trial);
  const Clock::time_point start = Clock::now();
  optimized::Caps caps;
  caps.threads = 1;
  const auto plan = optimized::MakePlan(trial.data().problem, caps);
  const Status status = optimized::AttentionForward(
      trial.data().problem, trial.data().inputs, plan.value(),
      AttentionViews(scene.outputs), nullptr);
  return status.ok() ? SecondsSince(start) : 0;
}

// Seconds of the kernel alone, in the host and here.
void KernelPairs(benchmark::State& state, const std::string& line) {
  const Scene scene(line);
  if (!Ready(state)) return;
  std::vector<double> here, there;
  for (auto _ : state) {
    here.push_back(SecondsInProcess(scene));
    const HostAnswer answer = CallHost(scene);
    if (answer.outcome.state != RunOutcome::State::kRan) {
      state.SkipWithError(answer.outcome.message.c_str());
      return;
    }
    there.push_back(answer.reply.receipt.seconds.value_or(0));
  }
  const double in_process = Median(std::move(here));
  const double in_host = Median(std::move(there));
  state.counters["in_process_ms"] = 1e3 * in_process;
  state.counters["in_host_ms"] = 1e3 * in_host;
  state.counters["ratio"] = in_host / in_process;
}

BENCHMARK_CAPTURE(RoundTrip, small,
                  "attention_forward b=1 sq=8 skv=8 d=16 seed=1")
    ->UseRealTime();
BENCHMARK_CAPTURE(KernelPairs, T2048,
                  "attention_forward sq=2048 skv=2048 d=128 mask=causal seed=1")
    ->Iterations(30)
    ->UseRealTime();

}  // namespace
}  // namespace lockstep::verify

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  lockstep::verify::CloseHosts();
  benchmark::Shutdown();
  return 0;
}
