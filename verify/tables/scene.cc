#include "verify/tables/scene.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_plan.h"
#include "verify/base/status_macros.h"
#include "verify/case/block_plan.h"
#include "verify/tables/planner.h"

namespace lockstep::verify {
namespace {

using optimized::TileGrid;

// The visit of one tile by what its pairs say; none if it is empty.
void VisitTile(const BlockPlanScene& scene, int64_t head, int64_t row,
               int64_t col, PlanTrace* trace) {
  const TileGrid& g = trace->grid;
  TracedPass& forward = trace->forward[0];
  const int64_t first_key = col * g.tile_k;
  const int64_t visible =
      scene.mask.PairsIn(head, RangeOf(row, g.tile_q), RangeOf(col, g.tile_k));
  if (visible == 0) return;
  const int64_t in_range = std::min(g.tile_q, g.q_len - row * g.tile_q) *
                           std::min(g.tile_k, g.kv_len - col * g.tile_k);
  const bool full =
      visible == (scene.asked.padded ? g.tile_q * g.tile_k : in_range);
  int64_t block = 0;
  if (!full && scene.asked.blocks) {
    block = forward.pool.Append();
    for (int64_t r = 0; r < g.tile_q; ++r) {
      for (const KeyRange& keys : scene.mask.Keys(
               head, row * g.tile_q + r, first_key, first_key + g.tile_k)) {
        const int64_t end = std::min(keys.end - first_key, g.tile_k);
        for (int64_t c = std::max<int64_t>(keys.begin - first_key, 0); c < end;
             ++c) {
          forward.pool.Set(block, r, c, true);
        }
      }
    }
  }
  const int64_t state = full ? 2 : 1;
  const auto h = static_cast<size_t>(head);
  forward.heads[h].visits.push_back({row, col, state, block, {}});
  trace->transposed[0].heads[h].visits.push_back({col, row, state, block, {}});
}

void StoreAll(int64_t head, TracedPass* pass) {
  TracedHead& traced = pass->heads[static_cast<size_t>(head)];
  traced.table = head;
  std::stable_sort(
      traced.visits.begin(), traced.visits.end(),
      [](const TileVisit& a, const TileVisit& b) { return a.outer < b.outer; });
  for (int64_t o = pass->outer_begin; o < pass->outer_end; ++o) {
    traced.stored.push_back(o);
  }
}

}  // namespace

Result<BlockPlanScene> OpenBlockPlan(const Case& c,
                                     const MaterialiseOptions& options) {
  ASSIGN_OR_RETURN(AttentionForwardData data, Materialise(c, options));
  const BlockPlanCase& asked = c.Get<BlockPlanCase>();
  // Only now the ids of files are known.
  const int64_t places =
      PlacesToAsk(data.problem, data.inputs, 0, asked.segments);
  if (places > kMaxPlanPlaces) {
    return Status::Error("block_plan: the mask may change at " +
                         std::to_string(places) +
                         " places, which are too many to check; at most " +
                         std::to_string(kMaxPlanPlaces));
  }
  IntendedMask mask =
      IntendedMask::Of(data.problem, data.inputs, 0, asked.segments);
  return BlockPlanScene{asked, std::move(data), std::move(mask), c};
}

void AddMaskTensor(const BlockPlanScene& scene, KernelInputs* inputs) {
  const IntendedMask& mask = scene.mask;
  const int64_t pairs = mask.q_len() * mask.kv_len();
  if (pairs > kMaxPlanPlaces / mask.heads()) return;
  std::vector<uint8_t> bits(static_cast<size_t>(mask.heads() * pairs));
  for (int64_t h = 0; h < mask.heads(); ++h) {
    for (int64_t i = 0; i < mask.q_len(); ++i) {
      const auto row = bits.begin() + h * pairs + i * mask.kv_len();
      for (const KeyRange& keys : mask.Keys(h, i)) {
        std::fill(row + keys.begin, row + keys.end, 1);
      }
    }
  }
  inputs->AddBytes("mask", ElementType::kU8,
                   {mask.heads(), mask.q_len(), mask.kv_len()},
                   std::move(bits));
}

RunOutcome PlanByOptimized(const BlockPlanScene& scene, PlanTrace* trace) {
  return PlanWith({}, scene, trace);
}

RunOutcome PlanByReference(const BlockPlanScene& scene, PlanTrace* trace) {
  const BlockPlanCase& c = scene.asked;
  *trace = PlanTrace();
  trace->grid = {c.q_len, c.kv_len, c.tile_q, c.tile_k};
  trace->boundary = TileOptionsOf(c).boundary;
  trace->computed = !c.blocks;
  trace->forward.push_back(WholePass(trace->grid, false, c.q_heads));
  trace->transposed.push_back(WholePass(trace->grid, true, c.q_heads));
  trace->forward[0].pool = {c.tile_q, c.tile_k, {}};
  for (int64_t h = 0; h < c.q_heads; ++h) {
    for (int64_t row = 0; row < trace->grid.rows(); ++row) {
      for (int64_t col = 0; col < trace->grid.cols(); ++col) {
        VisitTile(scene, h, row, col, trace);
      }
    }
    StoreAll(h, &trace->forward[0]);
    StoreAll(h, &trace->transposed[0]);
  }
  trace->transposed[0].pool = Transpose(trace->forward[0].pool);
  return {};
}

}  // namespace lockstep::verify
