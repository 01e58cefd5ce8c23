// Sparse attention beside dense attention of the same run: what an active tile
// costs more than a tile of the dense mask, and what planning costs.
//
// T = 32768, d = 128, bf16, one thread, about 10 % of the tiles active, in two
// patterns:
//   window    causal&window, element masks computed on partial tiles
//   selected  key blocks chosen by score, element masks stored
// Five rounds, each dense, then both patterns, then their planning; counters
// are medians, in CPU time: tile_ratio (sparse time per active tile / dense
// time per tile), planning_share (planning / (planning + run)), density,
// tiles_active (of the plan), tiles_visited, tiles_skipped (by the kernel, in
// its row tiles), target, met. Sampled rows are compared with the reference
// before anything is timed, and a run that visits more than the plan's active
// tiles is an error.
// Rows plan/131072 time planning by itself.
#include <time.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/quiet.h"
#include "benchmark/benchmark.h"
#include "optimized/attention_forward.h"
#include "optimized/block_pool.h"
#include "optimized/plan.h"
#include "optimized/selection.h"
#include "optimized/sparse_plan.h"
#include "optimized/tile_plan.h"
#include "reference/attention_forward.h"
#include "verify/base/tensor.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward_outputs.h"
#include "verify/registry/ops.h"

namespace lockstep::bench {
namespace {

constexpr int64_t kLength = 32768;
constexpr int64_t kTile = 256;
constexpr int64_t kTiles = kLength / kTile;
constexpr int64_t kSelected = 13;  // key blocks of a query tile: 10.2 %
constexpr int kRounds = 5;
constexpr double kTileTarget = 1.1;
constexpr double kPlanningTarget = 0.02;
constexpr double kLongTargetMs = 5;

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

// One pattern on the common tensors.
struct Pattern {
  std::string name;
  AttentionForwardProblem problem;
  optimized::SparsePlan sparse;
  optimized::AttentionForwardExecution execution;
  std::vector<double> run, planning;  // seconds, by round

  int64_t active() const {
    return sparse.tiles[0].patterns[0].by_query.active();
  }
  int64_t tiles() const { return sparse.tiles[0].grid.tiles(); }
};

// The key blocks with the best scores, the diagonal one in any case; the
// diagonal block is causal, all others are full.
optimized::SparsePlan PlanSelected(const optimized::Plan& plan,
                                   const std::vector<float>& scores) {
  optimized::TilePlan tiles;
  tiles.grid = {kLength, kLength, kTile, kTile};
  tiles.options = {.tile_q = kTile, .tile_k = kTile};
  optimized::BlockPoolBuilder pool(kTile, kTile);
  std::vector<optimized::BlockRange> triangle;
  for (int32_t r = 0; r < kTile; ++r) triangle.push_back({r, 0, r + 1});
  optimized::TilePattern pattern;
  optimized::TileList& list = pattern.by_query;
  for (int64_t row = 0; row < kTiles; ++row) {
    const auto begin = scores.begin() + row * kTiles;
    std::vector<float> of_row(begin, begin + kTiles);
    of_row[static_cast<size_t>(row)] = std::numeric_limits<float>::infinity();
    for (const int64_t col : optimized::TopScores(of_row, kSelected)) {
      const bool diagonal = col == row;
      list.inner.push_back(static_cast<int32_t>(col));
      list.classes.push_back(diagonal ? optimized::TileClass::kPartial
                                      : optimized::TileClass::kFull);
      list.block.push_back(diagonal ? pool.Add(triangle) : -1);
    }
    list.start.push_back(list.active());
  }
  pattern.by_key = Transpose(list, kTiles);
  tiles.patterns.push_back(std::move(pattern));
  tiles.head_pattern = {0};
  tiles.pool = pool.Take();
  return {plan, {std::move(tiles)}};
}

struct Measurement {
  verify::AttentionForwardData data;
  verify::AttentionForwardOutputBuffers out;
  std::vector<float> scores;
  std::vector<Pattern> patterns;  // dense, window, selected
  std::string error;
};

// The mask of one query as the stored tiles say it.
std::vector<uint8_t> StoredMask(const optimized::TilePlan& tiles, int64_t i) {
  const optimized::TileList& list = tiles.patterns[0].by_query;
  std::vector<uint8_t> mask(kLength);
  const auto row = static_cast<size_t>(i / kTile);
  for (int64_t n = list.start[row]; n < list.start[row + 1]; ++n) {
    const auto at = static_cast<size_t>(n);
    const bool full = list.classes[at] == optimized::TileClass::kFull;
    for (int64_t k = 0; k < kTile; ++k) {
      mask[static_cast<size_t>(list.inner[at] * kTile + k)] =
          full || tiles.pool.At(list.block[at], i % kTile, k);
    }
  }
  return mask;
}

bool RowIsRight(const Measurement& m, const Pattern& pattern, int64_t i) {
  AttentionForwardProblem problem = pattern.problem;
  AttentionForwardInputs inputs = m.data.inputs;
  std::vector<uint8_t> mask;
  int64_t query = i;
  const optimized::TilePlan& tiles = pattern.sparse.tiles[0];
  if (tiles.options.blocks) {  // the tiles are the mask: a problem of one row
    mask = StoredMask(tiles, i);
    query = 0;
    problem.q_len = 1;
    problem.masks[0] = MaskExpr();
    problem.masks[0].kind = MaskExpr::Kind::kDense;
    inputs.q.shape[2] = 1;
    inputs.q.data =
        static_cast<const Bf16*>(inputs.q.data) + i * inputs.q.strides[2];
    inputs.valid_q = {1};
    const std::array<int64_t, 4> shape{1, 1, 1, kLength};
    inputs.dense_masks = {{mask.data(), shape, DenseStrides(shape)}};
  }
  std::vector<float> o(static_cast<size_t>(problem.value_dim));
  float lse = 0;
  const Status done =
      reference::AttentionForwardRow(problem, inputs, {0, 0, query}, o, &lse);
  if (!done.ok()) return false;
  const AttentionForwardOutputs out = m.out.view();
  const auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  bool same = bits(out.lse(0, 0, i)) == bits(lse);
  for (size_t c = 0; c < o.size(); ++c) {
    const Bf16 produced = out.o.As<Bf16>()(0, 0, i, static_cast<int64_t>(c));
    same &= bits(ToFloat(produced)) == bits(o[c]);
  }
  return same;
}

Status Plan(Measurement* m, Pattern* pattern, const optimized::Plan& plan) {
  if (pattern->name == "selected") {
    pattern->sparse = PlanSelected(plan, m->scores);
    return Status();
  }
  Result<optimized::SparsePlan> sparse =
      MakeSparsePlan(pattern->problem, m->data.inputs, plan);
  if (!sparse.ok()) return sparse.status();
  pattern->sparse = std::move(sparse.value());
  return Status();
}

// Plans and runs once; times are appended.
Status Round(Measurement* m, Pattern* pattern) {
  optimized::Caps caps;
  caps.threads = 1;
  // Row tiles that the query tiles of the selection are a multiple of.
  if (pattern->name == "selected") caps.tile_rows = kTile;
  const Result<optimized::Plan> plan =
      optimized::MakePlan(pattern->problem, caps);
  if (!plan.ok()) return plan.status();
  const double start = CpuSeconds();
  Status status = Plan(m, pattern, plan.value());
  const double planned = CpuSeconds();
  if (status.ok()) {
    status = AttentionForward(pattern->problem, m->data.inputs, pattern->sparse,
                              m->out.view(), &pattern->execution);
  }
  pattern->planning.push_back(planned - start);
  pattern->run.push_back(CpuSeconds() - planned);
  return status;
}

Status Check(const Measurement& m, const Pattern& pattern) {
  const optimized::AttentionForwardExecution& ran = pattern.execution;
  const int64_t visited = ran.tiles_full + ran.tiles_partial;
  const int64_t row_tiles =
      pattern.sparse.tiles[0].grid.tile_q / pattern.sparse.plan.tile_rows;
  if (visited > pattern.active() * row_tiles) {
    return Status::Error(pattern.name + ": ran dense in disguise");
  }
  for (const int64_t i : {int64_t{0}, int64_t{300}, kLength / 2, kLength - 1}) {
    if (RowIsRight(m, pattern, i)) continue;
    return Status::Error(pattern.name + ": wrong answer, not timed");
  }
  return Status();
}

Status Measure(Measurement* m) {
  const Result<verify::Case> c = verify::ParseCase(
      "attention_forward sq=32768 skv=32768 d=128 lane=bf16 p=bf16");
  if (!c.ok()) return c.status();
  Result<verify::AttentionForwardData> data =
      verify::Materialise(c.value(), {});
  if (!data.ok()) return data.status();
  m->data = std::move(data.value());
  auto out = verify::AllocateOutputs(c->Get<verify::AttentionForwardCase>(), 0);
  if (!out.ok()) return out.status();
  m->out = std::move(out.value());
  // As good as random, like the queries they are taken from.
  const TensorView<const Bf16, 4> q = m->data.inputs.q.As<Bf16>();
  for (int64_t n = 0; n < kTiles * kTiles; ++n) {
    m->scores.push_back(ToFloat(q(0, 0, n / kTiles, n % kTiles)));
  }
  for (const char* name : {"dense", "window", "selected"}) {
    m->patterns.push_back({name, m->data.problem, {}, {}, {}, {}});
  }
  const Result<verify::Case> windowed = verify::ParseCase(
      "attention_forward sq=32768 skv=32768 d=128 "
      "mask=causal&window:2900,0");
  m->patterns[1].problem.masks = {
      windowed->Get<verify::AttentionForwardCase>().mask};
  for (int round = -1; round < kRounds; ++round) {
    for (Pattern& pattern : m->patterns) {
      if (round < 0 && pattern.name == "dense") continue;
      Status status = Round(m, &pattern);
      if (status.ok() && round < 0) {
        status = Check(*m, pattern);
        pattern.run.clear();
        pattern.planning.clear();
      }
      if (!status.ok()) return status;
    }
  }
  return Status();
}

void Report(benchmark::State& state, const Measurement& m, size_t n) {
  if (!m.error.empty()) return state.SkipWithError(m.error.c_str());
  const Pattern& pattern = m.patterns[n];
  const Pattern& dense = m.patterns[0];
  const double run = Median(pattern.run);
  const double planning = Median(pattern.planning);
  for (auto _ : state) state.SetIterationTime(run);
  // Per tile of equal area: the plans differ in the height of their tiles.
  const double share = static_cast<double>(pattern.active()) /
                       static_cast<double>(pattern.tiles());
  const double ratio = run / share / Median(dense.run);
  state.counters["density"] = share;
  state.counters["tile_ratio"] = ratio;
  state.counters["planning_share"] = planning / (planning + run);
  state.counters["planning_ms"] = planning * 1e3;
  state.counters["tiles_active"] = static_cast<double>(pattern.active());
  state.counters["tiles_visited"] = static_cast<double>(
      pattern.execution.tiles_full + pattern.execution.tiles_partial);
  state.counters["tiles_skipped"] =
      static_cast<double>(pattern.execution.tiles_empty);
  if (n == 0) return;
  state.counters["target"] = kTileTarget;
  state.counters["met"] =
      ratio <= kTileTarget && planning <= kPlanningTarget * (planning + run);
}

// Planning by itself: 131072 tokens in tiles of 256, three documents.
void PlanLong(benchmark::State& state, bool blocks) {
  const Result<verify::Case> c = verify::ParseCase(
      "attention_forward sq=131072 skv=131072 d=1 mask=causal&window:4096,0 "
      "q_seg=runs:50000,30000,51072 kv_seg=runs:50000,30000,51072");
  const Result<verify::AttentionForwardData> data =
      verify::Materialise(c.value(), {});
  if (!data.ok()) return state.SkipWithError(data.message().c_str());
  std::vector<double> seconds;
  int64_t active = 0;
  for (auto _ : state) {
    const double start = CpuSeconds();
    const Result<optimized::TilePlan> plan = optimized::PlanTiles(
        data->problem, data->inputs, 0, {.blocks = blocks});
    seconds.push_back(CpuSeconds() - start);
    active = plan->patterns[0].by_query.active();
  }
  const double ms = Median(seconds) * 1e3;
  state.counters["planning_ms"] = ms;
  state.counters["tiles_active"] = static_cast<double>(active);
  state.counters["target"] = kLongTargetMs;
  state.counters["met"] = ms <= kLongTargetMs;
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::vector<optimized::Target> targets = optimized::Targets();
  if (std::none_of(targets.begin(), targets.end(),
                   [](const auto& target) { return target.supported; })) {
    std::fprintf(stderr, "this CPU supports none of the compiled targets\n");
    return 77;
  }
  static const auto measured = [] {
    static Measurement measurement;
    static const Status status = Measure(&measurement);
    measurement.error = status.message();
    return &measurement;
  };
  for (size_t n = 0; n < 3; ++n) {
    const char* name = n == 0   ? "sparse/dense"
                       : n == 1 ? "sparse/window"
                                : "sparse/selected";
    benchmark::RegisterBenchmark(
        name, [n](benchmark::State& state) { Report(state, *measured(), n); })
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  for (const bool blocks : {false, true}) {
    benchmark::RegisterBenchmark(
        blocks ? "plan/131072/stored" : "plan/131072/computed",
        [blocks](benchmark::State& state) { PlanLong(state, blocks); })
        ->Iterations(50)
        ->Unit(benchmark::kMillisecond);
  }
  const lockstep::bench::WithoutLibraryWarning quiet;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) { return lockstep::bench::Main(argc, argv); }
