#include "verify/tables/memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "optimized/tile_grid.h"
#include "reference/contract/limits.h"

namespace lockstep::verify {
namespace {

using optimized::TileClass;
using optimized::TileList;
using optimized::TileOptions;

// Of an active tile: 9 bytes in the lists of either direction, which grow by
// doubling while the other is made; 43 were measured.
constexpr int64_t kTileBytes = 48;

// Tiles that are looked at without a thought.
constexpr int64_t kFewTiles = int64_t{1} << 20;

int64_t TilesOf(const AttentionForwardProblem& p, const TileOptions& tiles) {
  const optimized::TileGrid grid{p.q_len, p.kv_len, tiles.tile_q, tiles.tile_k};
  return grid.tiles();  // lengths are below 2^27
}

// Rows and heads that may have lists of their own.
int64_t ListsOf(const AttentionForwardProblem& p) {
  return p.batch * static_cast<int64_t>(p.masks.size());
}

// Bytes of the element masks of a partial tile, a bit each, in whole words.
int64_t BlockBytes(const TileOptions& tiles) {
  return tiles.blocks ? tiles.tile_q * ((tiles.tile_k + 63) / 64) * 8 : 0;
}

Status TooMany(const AttentionForwardProblem& p, const TileOptions& tiles,
               int64_t bytes, int64_t max_bytes) {
  return Status::Error("tiles of " + std::to_string(tiles.tile_q) + " x " +
                       std::to_string(tiles.tile_k) + " on " +
                       std::to_string(p.q_len) + " x " +
                       std::to_string(p.kv_len) + " take more than " +
                       std::to_string(bytes >> 20) + " MiB, above the " +
                       std::to_string(max_bytes >> 20) +
                       " MiB that there are; take larger tiles");
}

// Active tiles that there are at least and at most, where tiles `ratio` times
// as large have `list`.
struct Bounds {
  int64_t least = 0;
  int64_t most = 0;
};

Bounds BoundsOf(const TileList& list, int64_t cols, int64_t ratio) {
  Bounds bounds;
  for (int64_t o = 0; o < list.outer(); ++o) {
    for (auto n = list.start[static_cast<size_t>(o)];
         n < list.start[static_cast<size_t>(o) + 1]; ++n) {
      const auto at = static_cast<size_t>(n);
      // A full one is made of full ones; at the edges of fewer.
      const bool inside = o + 1 < list.outer() && list.inner[at] + 1 < cols;
      const bool full = list.classes[at] == TileClass::kFull;
      bounds.least += full && inside ? ratio : 1;
      bounds.most += ratio;
    }
  }
  return bounds;
}

}  // namespace

Status CheckPlanMemory(const AttentionForwardProblem& problem,
                       const AttentionForwardInputs& inputs,
                       const TileOptions& tiles, int64_t max_bytes) {
  const int64_t most_bytes = kTileBytes + BlockBytes(tiles);
  const int64_t room = max_bytes / ListsOf(problem) / most_bytes;
  if (TilesOf(problem, tiles) <= room) return {};
  TileOptions coarse = tiles;
  coarse.blocks = false;
  while (TilesOf(problem, coarse) > kFewTiles) {
    coarse.tile_q = std::min(2 * coarse.tile_q, kMaxLength);
    coarse.tile_k = std::min(2 * coarse.tile_k, kMaxLength);
  }
  while (true) {
    // Heads share lists more often than not: those of one alone are certain.
    const TileList list = ClassifyTiles(problem, inputs, 0, 0, coarse);
    const int64_t cols = (problem.kv_len + coarse.tile_k - 1) / coarse.tile_k;
    const int64_t ratio =
        (coarse.tile_q / tiles.tile_q) * (coarse.tile_k / tiles.tile_k);
    const Bounds bounds = BoundsOf(list, cols, ratio);
    if (bounds.most <= room) return {};
    int64_t bytes = kTileBytes * bounds.least;
    if (ratio == 1) {
      bytes += BlockBytes(tiles) * list.Count(TileClass::kPartial);
    }
    if (bytes > max_bytes) return TooMany(problem, tiles, bytes, max_bytes);
    if (ratio == 1) return {};
    coarse.tile_q = std::max(coarse.tile_q / 2, tiles.tile_q);
    coarse.tile_k = std::max(coarse.tile_k / 2, tiles.tile_k);
  }
}

}  // namespace lockstep::verify
