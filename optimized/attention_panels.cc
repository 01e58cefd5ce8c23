#include "optimized/attention_panels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "optimized/tile_plan.h"

namespace lockstep::optimized {
namespace {

// Cuts memory into tiles, one after another.
class PanelTiles {
 public:
  PanelTiles(const AttentionJob& job, int64_t tiles, PanelMemory* elements,
             PanelMemory* pairs)
      : job_(job) {
    elements_ = Allocate<float>(tiles * (job.k_elements() + job.v_elements()),
                                elements);
    pairs_ = Allocate<uint32_t>(
        tiles * (job.k_pair_elements() + job.v_pair_elements()), pairs);
  }

  PackedTile operator()() {
    PackedTile tile;
    tile.k = Take(job_.k_elements(), &elements_);
    tile.v = Take(job_.v_elements(), &elements_);
    tile.k_pairs = Take(job_.k_pair_elements(), &pairs_);
    tile.v_pairs = Take(job_.v_pair_elements(), &pairs_);
    return tile;
  }

 private:
  template <typename T>
  static T* Allocate(int64_t count, PanelMemory* memory) {
    *memory = std::make_unique_for_overwrite<PanelLine[]>(static_cast<size_t>(
        CeilDiv(count * static_cast<int64_t>(sizeof(T)), sizeof(PanelLine))));
    return reinterpret_cast<T*>(memory->get());
  }
  template <typename T>
  static T* Take(int64_t count, T** next) {
    T* const taken = *next;
    *next += count;
    return taken;
  }

  const AttentionJob& job_;
  float* elements_;
  uint32_t* pairs_;
};

// Whether one head agrees to KeepsTiles: walks the key tiles of its queries in
// the order of RowTilesByQuery. `slots`: the tile in each, emptied where a
// piece begins.
bool HeadKeepsTiles(const AttentionJob& job, int64_t batch, int64_t kv_head,
                    int64_t pieces, std::vector<int64_t>& slots) {
  const TilePlan& tiles = (*job.tiles)[static_cast<size_t>(batch)];
  const int64_t group = job.problem->group();
  const int64_t rows = tiles.grid.rows();
  int64_t ahead = 0;  // tiles to pack, each once
  for (int64_t t = 0; t < job.plan->key_tiles; ++t) {
    ahead += IsVisited(job, batch, kv_head, t);
  }
  int64_t packed = 0;
  int64_t piece = -1;
  for (int64_t row = 0; row < rows && 4 * packed <= 5 * ahead; ++row) {
    if (row * pieces / rows != piece) {
      piece = row * pieces / rows;
      std::fill(slots.begin(), slots.end(), -1);
    }
    for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
      const TileList& list = tiles.pattern(h).by_query;
      for (int64_t at = list.start[static_cast<size_t>(row)];
           at < list.start[static_cast<size_t>(row) + 1]; ++at) {
        const int64_t tile = list.inner[static_cast<size_t>(at)];
        int64_t& slot = slots[static_cast<size_t>(tile) % slots.size()];
        packed += slot != tile;
        slot = tile;
      }
    }
  }
  return 4 * packed <= 5 * ahead;
}

}  // namespace

PackedHeads::PackedHeads(const AttentionJob& job, int64_t heads)
    : heads_(static_cast<size_t>(heads)) {
  const int64_t tiles = job.plan->key_tiles;
  PanelTiles next(job, heads * tiles, &elements_, &pairs_);
  for (PackedHead& head : heads_) {
    for (int64_t t = 0; t < tiles; ++t) head.tiles.push_back(next());
  }
}

bool IsVisited(const AttentionJob& job, int64_t batch, int64_t kv_head,
               int64_t key_tile) {
  const TilePlan& tiles = (*job.tiles)[static_cast<size_t>(batch)];
  const int64_t group = job.problem->group();
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    if (tiles.pattern(head).by_key.ActiveOf(key_tile) > 0) return true;
  }
  return false;
}

std::vector<int64_t> RowTilesByQuery(const AttentionJob& job) {
  std::vector<int64_t> order(static_cast<size_t>(job.plan->row_tiles));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return a * job.plan->tile_rows % job.problem->q_len <
           b * job.plan->tile_rows % job.problem->q_len;
  });
  return order;
}

int64_t RowTilesOfAPiece(const AttentionJob& job) {
  const int64_t tiles = job.plan->row_tiles;
  const int64_t threads = job.plan->threads;
  if (threads == 1) return tiles;
  const int64_t heads = job.problem->batch * job.problem->kv_heads;
  // Four pieces a worker.
  return std::clamp<int64_t>(heads * tiles / (4 * threads), 1, tiles);
}

bool KeepsTiles(const AttentionJob& job) {
  if (!job.plan->pack_ahead || job.plan->kept_tiles == 0) return false;
  const int64_t pieces = CeilDiv(job.plan->row_tiles, RowTilesOfAPiece(job));
  std::vector<int64_t> slots(static_cast<size_t>(job.plan->kept_tiles));
  for (int64_t b = 0; b < job.problem->batch; ++b) {
    for (int64_t h = 0; h < job.problem->kv_heads; ++h) {
      if (!HeadKeepsTiles(job, b, h, pieces, slots)) return false;
    }
  }
  return true;
}

void MakeRoom(const AttentionJob& job, int64_t count, Worker& worker) {
  PanelTiles next(job, count, &worker.panels, &worker.panel_pairs);
  for (int64_t n = 0; n < count; ++n) worker.kept.push_back({next()});
}

}  // namespace lockstep::optimized
