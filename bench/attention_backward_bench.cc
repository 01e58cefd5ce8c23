// attention_backward as a fraction of the f32 FMA peak of the same run.
//
// Each row is a case line of attention_forward (docs/cases.md), of which these
// are the gradients; o and lse are the forward kernel's. Gradients of sampled
// queries and keys are checked against the reference before anything is timed:
// a wrong answer is not timed. Work counts visible pairs only, five products
// each: 2 * (3 d + 2 dv) flop. Counters, of the median run:
//   gflops, fraction    of peak_gflops (the mean of right before and right
//                       after, times the threads)
//   best                fraction of the fastest run: neighbours of a shared
//                       machine take the rest
//   tiles_visited
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/peak.h"
#include "bench/quiet.h"
#include "benchmark/benchmark.h"
#include "optimized/attention_backward.h"
#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "optimized/row_keys.h"
#include "optimized/simd/targets.h"
#include "reference/attention_backward.h"
#include "reference/contract/attention_backward.h"
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
    "sq=4096 skv=4096 d=64 mask=causal cap=50",
    "sq=4096 skv=4096 d=128 mask=causal&window:1024,0 cap=50",
    "hq=8 hkv=8 sq=1024 skv=1024 d=128 mask=causal cap=50",
    "hq=8 hkv=1 sq=1024 skv=1024 d=128 mask=causal cap=50",
};

// A case with its tensors; heap-held, because benchmarks outlive main's locals.
struct Work {
  std::string line;
  verify::AttentionForwardData data;
  verify::AttentionForwardData cotangent;  // its q is do: d = dv
  verify::AttentionForwardOutputBuffers forward;
  AttentionBackwardProblem problem;
  std::vector<float> dq, dk, dv;
  double flop = 0;

  AttentionBackwardInputs Inputs() const {
    const AttentionForwardOutputs out = forward.view();
    AttentionBackwardInputs in;
    in.forward = data.inputs;
    in.o = {out.o.data, out.o.lane, out.o.shape, out.o.strides};
    in.lse = {out.lse.data, out.lse.shape, out.lse.strides};
    in.d_o = cotangent.inputs.q;
    return in;
  }
  AttentionBackwardOutputs Gradients() {
    const auto view = [](std::vector<float>& x, const LaneView& like) {
      x.resize(static_cast<size_t>(like.shape[0] * like.shape[1] *
                                   like.shape[2] * like.shape[3]));
      return MutableLaneView{x.data(), Lane::kF32, like.shape,
                             DenseStrides(like.shape)};
    };
    return {view(dq, data.inputs.q),
            view(dk, data.inputs.k),
            view(dv, data.inputs.v),
            {}};
  }
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
  const Result<verify::Case> other = verify::ParseCase(line + " seed=2");
  if (!other.ok()) return other.status();
  auto work = std::make_unique<Work>();
  work->line = "attention_backward " + keys;
  Result<verify::AttentionForwardData> data =
      verify::Materialise(parsed.value(), {});
  Result<verify::AttentionForwardData> cotangent =
      verify::Materialise(other.value(), {});
  if (!data.ok() || !cotangent.ok()) return data.status();
  work->data = std::move(data.value());
  work->cotangent = std::move(cotangent.value());
  Result<verify::AttentionForwardOutputBuffers> out =
      verify::AllocateOutputs(parsed->Get<verify::AttentionForwardCase>(), 0);
  if (!out.ok()) return out.status();
  work->forward = std::move(out.value());
  work->problem.forward = work->data.problem;
  const AttentionForwardProblem& p = work->data.problem;
  const Result<optimized::Plan> plan = optimized::MakePlan(p, {});
  if (!plan.ok()) return plan.status();
  const Status status = optimized::AttentionForward(
      p, work->data.inputs, plan.value(), work->forward.view(), nullptr);
  if (!status.ok()) return status;
  work->flop = VisiblePairs(*work) *
               static_cast<double>(2 * (3 * p.head_dim + 2 * p.value_dim));
  return work;
}

// Rows `count` from `first` on, of a view [batch, head, position, ..].
template <class View>
void Narrow(View& view, int64_t first, int64_t count) {
  const auto bytes = [&](auto* data, int64_t size) {
    return reinterpret_cast<decltype(data)>(
        reinterpret_cast<uintptr_t>(data) +
        static_cast<uintptr_t>(first * view.strides[2] * size));
  };
  if constexpr (requires { view.lane; }) {
    view.data = bytes(view.data, static_cast<int64_t>(LaneBytes(view.lane)));
  } else {
    view.data = bytes(view.data, 4);
  }
  view.shape[2] = count;
}

bool SameRow(const LaneView& expected, int64_t at, const MutableLaneView& got,
             int64_t position) {
  for (int64_t h = 0; h < got.shape[1]; ++h) {
    for (int64_t c = 0; c < got.shape[3]; ++c) {
      const float x = expected.As<float>()(0, h, at, c);
      const float y = got.As<float>()(0, h, position, c);
      if (std::bit_cast<uint32_t>(x) != std::bit_cast<uint32_t>(y)) {
        return false;
      }
    }
  }
  return true;
}

// The gradients of one query (as if there were no other: dq), or of one key (dk
// and dv), bit for bit. A shift of either moves the masks of kLines, too.
bool IsRight(Work& work, bool query, int64_t at) {
  AttentionBackwardProblem problem = work.problem;
  AttentionBackwardInputs in = work.Inputs();
  AttentionForwardProblem& p = problem.forward;
  const int64_t offset = in.forward.Offset(p, 0);
  p.align = {Alignment::Kind::kOffset, query ? offset + at : offset - at};
  (query ? p.q_len : p.kv_len) = 1;
  if (query) {
    Narrow(in.forward.q, at, 1);
    Narrow(in.o, at, 1);
    Narrow(in.d_o, at, 1);
    Narrow(in.lse, at, 1);
  } else {
    Narrow(in.forward.k, at, 1);
    Narrow(in.forward.v, at, 1);
  }
  Work one;
  one.data.inputs = in.forward;
  const AttentionBackwardOutputs expected = one.Gradients();
  if (!reference::AttentionBackward(problem, in, expected).ok()) return false;
  const AttentionBackwardOutputs got = work.Gradients();
  const auto same = [&](const MutableLaneView& x, const MutableLaneView& y) {
    return SameRow({x.data, x.lane, x.shape, x.strides}, 0, y, at);
  };
  return query ? same(expected.dq, got.dq)
               : same(expected.dk, got.dk) && same(expected.dv, got.dv);
}

bool SamplesAreRight(Work& work) {
  for (int64_t n = 0; n < 4; ++n) {
    const AttentionForwardProblem& p = work.data.problem;
    if (!IsRight(work, true, n * (p.q_len - 1) / 3) ||
        !IsRight(work, false, n * (p.kv_len - 1) / 3)) {
      return false;
    }
  }
  return true;
}

void Run(benchmark::State& state, Work& work, int threads) {
  optimized::Caps caps;
  caps.threads = threads;
  const Result<optimized::Plan> plan = optimized::MakePlan(work.problem, caps);
  if (!plan.ok()) return state.SkipWithError(plan.message().c_str());
  const AttentionBackwardInputs in = work.Inputs();
  const AttentionBackwardOutputs out = work.Gradients();
  optimized::AttentionBackwardExecution execution;
  const auto run = [&] {
    return optimized::AttentionBackward(work.problem, in, plan.value(), out,
                                        &execution);
  };
  if (!run().ok() || !SamplesAreRight(work)) {
    return state.SkipWithError("wrong answer: not timed");
  }
  const int64_t target = optimized::TargetBit(plan->target);
  const double before = MeasureFmaPeak(target, kPeakSeconds);
  std::vector<double> samples;
  for (auto _ : state) {
    const double start = Now();
    const Status status = run();
    benchmark::DoNotOptimize(&status);
    samples.push_back(Now() - start);
  }
  const double least = *std::min_element(samples.begin(), samples.end());
  const double seconds = Median(std::move(samples));
  const double peak =
      (before + MeasureFmaPeak(target, kPeakSeconds)) / 2 * threads;
  state.counters["gflops"] = work.flop / seconds * 1e-9;
  state.counters["peak_gflops"] = peak * 1e-9;
  state.counters["fraction"] = work.flop / seconds / peak;
  state.counters["best"] = work.flop / least / peak;
  state.counters["tiles_visited"] =
      static_cast<double>(execution.tiles_full + execution.tiles_partial);
  state.SetLabel(plan->target);
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  std::vector<std::unique_ptr<Work>> works;
  for (const char* line : kLines) {
    Result<std::unique_ptr<Work>> work = Prepare(line);
    if (!work.ok()) {
      std::fprintf(stderr, "%s: %s\n", line, work.message().c_str());
      return 2;
    }
    works.push_back(std::move(work.value()));
    Work* at = works.back().get();
    for (const int threads : {1, 2}) {
      benchmark::RegisterBenchmark(
          (at->line + "/threads:" + std::to_string(threads)).c_str(),
          [=](benchmark::State& state) { Run(state, *at, threads); })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  const lockstep::bench::WithoutLibraryWarning quiet;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) { return lockstep::bench::Main(argc, argv); }
