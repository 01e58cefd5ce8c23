#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "optimized/tile_plan.h"
#include "verify/tables/checker.h"
#include "verify/tables/invariants.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

bool PlanChecker::Full(int64_t head, Tile tile) const {
  const TileTruth& truth = Truth(head, tile);
  return truth.visible == (trace_.boundary == optimized::Boundary::kPadded
                               ? grid_.tile_q * grid_.tile_k
                               : truth.in_range);
}

bool PlanChecker::BlockAt(const Side& side, const Work& work, int64_t r,
                          int64_t c) const {
  if (trace_.computed) {
    const int64_t shown = side.transposed ? work.tile.row : work.tile.col;
    const int64_t given = work.visit->mask_inner.value_or(shown);
    const Tile from = side.transposed ? Tile{given, work.tile.col}
                                      : Tile{work.tile.row, given};
    return mask_.At(side.head, from.row * grid_.tile_q + r,
                    from.col * grid_.tile_k + c);
  }
  return side.transposed ? work.pool->At(work.visit->block, c, r)
                         : work.pool->At(work.visit->block, r, c);
}

// Whether the kernel lets the pair take part.
bool PlanChecker::Counts(const Side& side, const Work& work, int64_t r,
                         int64_t c) const {
  return work.visit->state == 2 || BlockAt(side, work, r, c);
}

void PlanChecker::CheckTiles(const Side& side, const TracedPass& pass,
                             const WorkList& work) {
  std::set<Tile> visited;
  int64_t in_vain = 0;
  for (const Work& w : work) {
    visited.insert(w.tile);
    const std::string where = Where(side, w.tile);
    if (Truth(side.head, w.tile).visible == 0 && ++in_vain > trace_.slack) {
      Note(Invariant::kNothingInVain,
           [&] { return where + " is empty and visited"; });
    }
    if (w.visit->state == 2 && !Full(side.head, w.tile)) {
      Note(Invariant::kFullIsFull,
           [&] { return where + " is marked full and is not"; });
    }
    if (w.visit->state != 1 || trace_.computed) continue;
    for (int64_t r = 0; r < grid_.tile_q; ++r) {
      for (int64_t c = 0; c < grid_.tile_k; ++c) {
        const bool visible = mask_.At(side.head, w.tile.row * grid_.tile_q + r,
                                      w.tile.col * grid_.tile_k + c);
        if (BlockAt(side, w, r, c) == visible) continue;
        Note(Invariant::kBlockIsMask, [&] {
          return where + ", element (" + std::to_string(r) + ", " +
                 std::to_string(c) + "): block " +
                 std::to_string(w.visit->block) + " says " +
                 (visible ? "hidden" : "visible");
        });
      }
    }
  }
  for (int64_t o = pass.outer_begin; o < pass.outer_end; ++o) {
    for (int64_t i = pass.inner_begin; i < pass.inner_end; ++i) {
      const Tile tile = TileAt(side, o, i);
      if (Truth(side.head, tile).visible == 0 || visited.contains(tile)) {
        continue;
      }
      Note(Invariant::kSkippedIsEmpty, [&] {
        return Where(side, tile) + " holds visible pairs and is not visited";
      });
    }
  }
}

void PlanChecker::CheckEffective(const Side& side, const WorkList& work) {
  std::vector<int32_t> times(static_cast<size_t>(grid_.q_len * grid_.kv_len));
  for (const Work& w : work) {
    const int64_t i0 = w.tile.row * grid_.tile_q;
    const int64_t j0 = w.tile.col * grid_.tile_k;
    for (int64_t i = i0; i < std::min(i0 + grid_.tile_q, grid_.q_len); ++i) {
      for (int64_t j = j0; j < std::min(j0 + grid_.tile_k, grid_.kv_len); ++j) {
        times[static_cast<size_t>(i * grid_.kv_len + j)] +=
            Counts(side, w, i - i0, j - j0);
      }
    }
  }
  for (int64_t i = 0; i < grid_.q_len; ++i) {
    for (int64_t j = 0; j < grid_.kv_len; ++j) {
      const int32_t n = times[static_cast<size_t>(i * grid_.kv_len + j)];
      if (n == (mask_.At(side.head, i, j) ? 1 : 0)) continue;
      Note(Invariant::kEffectiveMask, [&] {
        return side.name + ": query " + std::to_string(i) + ", key " +
               std::to_string(j) + " counts " + std::to_string(n) + " times";
      });
    }
  }
}

void PlanChecker::CheckTranspose(int64_t head) {
  const Side forward{false, head, ""};
  const Side transposed{true, head, ""};
  std::map<Tile, const Work*> other;
  for (const Work& w : transposed_work_[static_cast<size_t>(head)]) {
    other[w.tile] = &w;
  }
  size_t matched = 0;
  for (const Work& w : forward_work_[static_cast<size_t>(head)]) {
    const auto found = other.find(w.tile);
    bool same =
        found != other.end() && found->second->visit->state == w.visit->state;
    if (same) ++matched;
    if (same && w.visit->state == 1 && !trace_.computed) {
      for (int64_t r = 0; r < grid_.tile_q; ++r) {
        for (int64_t c = 0; c < grid_.tile_k; ++c) {
          same = same && BlockAt(forward, w, r, c) ==
                             BlockAt(transposed, *found->second, r, c);
        }
      }
    }
    if (same) continue;
    Note(Invariant::kTransposeAgrees, [&] {
      return Where({false, head, "head " + std::to_string(head)}, w.tile) +
             " is another one in the transposed tables";
    });
  }
  if (matched < other.size()) {
    Note(Invariant::kTransposeAgrees, [&] {
      return "head " + std::to_string(head) +
             ": the transposed tables have more tiles";
    });
  }
}

}  // namespace lockstep::verify
