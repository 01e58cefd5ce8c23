// The scan, as a ratio to the f32 peak of the same run. Flop: 7 for each state
// element and token (SISO), 1 + 6 r with r ranks, whatever the algorithm does
// for them. Every row but that of the long sequence is checked against the
// reference before it is timed, exact ones bit for bit; times are medians.
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
#include "bench/scan_work.h"
#include "benchmark/benchmark.h"
#include "optimized/mamba3_scan.h"
#include "optimized/plan.h"
#include "optimized/simd/targets.h"
#include "reference/contract/mamba3_scan.h"

namespace lockstep::bench {
namespace {

using Problem = Mamba3ScanProblem;

constexpr double kPeakSeconds = 0.05;

// Bias, skip, a quarter of n as angles; no gate.
Problem Siso(int64_t length, int64_t heads) {
  Problem p;
  p.length = length;
  p.heads = heads;
  p.state_dim = 128;
  p.head_dim = 64;
  p.angles = 32;
  p.bias = p.skip = true;
  return p;
}

Problem Mimo(int64_t length, int64_t heads) {
  Problem p = Siso(length, heads);
  p.variant = Problem::Variant::kMimo;
  p.ranks = 4;
  p.gate = p.reduce = true;
  return p;
}

Problem Step(int64_t batch, int64_t heads) {
  Problem p = Siso(1, heads);
  p.batch = batch;
  p.carry_in = true;
  return p;
}

Problem OfBf16(Problem p) {
  p.lane = Lane::kBf16;
  return p;
}

struct Row {
  std::string name;
  Problem problem;
  int64_t chunk = 0;  // 0: exact
};

std::vector<Row> Rows() {
  const std::string siso = "mamba3_scan siso t=2048 h=4 n=128 p=64";
  const std::string bf16 = siso + " lane=bf16";
  const std::string chunked = " algorithm=chunked chunk=";
  return {
      {siso, Siso(2048, 4)},
      {bf16, OfBf16(Siso(2048, 4))},
      {siso + chunked + "16", Siso(2048, 4), 16},
      {bf16 + chunked + "16", OfBf16(Siso(2048, 4)), 16},
      {bf16 + chunked + "64", OfBf16(Siso(2048, 4)), 64},
      {"mamba3_scan mimo r=4 gate t=1024 h=4 n=128 p=64", Mimo(1024, 4)},
      {"mamba3_step b=8 h=32 n=128 p=64", Step(8, 32)},
  };
}

// The reference's bits; a chunked y within what its roundings can make of one
// of a memory of some ten tokens.
bool IsRight(ScanWork& work, const Row& row) {
  if (row.chunk == 0) return work.HasReferenceBits();
  return work.RelativeError() < (row.problem.lane == Lane::kF32 ? 1e-5 : 1e-2);
}

void Run(benchmark::State& state, const Row& row, int threads) {
  ScanWork work(row.problem);
  optimized::Mamba3ScanCaps caps;
  caps.threads = threads;
  caps.chunk = row.chunk;
  if (row.chunk > 0) caps.algorithm = optimized::Mamba3Algorithm::kChunked;
  optimized::Mamba3ScanExecution execution;
  if (!work.Run(caps, &execution).ok() || !IsRight(work, row)) {
    return state.SkipWithError("wrong answer: not timed");
  }
  if (row.problem.carry_in) work.ChainCarry();
  const int64_t target = optimized::TargetBit(execution.target);
  const double before = MeasureFmaPeak(target, kPeakSeconds);
  std::vector<double> seconds;
  for (auto _ : state) {
    const double start = Now();
    const Status status = work.Run(caps, &execution);
    benchmark::DoNotOptimize(&status);
    seconds.push_back(Now() - start);
  }
  const double peak =
      (before + MeasureFmaPeak(target, kPeakSeconds)) / 2 * threads;
  const double median = Median(std::move(seconds));
  state.counters["gflops"] = work.Flop() / median * 1e-9;
  state.counters["peak_gflops"] = peak * 1e-9;
  state.counters["fraction"] = work.Flop() / median / peak;
  state.counters["bytes_per_second"] = work.Bytes() / median;
  state.SetLabel(execution.target);
}

// What a long scan needs beside its inputs and outputs.
void RunMemory(benchmark::State& state) {
  ScanWork work(Siso(65536, 1));
  optimized::Mamba3ScanCaps caps;
  caps.threads = 1;
  const MemoryMark mark;
  double seconds = 0;
  for (auto _ : state) {
    const double start = Now();
    const Status status = work.Run(caps, nullptr);
    benchmark::DoNotOptimize(&status);
    seconds = Now() - start;
  }
  const std::optional<double> extra = mark.Extra();
  if (!extra) return state.SkipWithError("no account of memory in /proc/self");
  state.counters["gflops"] = work.Flop() / seconds * 1e-9;
  state.counters["tensor_bytes"] = work.Bytes();
  state.counters["extra_bytes"] = *extra;
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  bool supported = false;
  for (const optimized::Target& target : optimized::Targets()) {
    supported |= target.supported;
  }
  if (!supported) {
    std::fprintf(stderr, "this CPU supports none of the compiled targets\n");
    return 77;
  }
  for (const Row& row : Rows()) {
    for (const int threads : {1, 2}) {
      benchmark::RegisterBenchmark(
          (row.name + "/threads:" + std::to_string(threads)).c_str(),
          [=](benchmark::State& state) { Run(state, row, threads); })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RegisterBenchmark("mamba3_scan siso t=65536 h=1 n=128 p=64/memory",
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
