#include "verify/ops/block_plan/trial.h"

#include "optimized/block_pool.h"
#include "optimized/tile_plan.h"

namespace lockstep::verify {
namespace {

optimized::TileGrid GridOf(const BlockPlanCase& asked) {
  return {asked.q_len, asked.kv_len, asked.tile_q, asked.tile_k};
}

}  // namespace

Result<std::unique_ptr<Trial>> BlockPlanTrial::Open(
    const Case& c, const MaterialiseOptions& options) {
  Result<BlockPlanScene> scene = OpenBlockPlan(c, options);
  if (!scene.ok()) return scene.status();
  return std::unique_ptr<Trial>(
      std::make_unique<BlockPlanTrial>(std::move(scene.value())));
}

KernelInputs BlockPlanTrial::Inputs() const {
  const IntendedMask& mask = scene_.mask;
  std::vector<uint8_t> bits;
  for (int64_t h = 0; h < mask.heads(); ++h) {
    for (int64_t i = 0; i < mask.q_len(); ++i) {
      for (int64_t j = 0; j < mask.kv_len(); ++j) {
        bits.push_back(mask.At(h, i, j) ? 1 : 0);
      }
    }
  }
  KernelInputs inputs;
  inputs.op = "block_plan";
  inputs.AddBytes("mask", ElementType::kU8,
                  {mask.heads(), mask.q_len(), mask.kv_len()}, std::move(bits));
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
