#include "verify/plan_scene.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_plan.h"
#include "reference/contract/attention_forward.h"
#include "verify/intended_mask.h"

namespace lockstep::verify {
namespace {

using optimized::BlockRange;
using optimized::TileClass;
using optimized::TileGrid;

// Visible elements of a tile of head 0, one range an element's run.
std::vector<BlockRange> Elements(const IntendedMask& mask, const TileGrid& g,
                                 int64_t row, int64_t col) {
  std::vector<BlockRange> ranges;
  for (int32_t r = 0; r < g.tile_q; ++r) {
    bool open = false;
    for (int32_t c = 0; c < g.tile_k; ++c) {
      const bool seen = mask.At(0, row * g.tile_q + r, col * g.tile_k + c);
      if (seen && !open) ranges.push_back({r, c, c + 1});
      if (seen) ranges.back().end = c + 1;
      open = seen;
    }
  }
  return ranges;
}

TileClass TrueClass(const IntendedMask& mask, const TileGrid& g,
                    optimized::Boundary boundary, int64_t row, int64_t col) {
  int64_t visible = 0;
  for (const BlockRange& range : Elements(mask, g, row, col)) {
    visible += range.end - range.begin;
  }
  const int64_t whole = boundary == optimized::Boundary::kPadded
                            ? g.tile_q * g.tile_k
                            : std::min(g.tile_q, g.q_len - row * g.tile_q) *
                                  std::min(g.tile_k, g.kv_len - col * g.tile_k);
  if (visible == 0) return TileClass::kEmpty;
  return visible == whole ? TileClass::kFull : TileClass::kPartial;
}

}  // namespace

PlanScene MakeScene(const TileGrid& grid, int64_t heads,
                    const PairVisible& visible,
                    optimized::TileOptions options) {
  PlanScene scene{IntendedMask(heads, grid.q_len, grid.kv_len), {}};
  std::vector<uint8_t> bits;
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t i = 0; i < grid.q_len; ++i) {
      for (int64_t j = 0; j < grid.kv_len; ++j) {
        scene.mask.Set(h, i, j, visible(h, i, j));
        bits.push_back(visible(h, i, j));
      }
    }
  }
  AttentionForwardProblem problem;
  problem.q_heads = heads;
  problem.q_len = grid.q_len;
  problem.kv_len = grid.kv_len;
  problem.masks[0].kind = MaskExpr::Kind::kDense;
  AttentionForwardInputs inputs;
  const std::array<int64_t, 4> shape{1, heads, grid.q_len, grid.kv_len};
  inputs.dense_masks.push_back({bits.data(), shape, DenseStrides(shape)});
  options.tile_q = grid.tile_q;
  options.tile_k = grid.tile_k;
  scene.plan = std::move(PlanTiles(problem, inputs, 0, options).value());
  return scene;
}

optimized::TilePlan Judged(const PlanScene& scene, const TileJudge& judge) {
  optimized::TilePlan plan = scene.plan;
  const TileGrid& g = plan.grid;
  optimized::BlockPoolBuilder pool(g.tile_q, g.tile_k);
  optimized::TileList list;
  for (int64_t row = 0; row < g.rows(); ++row) {
    for (int64_t col = 0; col < g.cols(); ++col) {
      const TileClass c = judge(
          row, col, TrueClass(scene.mask, g, plan.options.boundary, row, col));
      if (c == TileClass::kEmpty) continue;
      list.inner.push_back(static_cast<int32_t>(col));
      list.classes.push_back(c);
      list.block.push_back(c == TileClass::kPartial
                               ? pool.Add(Elements(scene.mask, g, row, col))
                               : -1);
    }
    list.start.push_back(list.active());
  }
  plan.patterns[0] = {list, Transpose(list, g.cols())};
  plan.pool = pool.Take();
  return plan;
}

}  // namespace lockstep::verify
