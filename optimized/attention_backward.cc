// Dispatch and threads of attention_backward; the kernels are in the -inl
// files.
#include "optimized/attention_backward.h"

#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimized/attention_backward.cc"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/attention_backward-inl.h"

#if HWY_ONCE

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "optimized/attention_backward_work.h"
#include "optimized/plan_check.h"
#include "reference/contract/team.h"

namespace lockstep::optimized {
namespace {

HWY_EXPORT(RunKeyTile);
HWY_EXPORT(PrepareRows);
HWY_EXPORT(FinishSink);
HWY_EXPORT(BackwardGeometry);

// Sums of a tile's keys are read and written once per tile of rows: twice as
// many of these as the forward pass has, and whole blocks of 6 and of 8. Beyond
// that nothing is gained (48 to 192 rows and 128 to 512 keys: within 5 %).
constexpr int64_t kTileRows = 96;

Status CheckBackwardPlan(const AttentionBackwardProblem& problem,
                         const Plan& plan) {
  const Status status = CheckPlanFits(problem.forward, plan);
  if (!status.ok()) return status;
  if (plan.native_dot || plan.fixed_m || plan.pack_ahead ||
      plan.blocks != BlockForm::kNone) {
    return Status::Error("the plan is not one of a backward pass: " +
                         plan.ToString());
  }
  return status;
}

BackwardWorker MakeWorker(const BackwardJob& job, const SparsePlan& sparse) {
  const AttentionForwardProblem& p = job.forward();
  BackwardWorker w;
  const auto size = [](int64_t rows, int64_t columns) {
    return static_cast<size_t>(rows * columns);
  };
  w.k.columns.resize(size(job.padded_keys(), p.head_dim));
  w.k.panels.resize(size(job.padded_keys(), job.padded_head()));
  w.v.columns.resize(size(job.padded_keys(), p.value_dim));
  w.dk.resize(size(job.key_rows(), job.padded_head()));
  w.dv.resize(size(job.key_rows(), job.padded_value()));
  w.q.columns.resize(size(job.padded_rows(), p.head_dim));
  w.q.panels.resize(size(job.padded_rows(), job.padded_head()));
  w.d_o.columns.resize(size(job.padded_rows(), p.value_dim));
  w.d_o.panels.resize(size(job.padded_rows(), job.padded_value()));
  w.dq.resize(size(job.padded_rows(), job.padded_head()));
  // Register tiles of keys may read beyond the last row.
  w.p.resize(static_cast<size_t>(job.padded_rows()) * job.score_stride());
  w.ds.resize(w.p.size());
  w.masks.emplace(p, job.inputs->forward, sparse.tiles);
  return w;
}

// All rows' L and D.
void Prepare(const BackwardJob& job, size_t target) {
  const AttentionForwardProblem& p = job.forward();
  const auto prepare = HWY_DISPATCH_TABLE(PrepareRows)[target];
  const int64_t tile = job.plan->tile_rows;
  const int64_t tiles = CeilDiv(p.q_len, tile);
  const auto prepare_tile = [&](int64_t item, int) {
    const int64_t head = item / tiles;
    const int64_t begin = item % tiles * tile;
    const int64_t end = std::min(begin + tile, job.Queries(head / p.q_heads));
    prepare(job, head / p.q_heads, head % p.q_heads, {begin, end});
  };
  ForEach(
      p.batch * p.q_heads * tiles, job.plan->threads,
      [](int thread) { return thread; }, prepare_tile);
}

// Maps task `item` of all key tiles of all kv heads to a kv head and a tile.
// Tasks alternate between as many heads as the team has threads. So each thread
// mostly works on a head of its own, although a tile waits for the one before
// it in its head (Wavefront).
std::pair<int64_t, int64_t> TaskAt(int64_t item, int64_t heads, int64_t tiles,
                                   int64_t team) {
  const int64_t first = item / (team * tiles) * team;
  const int64_t turns = std::min(team, heads - first);
  const int64_t turn = item % (team * tiles);
  return {first + turn % turns, turn / turns};
}

// Every key tile of every kv head. A tile is taken after those before it in its
// head, so that the one it waits for is running or done.
void RunKeyTiles(const BackwardJob& job, size_t target,
                 std::vector<BackwardWorker>& workers) {
  const auto run = HWY_DISPATCH_TABLE(RunKeyTile)[target];
  const int64_t tiles = job.plan->key_tiles;
  const int64_t kv_heads = job.forward().kv_heads;
  const int64_t heads = job.forward().batch * kv_heads;
  Wavefront wavefront(heads, tiles);
  std::atomic<int64_t> next = 0;
  const auto team = static_cast<int>(workers.size());
  const auto take_tasks = [&](int64_t, BackwardWorker* worker) {
    for (int64_t item = next++; item < heads * tiles; item = next++) {
      const auto [head, tile] = TaskAt(item, heads, tiles, team);
      run(job, {head / kv_heads, head % kv_heads, tile, head}, wavefront,
          *worker);
    }
  };
  // The team may be smaller than what was asked for.
  workers[0].counts.threads = ForEach(
      team, team,
      [&](int thread) { return &workers[static_cast<size_t>(thread)]; },
      take_tasks);
}

void FinishSinks(const BackwardJob& job, size_t target) {
  if (!job.forward().sink) return;
  const auto finish = HWY_DISPATCH_TABLE(FinishSink)[target];
  ForEach(
      job.forward().q_heads, job.plan->threads,
      [](int thread) { return thread; },
      [&](int64_t head, int) { finish(job, head); });
}

// The tensors already fit the problem, or the tables of a ragged batch.
Status RunCall(const AttentionBackwardProblem& problem,
               const AttentionBackwardInputs& inputs, const VarlenRows* varlen,
               const SparsePlan& sparse,
               const AttentionBackwardOutputs& outputs,
               AttentionBackwardExecution* execution) {
  const Plan& plan = sparse.plan;
  Status status = CheckBackwardPlan(problem, plan);
  if (status.ok()) status = CheckSparsePlan(problem.forward, sparse);
  if (!status.ok()) return status;
  const size_t target = DispatchIndex(TargetBit(plan.target));
  const AttentionForwardProblem& p = problem.forward;
  BackwardJob job;
  job.problem = &problem;
  job.inputs = &inputs;
  job.varlen = varlen;
  job.outputs = &outputs;
  job.plan = &plan;
  job.tiles = &sparse.tiles;
  job.geometry = HWY_DISPATCH_TABLE(BackwardGeometry)[target]();
  job.scale = MakeScoreScale(p);
  const int64_t count = job.all_rows();
  std::vector<BackwardRow> rows(static_cast<size_t>(count));
  std::vector<float> dq(static_cast<size_t>(count * job.padded_head()));
  job.rows = rows.data();
  job.dq = dq.data();
  std::vector<BackwardWorker> workers;
  // More than there are key tiles would have nothing to do.
  const int64_t team =
      std::min<int64_t>(plan.threads, p.batch * p.kv_heads * plan.key_tiles);
  while (static_cast<int64_t>(workers.size()) < team) {
    workers.push_back(MakeWorker(job, sparse));
  }
  Prepare(job, target);
  RunKeyTiles(job, target, workers);
  FinishSinks(job, target);
  if (execution == nullptr) return Status();
  *execution = AttentionBackwardExecution();
  execution->target = plan.target;
  for (const BackwardWorker& worker : workers) {
    const AttentionBackwardExecution& c = worker.counts;
    execution->threads = std::max(execution->threads, c.threads);
    execution->tiles_full += c.tiles_full;
    execution->tiles_partial += c.tiles_partial;
    execution->tiles_by_pair += c.tiles_by_pair;
  }
  return Status();
}

// Makes the plan's tiles and runs the call.
Status PlanAndRun(const AttentionBackwardProblem& problem,
                  const AttentionBackwardInputs& inputs,
                  const VarlenRows* varlen, const Plan& plan,
                  const AttentionBackwardOutputs& outputs,
                  AttentionBackwardExecution* execution) {
  const Status status = CheckBackwardPlan(problem, plan);
  if (!status.ok()) return status;
  const Result<SparsePlan> sparse =
      MakeSparsePlan(problem.forward, inputs.forward, plan);
  if (!sparse.ok()) return sparse.status();
  return RunCall(problem, inputs, varlen, sparse.value(), outputs, execution);
}

}  // namespace

Result<Plan> MakePlan(const AttentionBackwardProblem& problem,
                      const Caps& caps) {
  const Status status = Validate(problem);
  if (!status.ok()) return status;
  Caps tiles = caps;
  if (tiles.tile_rows == 0) tiles.tile_rows = kTileRows;
  Result<Plan> plan = MakePlan(problem.forward, tiles);
  if (!plan.ok()) return plan;
  plan->native_dot = plan->fixed_m = plan->pack_ahead = false;
  plan->kept_tiles = 0;
  return plan;
}

Status AttentionBackward(const AttentionBackwardProblem& problem,
                         const AttentionBackwardInputs& inputs,
                         const Plan& plan,
                         const AttentionBackwardOutputs& outputs,
                         AttentionBackwardExecution* execution) {
  const Status status = Validate(problem, inputs, outputs);
  if (!status.ok()) return status;
  return PlanAndRun(problem, inputs, nullptr, plan, outputs, execution);
}

Status AttentionBackward(const AttentionBackwardProblem& problem,
                         const AttentionBackwardInputs& inputs,
                         const VarlenRows& rows, const Plan& plan,
                         const AttentionBackwardOutputs& outputs,
                         AttentionBackwardExecution* execution) {
  const Status status = CheckVarlen(problem, inputs, rows, outputs);
  if (!status.ok()) return status;
  return PlanAndRun(problem, RowsOfTokens(inputs, problem), &rows, plan,
                    RowsOfTokens(outputs, problem), execution);
}

Status AttentionBackward(const AttentionBackwardProblem& problem,
                         const AttentionBackwardInputs& inputs,
                         const SparsePlan& sparse,
                         const AttentionBackwardOutputs& outputs,
                         AttentionBackwardExecution* execution) {
  AttentionBackwardProblem asked = problem;
  asked.forward = AskedOf(problem.forward, sparse);
  const Status status = Validate(asked, inputs, outputs);
  if (!status.ok()) return status;
  return RunCall(problem, inputs, nullptr, sparse, outputs, execution);
}

}  // namespace lockstep::optimized

#endif  // HWY_ONCE
