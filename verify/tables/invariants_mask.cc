#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_plan.h"
#include "verify/tables/checker.h"
#include "verify/tables/invariants.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

using optimized::BlockPool;

bool PlanChecker::Full(int64_t head, Tile tile) const {
  const bool padded = trace_.boundary == optimized::Boundary::kPadded;
  const int64_t rows =
      std::min(grid_.tile_q, grid_.q_len - tile.row * grid_.tile_q);
  const int64_t cols =
      std::min(grid_.tile_k, grid_.kv_len - tile.col * grid_.tile_k);
  return Visible(head, tile) ==
         (padded ? grid_.tile_q * grid_.tile_k : rows * cols);
}

// Written here once more: the transposed pools are optimized::Transpose's.
const BlockPool* PlanChecker::ByQuery(const TracedPass& pass, bool transposed) {
  if (!transposed) return &pass.pool;
  BlockPool& pool = by_query_.emplace_back();
  pool.rows = pass.pool.cols;
  pool.cols = pass.pool.rows;
  for (int64_t block = 0; block < pass.pool.size(); ++block) {
    pool.Append();
    for (int64_t c = 0; c < pool.cols; ++c) {
      for (int64_t r = 0; r < pool.rows; ++r) {
        if (pass.pool.At(block, c, r)) pool.Set(block, r, c, true);
      }
    }
  }
  return &pool;
}

PlanChecker::Tile PlanChecker::SourceOf(const Side& side,
                                        const Work& work) const {
  const int64_t shown = side.transposed ? work.tile.row : work.tile.col;
  const int64_t given = work.visit->mask_inner.value_or(shown);
  return side.transposed ? Tile{given, work.tile.col}
                         : Tile{work.tile.row, given};
}

std::span<const uint64_t> PlanChecker::StoredRow(const Work& work,
                                                 int64_t r) const {
  const auto width = static_cast<size_t>(work.pool->words_per_row());
  const int64_t block = work.visit->block * work.pool->words_per_block();
  return std::span(work.pool->words)
      .subspan(static_cast<size_t>(block) + static_cast<size_t>(r) * width,
               width);
}

void PlanChecker::ReadRow(const Side& side, const Work& work, int64_t r) {
  if (!trace_.computed) {
    const std::span<const uint64_t> row = StoredRow(work, r);
    std::copy(row.begin(), row.end(), row_.begin());
    return;
  }
  const Tile from = SourceOf(side, work);
  const int64_t begin = from.col * grid_.tile_k;
  mask_.Bits(side.head, from.row * grid_.tile_q + r, begin,
             begin + grid_.tile_k, row_);
}

bool PlanChecker::ShownAlike(const Side& side, const Work& work,
                             int64_t r) const {
  if (work.visit->state == 2) return true;
  if (trace_.computed) {
    const int64_t query = SourceOf(side, work).row * grid_.tile_q + r;
    return mask_.Alike(side.head, query - 1, query);
  }
  const auto before = StoredRow(work, r - 1), row = StoredRow(work, r);
  return std::equal(before.begin(), before.end(), row.begin());
}

bool PlanChecker::SameBlock(const Work& a, const Work& b) const {
  const int64_t words = a.pool->words_per_block();
  const auto block = [words](const Work& work) {
    return work.pool->words.begin() +
           static_cast<std::ptrdiff_t>(work.visit->block * words);
  };
  return std::equal(block(a), block(a) + words, block(b));
}

void PlanChecker::CheckBlock(const Side& side, const Work& work) {
  const int64_t begin = work.tile.col * grid_.tile_k;
  for (int64_t r = 0; r < grid_.tile_q; ++r) {
    const int64_t query = work.tile.row * grid_.tile_q + r;
    if (r == 0 || !mask_.Alike(side.head, query - 1, query)) {
      mask_.Bits(side.head, query, begin, begin + grid_.tile_k, wanted_);
    }
    ReadRow(side, work, r);
    for (size_t n = 0; n < row_.size(); ++n) {
      const uint64_t wrong = row_[n] ^ wanted_[n];
      if (wrong == 0) continue;
      const int first = std::countr_zero(wrong);
      Note(
          Invariant::kBlockIsMask,
          [&] {
            return Where(side, work.tile) + ", element (" + std::to_string(r) +
                   ", " + std::to_string(64 * n + static_cast<size_t>(first)) +
                   "): block " + std::to_string(work.visit->block) + " says " +
                   ((wanted_[n] >> first) & 1 ? "hidden" : "visible");
          },
          std::popcount(wrong));
    }
  }
}

void PlanChecker::CheckTiles(const Side& side, const TracedPass& pass,
                             const WorkList& work) {
  std::vector<bool> visited(static_cast<size_t>(grid_.tiles()));
  int64_t in_vain = 0;
  for (const Work& w : work) {
    visited[Index(w.tile)] = true;
    if (Visible(side.head, w.tile) == 0 && ++in_vain > trace_.slack) {
      Note(Invariant::kNothingInVain,
           [&] { return Where(side, w.tile) + " is empty and visited"; });
    }
    if (w.visit->state == 2 && !Full(side.head, w.tile)) {
      Note(Invariant::kFullIsFull,
           [&] { return Where(side, w.tile) + " is marked full and is not"; });
    }
    if (w.visit->state == 1 && !trace_.computed) CheckBlock(side, w);
  }
  for (int64_t o = pass.outer_begin; o < pass.outer_end; ++o) {
    for (int64_t i = pass.inner_begin; i < pass.inner_end; ++i) {
      const Tile tile = TileAt(side, o, i);
      if (Visible(side.head, tile) == 0 || visited[Index(tile)]) {
        continue;
      }
      Note(Invariant::kSkippedIsEmpty, [&] {
        return Where(side, tile) + " holds visible pairs and is not visited";
      });
    }
  }
}

void PlanChecker::AddShown(const Side& side, const Work& work, int64_t query,
                           std::vector<KeyRange>* shown) {
  const int64_t begin = work.tile.col * grid_.tile_k;
  const int64_t end = std::min(begin + grid_.tile_k, grid_.kv_len);
  const auto add = [&](int64_t from, int64_t to) {
    if (!shown->empty() && shown->back().end == from) {
      shown->back().end = static_cast<int32_t>(to);
    } else {
      shown->push_back({static_cast<int32_t>(from), static_cast<int32_t>(to)});
    }
  };
  if (work.visit->state == 2) return add(begin, end);
  ReadRow(side, work, query - work.tile.row * grid_.tile_q);
  for (size_t n = 0; n < row_.size(); ++n) {
    for (uint64_t bits = row_[n]; bits != 0;) {
      const int first = std::countr_zero(bits);
      const int ones = std::countr_one(bits >> first);
      const int64_t key = begin + 64 * static_cast<int64_t>(n) + first;
      if (key < end) add(key, std::min(key + ones, end));
      bits = first + ones == 64 ? 0 : bits >> (first + ones) << (first + ones);
    }
  }
}

// `shown` overlaps where a key counts more than once.
bool PlanChecker::CheckShown(const Side& side, int64_t query,
                             const std::vector<KeyRange>& shown) {
  const std::span<const KeyRange> keys = mask_.Keys(side.head, query);
  if (std::equal(shown.begin(), shown.end(), keys.begin(), keys.end())) {
    return true;
  }
  struct Change {
    int64_t times = 0;
    int64_t wanted = 0;
  };
  std::map<int64_t, Change> changes;  // along the keys
  for (const KeyRange& range : shown) {
    ++changes[range.begin].times;
    --changes[range.end].times;
  }
  for (const KeyRange& range : keys) {
    ++changes[range.begin].wanted;
    --changes[range.end].wanted;
  }
  Change now;
  for (auto at = changes.begin(); at != changes.end(); ++at) {
    now.times += at->second.times;
    now.wanted += at->second.wanted;
    if (now.times == now.wanted) continue;
    Note(
        Invariant::kEffectiveMask,
        [&] {
          return side.name + ": query " + std::to_string(query) + ", key " +
                 std::to_string(at->first) + " counts " +
                 std::to_string(now.times) + " times";
        },
        std::next(at)->first - at->first);
  }
  return false;
}

void PlanChecker::CheckEffective(const Side& side, const WorkList& work) {
  std::vector<std::vector<const Work*>> rows(static_cast<size_t>(grid_.rows()));
  for (const Work& w : work) {
    rows[static_cast<size_t>(w.tile.row)].push_back(&w);
  }
  std::vector<KeyRange> shown;
  bool right = false;  // of the query before
  for (int64_t i = 0; i < grid_.q_len; ++i) {
    auto& row = rows[static_cast<size_t>(i / grid_.tile_q)];
    const int64_t r = i % grid_.tile_q;
    if (r == 0) {
      std::stable_sort(row.begin(), row.end(),
                       [](const Work* a, const Work* b) {
                         return a->tile.col < b->tile.col;
                       });
    } else if (right && mask_.Alike(side.head, i - 1, i) &&
               std::all_of(row.begin(), row.end(), [&](const Work* w) {
                 return ShownAlike(side, *w, r);
               })) {
      continue;  // right again
    }
    shown.clear();
    for (const Work* w : row) AddShown(side, *w, i, &shown);
    right = CheckShown(side, i, shown);
  }
}

void PlanChecker::CheckTranspose(int64_t head) {
  std::vector<const Work*> other(static_cast<size_t>(grid_.tiles()));
  size_t matched = 0, others = 0;
  for (const Work& w : transposed_work_[static_cast<size_t>(head)]) {
    const Work*& place = other[Index(w.tile)];
    if (place == nullptr) ++others;
    place = &w;
  }
  for (const Work& w : forward_work_[static_cast<size_t>(head)]) {
    const Work* found = other[Index(w.tile)];
    bool same = found != nullptr && found->visit->state == w.visit->state;
    if (same) ++matched;
    if (same && w.visit->state == 1 && !trace_.computed) {
      same = SameBlock(w, *found);
    }
    if (same) continue;
    Note(Invariant::kTransposeAgrees, [&] {
      return Where({false, head, "head " + std::to_string(head)}, w.tile) +
             " is another one in the transposed tables";
    });
  }
  if (matched < others) {
    Note(Invariant::kTransposeAgrees, [&] {
      return "head " + std::to_string(head) +
             ": the transposed tables have more tiles";
    });
  }
}

}  // namespace lockstep::verify
