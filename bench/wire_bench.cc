// What a call on a host costs beside the kernel: memory laid out and poisoned,
// message written, answer read, zones looked at. The host does nothing.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/candidate/wire/host_caller.h"
#include "verify/case/case.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// The median is what docs/wire.md promises: the mean has the scheduler in it.
void RoundTrip(benchmark::State& state, const std::string& line) {
  const Result<Case> c = ParseCase(line);
  const Result<TrialRow> op = TrialRowOf(c.value());
  const auto trial = op->open(c.value(), {});
  const auto outputs = trial.value()->Allocate(0);
  HostCaller host({LOCKSTEP_WIRE_ECHO});
  const Status started = host.Start();
  if (!started.ok()) {
    state.SkipWithError(started.message().c_str());
    return;
  }
  std::vector<double> seconds;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    const KernelCall call = trial.value()->Call(0, outputs.value());
    const PoisonOf poison = ReadPoison(call.outputs);
    const HostAnswer answer = host.Call({.case_line = line,
                                         .call = &call,
                                         .poison = &poison,
                                         .threads = std::nullopt,
                                         .splits = std::nullopt,
                                         .shift = 0,
                                         .place = Place::kNext,
                                         .tables = false});
    if (answer.outcome.state != RunOutcome::State::kRan) {
      state.SkipWithError(answer.outcome.message.c_str());
      return;
    }
    answer.placed->CopyBack();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2,
                   seconds.end());
  state.counters["median_us"] = 1e6 * seconds[seconds.size() / 2];
}

BENCHMARK_CAPTURE(RoundTrip, small,
                  "attention_forward b=1 sq=8 skv=8 d=16 seed=1")
    ->UseRealTime();
BENCHMARK_CAPTURE(RoundTrip, T2048,
                  "attention_forward sq=2048 skv=2048 d=128 mask=causal seed=1")
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
