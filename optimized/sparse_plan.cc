#include "optimized/sparse_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "optimized/plan.h"
#include "optimized/tile_plan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "reference/contract/team.h"

namespace lockstep::optimized {
namespace {

Status Refuse(size_t batch, const std::string& what) {
  return Status::Error("tile plan of batch row " + std::to_string(batch) +
                       ": " + what);
}

// Whether a list has the outer extent and names inner tiles and blocks that
// there are.
bool ListFits(const TileList& list, const TilePlan& tiles, int64_t outer,
              int64_t inner) {
  if (list.outer() != outer || list.start.front() != 0 ||
      list.start.back() != list.active() ||
      !std::is_sorted(list.start.begin(), list.start.end()) ||
      list.classes.size() != list.inner.size() ||
      list.block.size() != list.inner.size()) {
    return false;
  }
  for (size_t at = 0; at < list.inner.size(); ++at) {
    const bool stored =
        tiles.options.blocks && list.classes[at] == TileClass::kPartial;
    const bool block =
        !stored || (list.block[at] >= 0 && list.block[at] < tiles.pool.size());
    if (!block || list.inner[at] < 0 || list.inner[at] >= inner) return false;
  }
  for (int64_t o = 0; o < outer; ++o) {
    const auto at = list.inner.begin();
    const auto begin = at + list.start[static_cast<size_t>(o)];
    const auto end = at + list.start[static_cast<size_t>(o) + 1];
    if (std::adjacent_find(begin, end, std::greater_equal<>()) != end) {
      return false;
    }
  }
  return true;
}

// Whether each list is the other's transpose. Requires: both fit.
bool NamesTheSameTiles(const TilePattern& pattern) {
  const TileList& query = pattern.by_query;
  const TileList& key = pattern.by_key;
  if (query.active() != key.active()) return false;
  std::vector<int64_t> next(key.start.begin(), key.start.end() - 1);
  for (int64_t o = 0; o < query.outer(); ++o) {
    const auto row = static_cast<size_t>(o);
    for (int64_t n = query.start[row]; n < query.start[row + 1]; ++n) {
      const auto i = static_cast<size_t>(query.inner[static_cast<size_t>(n)]);
      const int64_t at = next[i]++;
      if (at >= key.start[i + 1] || key.inner[static_cast<size_t>(at)] != o) {
        return false;
      }
    }
  }
  return true;
}

Status CheckTiles(const AttentionForwardProblem& problem, const Plan& plan,
                  const TilePlan& tiles, size_t batch) {
  const TileGrid& grid = tiles.grid;
  if (grid.q_len != problem.q_len || grid.kv_len != problem.kv_len ||
      grid.tile_q < 1) {
    return Refuse(batch, "it is for " + std::to_string(grid.q_len) + "x" +
                             std::to_string(grid.kv_len) +
                             " pairs, the problem has " +
                             std::to_string(problem.q_len) + "x" +
                             std::to_string(problem.kv_len));
  }
  if (grid.tile_k != plan.tile_keys) {
    return Refuse(batch, "tiles of " + std::to_string(grid.tile_k) +
                             " keys; the plan has " +
                             std::to_string(plan.tile_keys));
  }
  if (problem.segments && !tiles.options.segments) {
    return Refuse(batch, "it does not account for the segment ids");
  }
  const BlockPool& pool = tiles.pool;
  if (tiles.options.blocks && pool.size() > 0 &&
      (pool.rows != grid.tile_q || pool.cols != grid.tile_k)) {
    return Refuse(batch, "its blocks are not as large as its tiles");
  }
  const auto patterns = static_cast<int32_t>(tiles.patterns.size());
  if (static_cast<int64_t>(tiles.head_pattern.size()) != problem.q_heads ||
      !std::all_of(tiles.head_pattern.begin(), tiles.head_pattern.end(),
                   [&](int32_t p) { return p >= 0 && p < patterns; })) {
    return Refuse(batch, "it does not name a pattern for every query head");
  }
  for (const TilePattern& pattern : tiles.patterns) {
    if (!ListFits(pattern.by_query, tiles, grid.rows(), grid.cols()) ||
        !ListFits(pattern.by_key, tiles, grid.cols(), grid.rows())) {
      return Refuse(batch, "a list does not fit the grid");
    }
    // Keys are packed by one list and read by the other.
    if (!NamesTheSameTiles(pattern)) {
      return Refuse(batch, "its lists by query and by key name other tiles");
    }
  }
  return Status();
}

}  // namespace

Result<SparsePlan> MakeSparsePlan(const AttentionForwardProblem& problem,
                                  const AttentionForwardInputs& inputs,
                                  const Plan& plan) {
  TileOptions options;
  options.tile_q = std::min(plan.tile_rows, problem.q_len);
  options.tile_k = plan.tile_keys;
  options.blocks = false;
  SparsePlan sparse{plan, {}};
  sparse.tiles.resize(static_cast<size_t>(problem.batch));
  const Status status = CheckTileOptions(problem, options);
  if (!status.ok()) return status;
  ForEach(
      problem.batch, plan.threads, [](int thread) { return thread; },
      [&](int64_t b, int) {
        // The options are all that PlanTiles can refuse.
        sparse.tiles[static_cast<size_t>(b)] =
            std::move(PlanTiles(problem, inputs, b, options).value());
      });
  return sparse;
}

Status CheckSparsePlan(const AttentionForwardProblem& problem,
                       const SparsePlan& sparse) {
  if (static_cast<int64_t>(sparse.tiles.size()) != problem.batch) {
    return Status::Error(
        "tile plans of " + std::to_string(sparse.tiles.size()) +
        " batch rows; the problem has " + std::to_string(problem.batch));
  }
  for (size_t b = 0; b < sparse.tiles.size(); ++b) {
    const Status status = CheckTiles(problem, sparse.plan, sparse.tiles[b], b);
    if (!status.ok()) return status;
  }
  return Status();
}

}  // namespace lockstep::optimized
