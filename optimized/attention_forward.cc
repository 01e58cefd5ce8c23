// Dispatch and threads of attention_forward; the kernels are in the -inl files.
#include "optimized/attention_forward.h"

#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimized/attention_forward.cc"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/attention_forward-inl.h"

#if HWY_ONCE

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "optimized/attention_work.h"
#include "optimized/matrix_unit.h"
#include "optimized/plan_check.h"
#include "reference/contract/team.h"

namespace lockstep::optimized {
namespace {

HWY_EXPORT(RunRows);
HWY_EXPORT(PackKeyTile);
HWY_EXPORT(KernelGeometry);
HWY_EXPORT(DotInstructionWorks);

AttentionJob MakeJob(const AttentionForwardProblem& problem,
                     const AttentionForwardInputs& inputs,
                     const SparsePlan& sparse,
                     const AttentionForwardOutputs& outputs, size_t target) {
  const Plan& plan = sparse.plan;
  AttentionJob job;
  job.problem = &problem;
  job.inputs = &inputs;
  job.outputs = &outputs;
  job.plan = &plan;
  job.geometry = HWY_DISPATCH_TABLE(KernelGeometry)[target]();
  job.scale = MakeScoreScale(problem);
  if (job.matrix()) job.geometry.row_block = kMatrixRows;
  job.padded_keys = RoundUp(plan.tile_keys, job.geometry.panel());
  job.weight_stride =
      job.padded_keys + (job.matrix() ? 2 * job.geometry.lanes : 0);
  job.padded_values = RoundUp(problem.value_dim, job.geometry.lanes);
  // A packed tile pays off from about two vectors of rows on; read in place,
  // rows fill one vector at most.
  job.direct = !plan.pack_ahead && !plan.native_dot &&
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

// Packed panels of a few kv heads at a time, reused from round to round.
class PackedHeads {
 public:
  PackedHeads(const AttentionJob& job, int64_t heads)
      : memory_(Allocate<float>(heads * job.plan->key_tiles *
                                (job.k_elements() + job.v_elements()))),
        pairs_(Allocate<uint32_t>(
            heads * job.plan->key_tiles *
            (job.k_pair_elements() + job.v_pair_elements()))),
        heads_(static_cast<size_t>(heads)) {
    auto* next = reinterpret_cast<float*>(memory_.get());
    auto* pairs = reinterpret_cast<uint32_t*>(pairs_.get());
    for (PackedHead& head : heads_) {
      for (int64_t t = 0; t < job.plan->key_tiles; ++t) {
        PackedTile& tile = head.tiles.emplace_back();
        tile.k = next;
        tile.v = next + job.k_elements();
        tile.k_pairs = pairs;
        tile.v_pairs = pairs + job.k_pair_elements();
        next += job.k_elements() + job.v_elements();
        pairs += job.k_pair_elements() + job.v_pair_elements();
      }
    }
  }
  PackedHead& operator[](int64_t head) {
    return heads_[static_cast<size_t>(head)];
  }

 private:
  // Not cleared: a tile is read only after all of it was packed.
  struct alignas(HWY_ALIGNMENT) Line {
    uint8_t bytes[HWY_ALIGNMENT];
  };
  using Memory = std::unique_ptr<Line[]>;
  template <typename T>
  static Memory Allocate(int64_t count) {
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    return std::make_unique_for_overwrite<Line[]>(
        static_cast<size_t>(CeilDiv(bytes, sizeof(Line))));
  }

  Memory memory_;
  Memory pairs_;
  std::vector<PackedHead> heads_;
};

// Whether any query head of the kv head visits the key tile.
bool IsVisited(const AttentionJob& job, int64_t batch, int64_t kv_head,
               int64_t key_tile) {
  const TilePlan& tiles = (*job.tiles)[static_cast<size_t>(batch)];
  const int64_t group = job.problem->group();
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    if (tiles.pattern(head).by_key.ActiveOf(key_tile) > 0) return true;
  }
  return false;
}

void PackRound(const AttentionJob& job, HeadRange heads, size_t target,
               PackedHeads& packed) {
  const auto pack = HWY_DISPATCH_TABLE(PackKeyTile)[target];
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

void RunRound(const AttentionJob& job, HeadRange heads, size_t target,
              PackedHeads* packed, std::vector<Worker>& workers) {
  const auto run = HWY_DISPATCH_TABLE(RunRows)[target];
  const int64_t tiles = job.plan->row_tiles;
  const int64_t kv_heads = job.problem->kv_heads;
  const int64_t rows = job.problem->group() * job.problem->q_len;
  const PackedHead none;
  const auto run_tile = [&](int64_t item, Worker* worker) {
    const int64_t head = heads.begin + item / tiles;
    // Last rows first: under a causal mask they have the most keys, and the
    // short ones fill the gaps at the end.
    const int64_t first = (tiles - 1 - item % tiles) * job.plan->tile_rows;
    const RowTile tile{head / kv_heads, head % kv_heads, first,
                       std::min(job.plan->tile_rows, rows - first)};
    run(job, tile, packed ? (*packed)[head - heads.begin] : none, *worker);
  };
  // The team may be smaller than what was asked for.
  workers[0].counts.threads =
      ForEach((heads.end - heads.begin) * tiles, job.plan->threads,
              [&](int thread) { return &workers[static_cast<size_t>(thread)]; },
              run_tile);
}

void AddCounts(const Worker& worker, AttentionForwardExecution& total) {
  const AttentionForwardExecution& c = worker.counts;
  total.threads = std::max(total.threads, c.threads);
  total.tiles_empty += c.tiles_empty;
  total.tiles_full += c.tiles_full;
  total.tiles_partial += c.tiles_partial;
  total.tiles_native_dot += c.tiles_native_dot;
  total.tiles_matrix += c.tiles_matrix;
  total.tiles_in_place += c.tiles_in_place;
  total.rows_fixed += c.rows_fixed;
  total.rows_online += c.rows_online;
  total.rows_redone += c.rows_redone;
  total.rows_empty += c.rows_empty;
}

// Blocks and order=amx go together; tiles hold whole blocks (N20).
Status CheckBlocks(const AttentionForwardProblem& problem, const Plan& plan) {
  const bool blocks = plan.blocks != BlockForm::kNone;
  const bool matrix = plan.blocks == BlockForm::kMatrix;
  if (blocks != (problem.order == ProductOrder::kAmx) ||
      (blocks && plan.tile_keys % kProductBlock != 0) ||
      (blocks && plan.native_dot)) {
    return Status::Error(std::string("the plan is not one of order=") +
                         OrderName(problem.order) + ": " + plan.ToString());
  }
  if (matrix && !(TheMatrixUnit().usable && TakesMatrixUnit(plan.target))) {
    return Status::Error("the plan wants a matrix unit that is not there: " +
                         plan.ToString());
  }
  return Status();
}

Status CheckPlan(const AttentionForwardProblem& problem, const Plan& plan) {
  const Status status = CheckPlanFits(problem, plan);
  if (!status.ok()) return status;
  if (plan.fixed_m && !AllowsFixedPath(problem)) {
    return Status::Error("the fixed path needs a small softcap: " +
                         plan.ToString());
  }
  if (plan.native_dot && problem.lane != Lane::kBf16) {
    return Status::Error("native dot needs bf16 lanes: " + plan.ToString());
  }
  return CheckBlocks(problem, plan);
}

// Who forms the products of order=amx, and if not the matrix unit, why.
std::string Products(const Plan& plan) {
  if (plan.blocks == BlockForm::kNone) return "";
  if (plan.blocks == BlockForm::kMatrix) return "matrix unit";
  const MatrixUnit& unit = TheMatrixUnit();
  return "emulation: " +
         (!unit.usable ? unit.why_not
          : TakesMatrixUnit(plan.target)
              ? "the matrix unit is not wanted"
              : "no kernels for the matrix unit on " + plan.target);
}

}  // namespace

bool NativeDotWorks(const std::string& target) {
  const int64_t bit = TargetBit(target);
  if (!IsSupported(bit)) return false;
  return HWY_DISPATCH_TABLE(DotInstructionWorks)[DispatchIndex(bit)]();
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
  Status status = Validate(problem, inputs, outputs);
  if (status.ok()) status = CheckPlan(problem, plan);
  if (!status.ok()) return status;
  const Result<SparsePlan> sparse = MakeSparsePlan(problem, inputs, plan);
  if (!sparse.ok()) return sparse.status();
  return AttentionForward(problem, inputs, sparse.value(), outputs, execution);
}

Status AttentionForward(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs,
                        const SparsePlan& sparse,
                        const AttentionForwardOutputs& outputs,
                        AttentionForwardExecution* execution) {
  const Plan& plan = sparse.plan;
  Status status = Validate(AskedOf(problem, sparse), inputs, outputs);
  if (status.ok()) status = CheckPlan(problem, plan);
  if (status.ok()) status = CheckSparsePlan(problem, sparse);
  if (!status.ok()) return status;
  const size_t target = DispatchIndex(TargetBit(plan.target));
  const AttentionJob job = MakeJob(problem, inputs, sparse, outputs, target);
  std::vector<Worker> workers(static_cast<size_t>(plan.threads));
  for (Worker& worker : workers) {
    worker.masks.emplace(problem, inputs, sparse.tiles);
    if (plan.pack_ahead || job.direct) continue;
    worker.k.resize(static_cast<size_t>(job.k_elements()));
    worker.v.resize(static_cast<size_t>(job.v_elements()));
    worker.k_pairs.resize(static_cast<size_t>(job.k_pair_elements()));
    worker.v_pairs.resize(static_cast<size_t>(job.v_pair_elements()));
  }
  // Enough row tiles a round to keep the workers even; memory stays
  // O(kv_len * channels) for the few heads of a round.
  const int64_t heads = problem.batch * problem.kv_heads;
  const int64_t round =
      std::clamp<int64_t>(CeilDiv(16 * plan.threads, plan.row_tiles), 1, heads);
  PackedHeads packed(job, plan.pack_ahead ? round : 0);
  for (int64_t begin = 0; begin < heads; begin += round) {
    const HeadRange range{begin, std::min(begin + round, heads)};
    if (plan.pack_ahead) PackRound(job, range, target, packed);
    RunRound(job, range, target, plan.pack_ahead ? &packed : nullptr, workers);
  }
  if (execution == nullptr) return Status();
  *execution = AttentionForwardExecution();
  execution->target = plan.target;
  execution->products = Products(plan);
  for (const Worker& worker : workers) AddCounts(worker, *execution);
  return Status();
}

}  // namespace lockstep::optimized

#endif  // HWY_ONCE
