#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "optimized/tile_plan.h"
#include "reference/contract/status.h"
#include "verify/base/status_macros.h"
#include "verify/tables/dialects/splash.h"

namespace lockstep::verify {
namespace {

using optimized::TileList;
using optimized::TilePlan;

// One active tile of a row or column of a shard.
struct Entry {
  int32_t inner = 0;  // counted from the start of the shard
  int32_t state = 0;
  int32_t block = 0;
};

// Active tiles of `outer` with inner in [begin, end).
std::vector<Entry> Entries(const TileList& list, int64_t outer, int64_t begin,
                           int64_t end) {
  std::vector<Entry> entries;
  for (int64_t n = list.start[static_cast<size_t>(outer)];
       n < list.start[static_cast<size_t>(outer) + 1]; ++n) {
    const auto at = static_cast<size_t>(n);
    if (list.inner[at] < begin || list.inner[at] >= end) continue;
    entries.push_back({list.inner[at] - static_cast<int32_t>(begin),
                       static_cast<int32_t>(list.classes[at]),
                       std::max(0, list.block[at])});
  }
  return entries;
}

void Resize(SplashPass* pass, bool blocks) {
  const auto cells =
      static_cast<size_t>(pass->tables * pass->rows * pass->cols);
  pass->data_next.assign(cells, 0);
  pass->block_mask.assign(cells, 0);
  if (blocks) pass->mask_next.assign(cells, 0);
}

void Put(SplashPass* pass, size_t cell, const Entry& entry) {
  pass->data_next[cell] = entry.inner;
  pass->block_mask[cell] = entry.state;
  if (!pass->mask_next.empty()) pass->mask_next[cell] = entry.block;
}

// Steps up to `width` repeat the entry before them, as no work.
std::vector<Entry> Widened(std::vector<Entry> entries, size_t width) {
  Entry last = entries.empty() ? Entry{} : entries.back();
  last.state = 0;
  entries.resize(width, last);
  return entries;
}

// Most active tiles of one outer tile, over the outer tiles [from, to).
size_t ShardWidth(const TileList& list, int64_t from, int64_t to, int64_t begin,
                  int64_t end) {
  size_t width = 0;
  for (int64_t o = from; o < to; ++o) {
    width = std::max(width, Entries(list, o, begin, end).size());
  }
  return width;
}

void ShrinkForward(const TilePlan& plan, SplashTables* tables) {
  const TileList& list = plan.patterns[0].by_query;
  const int64_t shard_rows = plan.grid.rows() / tables->q_shards;
  const auto width = static_cast<size_t>(list.MaxActive());
  SplashPass& pass = tables->forward;
  pass.rows = plan.grid.rows();
  pass.cols = static_cast<int64_t>(width);
  Resize(&pass, plan.options.blocks);
  size_t own = 0;  // steps of the row's shard
  for (int64_t row = 0; row < pass.rows; ++row) {
    if (row % shard_rows == 0) {
      own = ShardWidth(list, row, row + shard_rows, 0, plan.grid.cols());
    }
    std::vector<Entry> entries = Entries(list, row, 0, plan.grid.cols());
    entries.resize(own);
    entries = Widened(std::move(entries), width);
    for (size_t step = 0; step < width; ++step) {
      Put(&pass, pass.At(0, row, static_cast<int64_t>(step)), entries[step]);
    }
  }
}

void ShrinkTransposed(const TilePlan& plan, SplashTables* tables) {
  const TileList& list = plan.patterns[0].by_key;
  const int64_t shard_rows = plan.grid.rows() / tables->q_shards;
  SplashPass& pass = tables->transposed;
  pass.cols = plan.grid.cols();
  size_t width = 0;
  for (int64_t s = 0; s < tables->q_shards; ++s) {
    width = std::max(width, ShardWidth(list, 0, pass.cols, s * shard_rows,
                                       (s + 1) * shard_rows));
  }
  pass.rows = tables->q_shards * static_cast<int64_t>(width);
  Resize(&pass, plan.options.blocks);
  for (int64_t s = 0; s < tables->q_shards; ++s) {
    const int64_t begin = s * shard_rows;
    const int64_t end = begin + shard_rows;
    const size_t own = ShardWidth(list, 0, pass.cols, begin, end);
    for (int64_t col = 0; col < pass.cols; ++col) {
      std::vector<Entry> entries = Entries(list, col, begin, end);
      entries.insert(entries.begin(), own - entries.size(), Entry{});
      entries = Widened(std::move(entries), width);
      for (size_t step = 0; step < width; ++step) {
        const int64_t row =
            s * static_cast<int64_t>(width) + static_cast<int64_t>(step);
        Put(&pass, pass.At(0, row, col), entries[step]);
      }
    }
  }
}

// Gives every cell of `order` the value of the first cell at or after it that
// `active` accepts, going round.
template <typename Active, typename Value>
void FillNext(const std::vector<size_t>& order, const Active& active,
              const Value& value, std::vector<int32_t>* table) {
  const auto first = std::find_if(order.begin(), order.end(), active);
  if (first == order.end()) return;
  int32_t next = value(*first);
  for (size_t n = order.size(); n-- > 0;) {
    if (active(order[n])) next = value(order[n]);
    (*table)[order[n]] = next;
  }
}

// Cells of one shard in grid order: (head, query, key) or (key, head, query).
std::vector<size_t> GridOrder(const SplashPass& pass, int64_t row_begin,
                              int64_t row_end, bool transposed) {
  std::vector<size_t> order;
  const int64_t columns = transposed ? pass.cols : 1;
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t t = 0; t < pass.tables; ++t) {
      for (int64_t row = row_begin; row < row_end; ++row) {
        if (transposed) {
          order.push_back(pass.At(t, row, c));
          continue;
        }
        for (int64_t col = 0; col < pass.cols; ++col) {
          order.push_back(pass.At(t, row, col));
        }
      }
    }
  }
  return order;
}

// One table a head (or one for all) over the whole grid.
void WholeGrid(const TilePlan& plan, bool transposed, SplashTables* tables) {
  SplashPass& pass = transposed ? tables->transposed : tables->forward;
  pass.tables = plan.patterns.size() == 1 ? 1 : tables->heads;
  pass.rows = plan.grid.rows();
  pass.cols = plan.grid.cols();
  Resize(&pass, plan.options.blocks);
  std::vector<int32_t> own(pass.data_next.size());
  std::vector<int32_t> blocks(pass.data_next.size());
  const int64_t shard_rows = pass.rows / tables->q_shards;
  for (int64_t t = 0; t < pass.tables; ++t) {
    for (int64_t row = 0; row < pass.rows; ++row) {
      for (const Entry& e :
           Entries(plan.pattern(t).by_query, row, 0, pass.cols)) {
        const size_t cell = pass.At(t, row, e.inner);
        pass.block_mask[cell] = e.state;
        own[cell] =
            transposed ? static_cast<int32_t>(row % shard_rows) : e.inner;
        blocks[cell] = e.block;
      }
    }
  }
  for (int64_t s = 0; s < tables->q_shards; ++s) {
    const std::vector<size_t> order =
        GridOrder(pass, s * shard_rows, (s + 1) * shard_rows, transposed);
    FillNext(
        order, [&](size_t cell) { return pass.block_mask[cell] != 0; },
        [&](size_t cell) { return own[cell]; }, &pass.data_next);
    if (!plan.options.blocks) continue;
    FillNext(
        order, [&](size_t cell) { return pass.block_mask[cell] == 1; },
        [&](size_t cell) { return blocks[cell]; }, &pass.mask_next);
  }
}

Status CheckExport(const TilePlan& plan, int64_t q_shards) {
  const optimized::TileGrid& g = plan.grid;
  if (g.q_len % g.tile_q != 0 || g.kv_len % g.tile_k != 0) {
    return Status::Error("splash tables: tiles of " + std::to_string(g.tile_q) +
                         "x" + std::to_string(g.tile_k) + " do not divide " +
                         std::to_string(g.q_len) + "x" +
                         std::to_string(g.kv_len));
  }
  if (q_shards < 1 || g.rows() % q_shards != 0) {
    return Status::Error("splash tables: " + std::to_string(q_shards) +
                         " shards do not divide " + std::to_string(g.rows()) +
                         " query tiles");
  }
  for (const optimized::TilePattern& pattern : plan.patterns) {
    if (pattern.by_query.active() > 0) return Status();
  }
  return Status::Error("splash tables: the mask has no active tile");
}

}  // namespace

Result<SplashTables> ExportSplash(const TilePlan& plan, int64_t q_shards,
                                  bool shrink) {
  RETURN_IF_ERROR(CheckExport(plan, q_shards));
  SplashTables tables;
  tables.grid = plan.grid;
  tables.heads = static_cast<int64_t>(plan.head_pattern.size());
  tables.q_shards = q_shards;
  tables.shrunk = shrink && plan.patterns.size() == 1;
  if (plan.options.blocks) {
    tables.pool = plan.pool;
    tables.pool_t = Transpose(plan.pool);
  }
  if (tables.shrunk) {
    ShrinkForward(plan, &tables);
    ShrinkTransposed(plan, &tables);
  } else {
    WholeGrid(plan, false, &tables);
    WholeGrid(plan, true, &tables);
  }
  return tables;
}

}  // namespace lockstep::verify
