// Longer than 400 lines: dispatch and threads of a call; kernels are in -inl.h.
#include "optimized/attention_forward.h"

#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimized/attention_forward.cc"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/attention_forward-inl.h"
#include "optimized/attention_split-inl.h"

#if HWY_ONCE

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optimized/attention_key_scales.h"
#include "optimized/attention_native_dot.h"
#include "optimized/attention_panels.h"
#include "optimized/attention_plan.h"
#include "optimized/attention_work.h"
#include "optimized/matrix_unit.h"
#include "optimized/plan_check.h"
#include "reference/contract/team.h"

namespace lockstep::optimized {
namespace {

HWY_EXPORT(RunRows);
HWY_EXPORT(SumPart);
HWY_EXPORT(MergeParts);
HWY_EXPORT(PackTile);
HWY_EXPORT(KernelGeometry);

// Ragged rows of at most this many keys are packed if they fill a vector. In
// place, documents of 16 tokens took 1.25 to 1.4 of that time (AVX3, AVX3_SPR),
// and documents of 8 took 1.0 to 1.15 (AVX2). From 64 keys on neither form is
// faster.
constexpr int64_t kShortDocument = 32;

// Whether ragged rows are packed that could be read in place: rows and keys
// fill three quarters of a vector on average.
bool PacksDocuments(const AttentionJob& job) {
  const AttentionForwardProblem& p = *job.problem;
  const int64_t lanes = job.geometry.lanes;
  if (job.varlen == nullptr || p.kv_len > kShortDocument || lanes < 8) {
    return false;
  }
  const int64_t least = 3 * p.batch * lanes;
  return 4 * p.group() * job.varlen->cu_q(p.batch) >= least &&
         4 * job.varlen->cu_kv(p.batch) >= least;
}

AttentionJob MakeJob(const AttentionForwardProblem& problem,
                     const AttentionForwardInputs& inputs, const Places& places,
                     const SparsePlan& sparse,
                     const AttentionForwardOutputs& outputs, size_t target) {
  const Plan& plan = sparse.plan;
  AttentionJob job;
  job.problem = &problem;
  job.inputs = &inputs;
  job.pages = places.pages;
  job.varlen = places.varlen;
  if (job.pages != nullptr || job.varlen != nullptr) {
    job.zeros.resize(
        static_cast<size_t>(std::max(problem.head_dim, problem.value_dim)));
  }
  job.outputs = &outputs;
  job.plan = &plan;
  job.geometry = HWY_DISPATCH_TABLE(KernelGeometry)[target]();
  job.scale = MakeScoreScale(problem);
  job.head_scales = MakeHeadScales(problem, inputs);
  if (NativeDotWorks(plan.target)) job.dot = TheNativeDot();
  if (job.matrix()) job.geometry.row_block = kMatrixRows;
  job.padded_keys = RoundUp(plan.tile_keys, job.geometry.panel());
  job.weight_stride =
      job.padded_keys + (job.matrix() ? 2 * job.geometry.lanes : 0);
  job.padded_values = RoundUp(problem.value_dim, job.geometry.lanes);
  // A packed tile pays off from about two vectors of rows on; read in place,
  // rows fill one vector at most.
  job.direct = !plan.pack_ahead && !plan.native_dot && !PacksDocuments(job) &&
               plan.blocks == BlockForm::kNone &&
               problem.group() * problem.q_len <= job.geometry.lanes &&
               problem.head_dim <= kDirectHeadDim && inputs.k.strides[3] == 1 &&
               inputs.v.strides[3] == 1;
  job.tiles = &sparse.tiles;
  return job;
}

// kv heads [begin, end) of the batch * kv_heads of the call.
struct HeadRange {
  int64_t begin = 0;
  int64_t end = 0;
};

void PackRound(const AttentionJob& job, HeadRange heads, size_t target,
               PackedHeads& packed) {
  const auto pack = HWY_DISPATCH_TABLE(PackTile)[target];
  const int64_t tiles = job.plan->key_tiles;
  const int64_t kv_heads = job.problem->kv_heads;
  const auto pack_tile = [&](int64_t item, int) {
    const int64_t head = heads.begin + item / tiles;
    const int64_t tile = item % tiles;
    if (!IsVisited(job, head / kv_heads, head % kv_heads, tile)) return;
    pack(job, head / kv_heads, head % kv_heads, tile,
         packed[head - heads.begin].tiles[static_cast<size_t>(tile)]);
  };
  ForEach((heads.end - heads.begin) * tiles, job.plan->threads,
          [](int thread) { return thread; }, pack_tile);
}

// Row tile `number` of the call's head `head`. The tile is empty if the batch
// row has fewer queries than others.
RowTile RowTileOf(const AttentionJob& job, int64_t head, int64_t number) {
  const int64_t batch = head / job.problem->kv_heads;
  const int64_t rows = job.problem->group() * job.Queries(batch);
  const int64_t first = number * job.plan->tile_rows;
  return {batch, head % job.problem->kv_heads, first,
          std::clamp<int64_t>(rows - first, 0, job.plan->tile_rows)};
}

// body(item, worker) for every item. The team may be smaller than what was
// asked for.
template <class Body>
void ForEachItem(const AttentionJob& job, int64_t items,
                 std::vector<Worker>& workers, const Body& body) {
  const int team = ForEach(
      items, job.plan->threads,
      [&](int thread) { return &workers[static_cast<size_t>(thread)]; }, body);
  workers[0].counts.threads = std::max(workers[0].counts.threads, team);
}

void RunRound(const AttentionJob& job, HeadRange heads, size_t target,
              PackedHeads& packed, std::vector<Worker>& workers) {
  const auto run = HWY_DISPATCH_TABLE(RunRows)[target];
  const int64_t tiles = job.plan->row_tiles;
  const auto run_tile = [&](int64_t item, Worker* worker) {
    const int64_t head = heads.begin + item / tiles;
    // Last rows first: under a causal mask they have the most keys, and the
    // short ones fill the gaps at the end.
    const RowTile tile = RowTileOf(job, head, tiles - 1 - item % tiles);
    if (tile.rows > 0) run(job, tile, packed[head - heads.begin], *worker);
  };
  ForEachItem(job, (heads.end - heads.begin) * tiles, workers, run_tile);
}

// Packs a few heads, then runs their row tiles, and so on: enough row tiles a
// round to keep the workers even; memory stays O(kv_len * channels).
void RunPackedAhead(const AttentionJob& job, int64_t heads, size_t target,
                    std::vector<Worker>& workers) {
  const int64_t round = std::clamp<int64_t>(
      CeilDiv(16 * job.plan->threads, job.plan->row_tiles), 1, heads);
  PackedHeads packed(job, round);
  for (int64_t begin = 0; begin < heads; begin += round) {
    const HeadRange range{begin, std::min(begin + round, heads)};
    PackRound(job, range, target, packed);
    RunRound(job, range, target, packed, workers);
  }
}

// Every worker packs for itself what its pieces of heads need.
void RunPiecewise(const AttentionJob& job, int64_t heads, int64_t kept,
                  size_t target, std::vector<Worker>& workers) {
  const auto run = HWY_DISPATCH_TABLE(RunRows)[target];
  for (Worker& worker : workers) MakeRoom(job, kept, worker);
  const PackedHead none;
  const std::vector<int64_t> order = RowTilesByQuery(job);
  const int64_t tiles = job.plan->row_tiles;
  const int64_t size = RowTilesOfAPiece(job);
  const int64_t pieces = CeilDiv(tiles, size);
  const auto run_piece = [&](int64_t item, Worker* worker) {
    const int64_t begin = item % pieces * size;
    const int64_t end = std::min(begin + size, tiles);
    const auto tile = [&](int64_t at) {
      return RowTileOf(job, item / pieces, order[static_cast<size_t>(at)]);
    };
    for (int64_t at = begin; at < end; ++at) {
      worker->next = at + 1 < end ? tile(at + 1) : RowTile();
      const RowTile own = tile(at);
      if (own.rows > 0) run(job, own, none, *worker);
    }
  };
  ForEachItem(job, heads * pieces, workers, run_piece);
}

// N22: row tiles [tiles.begin, tiles.end) of the call, the sums of their parts
// first. `packed`: the heads from head `first` on, or null. `sums`: room for
// [row tile][part].
void RunTilesInParts(const AttentionJob& job, Range tiles, size_t target,
                     PackedHeads* packed, int64_t first,
                     std::vector<PartSums>& sums,
                     std::vector<Worker>& workers) {
  const auto sum = HWY_DISPATCH_TABLE(SumPart)[target];
  const auto merge = HWY_DISPATCH_TABLE(MergeParts)[target];
  const int64_t parts = job.problem->parts();
  const int64_t row_tiles = job.plan->row_tiles;
  const int64_t count = tiles.end - tiles.begin;
  const PackedHead none;
  const auto tile_of = [&](int64_t n) {
    const int64_t number = tiles.begin + n;
    return RowTileOf(job, number / row_tiles, number % row_tiles);
  };
  const auto sums_of = [&](int64_t n) {
    return std::span(&sums[static_cast<size_t>(n * parts)],
                     static_cast<size_t>(parts));
  };
  // Row tile by row tile at a part: they have its keys in common.
  const auto sum_part = [&](int64_t item, Worker* worker) {
    const int64_t part = item / count;
    const int64_t n = item % count;
    const int64_t head = (tiles.begin + n) / row_tiles - first;
    const RowTile tile = tile_of(n);
    if (tile.rows == 0) return;
    sum(job, tile, part, packed == nullptr ? none : (*packed)[head], *worker,
        sums_of(n)[static_cast<size_t>(part)]);
  };
  ForEachItem(job, count * parts, workers, sum_part);
  ForEachItem(job, count, workers, [&](int64_t n, Worker* worker) {
    const RowTile tile = tile_of(n);
    if (tile.rows > 0) merge(job, tile, sums_of(n), *worker);
  });
}

// The most f32 sums of parts that stay in a cache until their rows are joined.
constexpr int64_t kRoundElements = int64_t{1} << 20;

// Row tiles whose parts are summed, and then put together, at a time: as many
// as a cache keeps, because each round waits for its last part, and enough to
// keep the workers even.
int64_t RowTilesOfARound(const AttentionJob& job, int64_t all) {
  const int64_t parts = job.problem->parts();
  const int64_t elements = parts * job.plan->tile_rows * job.padded_values;
  const int64_t even = CeilDiv(16 * job.plan->threads, parts);
  return std::clamp<int64_t>(std::max(kRoundElements / elements, even), 1, all);
}

// N22, round by round.
void RunInParts(const AttentionJob& job, int64_t heads, size_t target,
                std::vector<Worker>& workers) {
  const int64_t row_tiles = job.plan->row_tiles;
  const int64_t round = RowTilesOfARound(job, heads * row_tiles);
  std::vector<PartSums> sums(static_cast<size_t>(round * job.problem->parts()));
  const bool ahead = job.plan->pack_ahead;
  const int64_t heads_a_round =
      ahead ? std::clamp<int64_t>(CeilDiv(16 * job.plan->threads, row_tiles), 1,
                                  heads)
            : heads;
  std::optional<PackedHeads> packed;
  if (ahead) {
    packed.emplace(job, heads_a_round);
  } else {
    for (Worker& worker : workers) MakeRoom(job, job.direct ? 0 : 1, worker);
  }
  for (int64_t begin = 0; begin < heads; begin += heads_a_round) {
    const HeadRange range{begin, std::min(begin + heads_a_round, heads)};
    if (packed) PackRound(job, range, target, *packed);
    const int64_t end = range.end * row_tiles;
    for (int64_t tile = begin * row_tiles; tile < end; tile += round) {
      RunTilesInParts(job, {tile, std::min(tile + round, end)}, target,
                      packed ? &*packed : nullptr, begin, sums, workers);
    }
  }
}

void AddCounts(const Worker& worker, AttentionForwardExecution& total) {
  const AttentionForwardExecution& c = worker.counts;
  total.threads = std::max(total.threads, c.threads);
  total.tiles_empty += c.tiles_empty;
  total.tiles_full += c.tiles_full;
  total.tiles_partial += c.tiles_partial;
  total.tiles_native_dot += c.tiles_native_dot;
  total.tiles_native_values += c.tiles_native_values;
  total.tiles_matrix += c.tiles_matrix;
  total.tiles_in_place += c.tiles_in_place;
  total.tiles_kept += c.tiles_kept;
  total.rows_fixed += c.rows_fixed;
  total.rows_online += c.rows_online;
  total.rows_redone += c.rows_redone;
  total.rows_empty += c.rows_empty;
}

// Runs the call. Requires: its arguments were checked.
void RunJob(const AttentionJob& job, size_t target,
            AttentionForwardExecution* execution) {
  const AttentionForwardProblem& problem = *job.problem;
  const Plan& plan = *job.plan;
  std::vector<Worker> workers(static_cast<size_t>(plan.threads));
  for (Worker& worker : workers) {
    worker.masks.emplace(problem, *job.inputs, *job.tiles);
  }
  const int64_t heads = problem.batch * problem.kv_heads;
  if (problem.parts() > 1) {
    RunInParts(job, heads, target, workers);
  } else if (const bool keeps = KeepsTiles(job); keeps || !plan.pack_ahead) {
    const int64_t kept = keeps ? plan.kept_tiles : 1;
    RunPiecewise(job, heads, job.direct ? 0 : kept, target, workers);
  } else {
    RunPackedAhead(job, heads, target, workers);
  }
  if (execution == nullptr) return;
  *execution = AttentionForwardExecution();
  execution->target = plan.target;
  execution->products = ProductsOf(plan);
  for (const Worker& worker : workers) AddCounts(worker, *execution);
}

// The tensors already fit the problem and the places.
Status RunCall(const AttentionForwardProblem& problem,
               const AttentionForwardInputs& inputs, const Places& places,
               const SparsePlan& sparse, const AttentionForwardOutputs& outputs,
               AttentionForwardExecution* execution) {
  Status status = CheckAttentionPlan(problem, sparse.plan);
  if (status.ok()) status = CheckSparsePlan(problem, sparse);
  if (!status.ok()) return status;
  const size_t target = DispatchIndex(TargetBit(sparse.plan.target));
  RunJob(MakeJob(problem, inputs, places, sparse, outputs, target), target,
         execution);
  return status;
}

// Makes the plan's tiles and runs the call. Requires: checked tensors.
Status PlanAndRun(const AttentionForwardProblem& problem,
                  const AttentionForwardInputs& inputs, const Places& places,
                  const Plan& plan, const AttentionForwardOutputs& outputs,
                  AttentionForwardExecution* execution) {
  const Status status = CheckAttentionPlan(problem, plan);
  if (!status.ok()) return status;
  const Result<SparsePlan> sparse = MakeSparsePlan(problem, inputs, plan);
  if (!sparse.ok()) return sparse.status();
  return RunCall(problem, inputs, places, sparse.value(), outputs, execution);
}

}  // namespace

bool NativeDotWorks(const std::string& target) {
  return target == hwy::TargetName(HWY_AVX3) && TheNativeDot() != nullptr;
}

bool TakesMatrixUnit(const std::string& target) {
  const int64_t bit = TargetBit(target);
  return bit != 0 &&
         2 * HWY_DISPATCH_TABLE(KernelGeometry)[DispatchIndex(bit)]().lanes ==
             kMatrixColumns;
}

Status AttentionForward(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs, const Plan& plan,
                        const AttentionForwardOutputs& outputs,
                        AttentionForwardExecution* execution) {
  const Status status = Validate(problem, inputs, outputs);
  if (!status.ok()) return status;
  return PlanAndRun(problem, inputs, {}, plan, outputs, execution);
}

Status AttentionForward(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs,
                        const KeyPages& pages, const Plan& plan,
                        const AttentionForwardOutputs& outputs,
                        AttentionForwardExecution* execution) {
  const AttentionForwardInputs all = WithoutPages(inputs, problem, pages);
  Status status = Validate(problem, all, outputs);
  if (status.ok()) status = CheckKeyPages(problem, all, pages);
  if (!status.ok()) return status;
  return PlanAndRun(problem, all, {.pages = &pages}, plan, outputs, execution);
}

Status AttentionForward(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs,
                        const VarlenRows& rows, const Plan& plan,
                        const AttentionForwardOutputs& outputs,
                        AttentionForwardExecution* execution) {
  const Status status = CheckVarlen(problem, inputs, rows, outputs);
  if (!status.ok()) return status;
  return PlanAndRun(problem, RowsOfTokens(inputs, problem), {.varlen = &rows},
                    plan, RowsOfTokens(outputs, problem), execution);
}

Status AttentionForward(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs,
                        const SparsePlan& sparse,
                        const AttentionForwardOutputs& outputs,
                        AttentionForwardExecution* execution) {
  const Status status = Validate(AskedOf(problem, sparse), inputs, outputs);
  if (!status.ok()) return status;
  return RunCall(problem, inputs, {}, sparse, outputs, execution);
}

Status AttentionForwardStates(const AttentionForwardProblem& problem,
                              const AttentionForwardInputs& inputs,
                              WeightSize size, const Plan& plan,
                              const AttentionStates& states,
                              AttentionForwardExecution* execution) {
  Status status = Validate(problem, inputs, states);
  if (status.ok()) status = CheckAttentionPlan(problem, plan);
  if (!status.ok()) return status;
  const Result<SparsePlan> sparse = MakeSparsePlan(problem, inputs, plan);
  if (!sparse.ok()) return sparse.status();
  const size_t target = DispatchIndex(TargetBit(plan.target));
  const StatesJob asked{states, size};
  const TensorView<float, 4>& acc = states.acc;
  const AttentionForwardOutputs outputs{
      {acc.data, Lane::kF32, acc.shape, acc.strides}, states.l};
  AttentionJob job =
      MakeJob(problem, inputs, {}, sparse.value(), outputs, target);
  job.states = &asked;
  RunJob(job, target, execution);
  return status;
}

}  // namespace lockstep::optimized

#endif  // HWY_ONCE
