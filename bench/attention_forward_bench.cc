// attention_forward as a fraction of the f32 FMA peak of the same run.
//
// Each row is a case line (docs/cases.md). The result is checked against the
// reference on sampled rows before anything is timed: a wrong answer is not
// timed. Work counts visible pairs only, 2 * (d + dv) flop each, so skipped
// tiles earn nothing. Counters, of the median run:
//   gflops, fraction    of peak_gflops (the mean of right before and right
//                       after, times the threads)
//   of_roof             of the roofline: the peak or, if less, what the tensors
//                       (q, k, v, o, lse once) at the read bandwidth of an
//                       array of their size let through, times the threads
//   best                fraction of the fastest run: neighbours of a shared
//                       machine take the rest
//   bytes_per_second    of those tensors
//   tiles_visited
// The last row is one run of a long sequence; extra_bytes: what the process
// came to hold beside the tensors, and beside what earlier rows left it
// (--benchmark_filter=memory: nothing).
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/peak.h"
#include "bench/quiet.h"
#include "benchmark/benchmark.h"
#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "optimized/row_keys.h"
#include "optimized/simd/targets.h"
#include "reference/attention_forward.h"
#include "verify/base/tensor.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward_outputs.h"
#include "verify/registry/ops.h"

namespace lockstep::bench {
namespace {

constexpr double kPeakSeconds = 0.05;

constexpr const char* kLines[] = {
    "sq=4096 skv=4096 d=128 mask=causal cap=50",
    "sq=4096 skv=4096 d=128 mask=causal",
    "sq=4096 skv=4096 d=128 mask=causal cap=50 lane=bf16 p=bf16",
    "sq=4096 skv=4096 d=128 mask=causal lane=bf16 p=bf16",
    "sq=4096 skv=4096 d=64 mask=causal cap=50",
    "sq=4096 skv=4096 d=256 mask=causal cap=50",
    "sq=4096 skv=4096 d=128 mask=causal&window:1024,0 cap=50",
    "sq=4096 skv=4096 d=128 mask=causal cap=50 "
    "q_seg=runs:100,300,256,256,112,400,256,256,256,256,256,256,256,256,256,368"
    " kv_seg="
    "runs:100,300,256,256,112,400,256,256,256,256,256,256,256,256,256,368",
    "hq=8 hkv=1 sq=1024 skv=1024 d=128 mask=causal cap=50",
    "hq=64 hkv=8 sq=1 skv=8192 d=128 cap=50 lane=bf16 p=bf16",
    "hq=8 sq=64 skv=64 d=64 mask=causal cap=50",
};

// A case with its tensors; heap-held, because benchmarks outlive main's locals.
struct Work {
  std::string line;
  verify::AttentionForwardData data;
  verify::AttentionForwardOutputBuffers out;
  double flop = 0;
  double bytes = 0;
};

double VisiblePairs(const Work& work) {
  const AttentionForwardProblem& p = work.data.problem;
  double pairs = 0;
  for (int64_t b = 0; b < p.batch; ++b) {
    optimized::RowKeys keys(p, work.data.inputs, b, true);
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        for (const optimized::Range& range : keys.Visible(h, i)) {
          pairs += static_cast<double>(range.end - range.begin);
        }
      }
    }
  }
  return pairs;
}

Result<std::unique_ptr<Work>> Prepare(const std::string& keys) {
  const std::string line = "attention_forward " + keys;
  const Result<verify::Case> parsed = verify::ParseCase(line);
  if (!parsed.ok()) return parsed.status();
  auto work = std::make_unique<Work>();
  work->line = verify::MinimalLine(parsed.value());
  Result<verify::AttentionForwardData> data =
      verify::Materialise(parsed.value(), {});
  if (!data.ok()) return data.status();
  work->data = std::move(data.value());
  Result<verify::AttentionForwardOutputBuffers> out =
      verify::AllocateOutputs(parsed->Get<verify::AttentionForwardCase>(), 0);
  if (!out.ok()) return out.status();
  work->out = std::move(out.value());
  const AttentionForwardProblem& p = work->data.problem;
  work->flop =
      VisiblePairs(*work) * static_cast<double>(2 * (p.head_dim + p.value_dim));
  const auto elements = static_cast<double>(
      p.batch * (p.q_heads * p.q_len * (p.head_dim + p.value_dim) +
                 p.kv_heads * p.kv_len * (p.head_dim + p.value_dim)));
  work->bytes = elements * static_cast<double>(LaneBytes(p.lane)) +
                4.0 * static_cast<double>(p.batch * p.q_heads * p.q_len);
  return work;
}

// Five rows spread over the outputs, bit for bit.
bool SampledRowsAreRight(const Work& work) {
  const AttentionForwardProblem& p = work.data.problem;
  const int64_t rows = p.batch * p.q_heads * p.q_len;
  std::vector<float> o(static_cast<size_t>(p.value_dim));
  const auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  for (int64_t n = 0; n < 5; ++n) {
    const int64_t at = n * (rows - 1) / 4;
    const reference::AttentionRow row{at / p.q_len / p.q_heads,
                                      at / p.q_len % p.q_heads, at % p.q_len};
    float lse = 0;
    const Status done =
        reference::AttentionForwardRow(p, work.data.inputs, row, o, &lse);
    if (!done.ok()) return false;
    const AttentionForwardOutputs out = work.out.view();
    bool same = bits(out.lse(row.batch, row.head, row.query)) == bits(lse);
    for (size_t c = 0; c < o.size(); ++c) {
      const float produced =
          p.lane == Lane::kF32
              ? out.o.As<float>()(row.batch, row.head, row.query, c)
              : ToFloat(out.o.As<Bf16>()(row.batch, row.head, row.query, c));
      same &= bits(produced) == bits(o[c]);
    }
    if (!same) return false;
  }
  return true;
}

void Run(benchmark::State& state, const Work& work, int threads) {
  optimized::Caps caps;
  caps.threads = threads;
  const Result<optimized::Plan> plan =
      optimized::MakePlan(work.data.problem, caps);
  if (!plan.ok()) return state.SkipWithError(plan.message().c_str());
  optimized::AttentionForwardExecution execution;
  const auto run = [&] {
    return optimized::AttentionForward(work.data.problem, work.data.inputs,
                                       plan.value(), work.out.view(),
                                       &execution);
  };
  if (!run().ok() || !SampledRowsAreRight(work)) {
    return state.SkipWithError("wrong answer: not timed");
  }
  const int64_t target = optimized::TargetBit(plan->target);
  // What the plan could reach at best: pairs of bf16 where there is an
  // instruction for them.
  const bool bf16 = plan->native_dot && MeasureBf16DotPeak(target, 0.001) > 0;
  const auto measure_peak = [&] {
    return bf16 ? MeasureBf16DotPeak(target, kPeakSeconds)
                : MeasureFmaPeak(target, kPeakSeconds);
  };
  const double before = measure_peak();
  std::vector<double> samples;
  for (auto _ : state) {
    const double start = Now();
    const Status status = run();
    benchmark::DoNotOptimize(&status);
    samples.push_back(Now() - start);
  }
  const double least = *std::min_element(samples.begin(), samples.end());
  const double seconds = Median(std::move(samples));
  const double peak = (before + measure_peak()) / 2 * threads;
  const double bandwidth =
      threads * MeasureReadBandwidth(target, static_cast<size_t>(work.bytes),
                                     kPeakSeconds);
  const double roof = std::min(peak, bandwidth * work.flop / work.bytes);
  state.counters["gflops"] = work.flop / seconds * 1e-9;
  state.counters["peak_gflops"] = peak * 1e-9;
  state.counters["fraction"] = work.flop / seconds / peak;
  state.counters["best"] = work.flop / least / peak;
  state.counters["of_roof"] = work.flop / seconds / roof;
  state.counters["bytes_per_second"] = work.bytes / seconds;
  state.counters["tiles_visited"] =
      static_cast<double>(execution.tiles_full + execution.tiles_partial);
  state.SetLabel(plan->target);
}

// What a long sequence needs beside its tensors.
void RunMemory(benchmark::State& state) {
  Result<std::unique_ptr<Work>> work =
      Prepare("sq=65536 skv=65536 d=128 mask=causal");
  if (!work.ok()) return state.SkipWithError(work.message().c_str());
  const Work& at = *work.value();
  optimized::Caps caps;
  caps.threads = 1;
  const Result<optimized::Plan> plan =
      optimized::MakePlan(at.data.problem, caps);
  if (!plan.ok()) return state.SkipWithError(plan.message().c_str());
  const MemoryMark mark;
  double seconds = 0;
  for (auto _ : state) {
    const double start = Now();
    const Status status = optimized::AttentionForward(
        at.data.problem, at.data.inputs, plan.value(), at.out.view(), nullptr);
    if (!status.ok()) return state.SkipWithError(status.message().c_str());
    seconds = Now() - start;
  }
  const std::optional<double> extra = mark.Extra();
  if (!extra) return state.SkipWithError("no account of memory in /proc/self");
  if (!SampledRowsAreRight(at)) return state.SkipWithError("wrong answer");
  state.counters["gflops"] = at.flop / seconds * 1e-9;
  state.counters["tensor_bytes"] = at.bytes;
  state.counters["extra_bytes"] = *extra;
}

void RunPeak(benchmark::State& state, const std::string& target, bool bf16) {
  const int64_t bit = optimized::TargetBit(target);
  double flops = 0;
  for (auto _ : state) {
    flops = bf16 ? MeasureBf16DotPeak(bit, kPeakSeconds)
                 : MeasureFmaPeak(bit, kPeakSeconds);
  }
  state.counters["gflops"] = flops * 1e-9;
  state.counters["peak_gflops"] = flops * 1e-9;
  state.SetLabel(target);
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  std::string best;
  for (const optimized::Target& target : optimized::Targets()) {
    if (target.supported && best.empty()) best = target.name;
  }
  if (best.empty()) {
    std::fprintf(stderr, "this CPU supports none of the compiled targets\n");
    return 77;
  }
  for (const bool bf16 : {false, true}) {
    if (bf16 && MeasureBf16DotPeak(optimized::TargetBit(best), 0.001) == 0) {
      continue;
    }
    benchmark::RegisterBenchmark(
        bf16 ? "peak/bf16_dot" : "peak/f32_fma",
        [=](benchmark::State& state) { RunPeak(state, best, bf16); })
        ->Iterations(5);
  }
  std::vector<std::unique_ptr<Work>> works;
  for (const char* line : kLines) {
    Result<std::unique_ptr<Work>> work = Prepare(line);
    if (!work.ok()) {
      std::fprintf(stderr, "%s: %s\n", line, work.message().c_str());
      return 2;
    }
    works.push_back(std::move(work.value()));
    const Work* at = works.back().get();
    for (const int threads : {1, 2}) {
      benchmark::RegisterBenchmark(
          (at->line + "/threads:" + std::to_string(threads)).c_str(),
          [=](benchmark::State& state) { Run(state, *at, threads); })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RegisterBenchmark(
      "attention_forward sq=65536 skv=65536 d=128 mask=causal/memory",
      RunMemory)
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
  const lockstep::bench::WithoutLibraryWarning quiet;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) { return lockstep::bench::Main(argc, argv); }
