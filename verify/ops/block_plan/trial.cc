#include "verify/ops/block_plan/trial.h"

#include "optimized/block_pool.h"
#include "optimized/tile_plan.h"
#include "verify/base/status_macros.h"

namespace lockstep::verify {
namespace {

optimized::TileGrid GridOf(const BlockPlanCase& asked) {
  return {asked.q_len, asked.kv_len, asked.tile_q, asked.tile_k};
}

}  // namespace

Result<std::unique_ptr<Trial>> BlockPlanTrial::Open(
    const Case& c, const MaterialiseOptions& options) {
  ASSIGN_OR_RETURN(BlockPlanScene scene, OpenBlockPlan(c, options));
  return std::unique_ptr<Trial>(
      std::make_unique<BlockPlanTrial>(std::move(scene)));
}

KernelInputs BlockPlanTrial::Inputs() const {
  KernelInputs inputs = NameInputs(scene_.data.problem, scene_.data.inputs);
  KernelInputs named;
  named.op = "block_plan";
  AddMaskTensor(scene_, &named);
  if (!named.tensors.empty()) return named;
  // Too large to be written pair by pair: what else it is made of.
  inputs.op = named.op;
  for (const char* name : {"q", "k", "v", "sink"}) inputs.Drop(name);
  return inputs;
}

std::vector<Fact> BlockPlanTrial::Facts() const {
  const optimized::TileGrid grid = GridOf(scene_.asked);
  return {{"segment_ids", scene_.data.problem.segments ? "present" : "absent"},
          {"pairs", std::to_string(grid.q_len * grid.kv_len), true},
          {"tiles", std::to_string(grid.tiles()), true}};
}

int64_t BlockPlanTrial::rows() const {
  return GridOf(scene_.asked).rows() * scene_.mask.heads();
}

}  // namespace lockstep::verify
