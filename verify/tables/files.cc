#include "verify/tables/files.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/worklist.h"
#include "verify/case/block_plan.h"
#include "verify/tables/dialects/block_mask.h"
#include "verify/tables/dialects/flat_list.h"
#include "verify/tables/dialects/shrunk.h"
#include "verify/tables/dialects/splash.h"

namespace lockstep::verify {
namespace {

using optimized::BlockPool;
using optimized::TileGrid;

struct Table {
  std::vector<int64_t> shape;
  std::vector<int32_t> values;
  int bytes = 4;  // of an element, at most 4: values fit 32 bits
};

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t n : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  }
  return text + "]";
}

// Little-endian, signed unless U8 or BOOL.
int64_t Element(const SafetensorsTensor& tensor, int64_t bytes, size_t at) {
  uint64_t bits = 0;
  for (int64_t b = 0; b < bytes; ++b) {
    bits |= uint64_t{tensor.bytes[at * static_cast<size_t>(bytes) +
                                  static_cast<size_t>(b)]}
            << (8 * b);
  }
  if (tensor.type == "U8" || tensor.type == "BOOL") {
    return static_cast<int64_t>(bits);
  }
  const int64_t unused = 64 - 8 * bytes;
  return static_cast<int64_t>(bits << unused) >> unused;
}

// Tables of one file. The first error sticks; what is read after it is empty.
class Reader {
 public:
  Reader(const BlockPlanCase& c, const SafetensorsFile& file)
      : grid_{c.q_len, c.kv_len, c.tile_q, c.tile_k},
        blocks_(c.blocks),
        file_(file) {}

  const TileGrid& grid() const { return grid_; }
  const Status& status() const { return status_; }
  bool Has(const std::string& name) const {
    return file_.Find(name) != nullptr;
  }
  void Fail(const std::string& name, const std::string& what) {
    if (status_.ok()) status_ = Status::Error(name + ": " + what);
  }

  // Of the extents asked for, -1 for any. Leading extents of 1 are added or
  // left out.
  Table Ints(const std::string& name, const std::vector<int64_t>& shape) {
    const SafetensorsTensor* found = file_.Find(name);
    Table table;
    table.shape.assign(shape.size(), 0);
    if (found == nullptr) {
      Fail(name, "is missing");
      return table;
    }
    const bool known = found->type == "I8" || found->type == "I16" ||
                       found->type == "I32" || found->type == "I64" ||
                       found->type == "U8" || found->type == "BOOL";
    if (!known) {
      Fail(name, "has type " + found->type + "; want integers");
      return table;
    }
    std::vector<int64_t> extents = found->shape;
    while (extents.size() > shape.size() && extents.front() == 1) {
      extents.erase(extents.begin());
    }
    while (extents.size() < shape.size()) extents.insert(extents.begin(), 1);
    bool fits = extents.size() == shape.size();
    for (size_t n = 0; fits && n < shape.size(); ++n) {
      fits = shape[n] < 0 || shape[n] == extents[n];
    }
    if (!fits) {
      Fail(name, "has shape " + ShapeText(found->shape) + "; want " +
                     ShapeText(shape) + ", -1 for any");
      return table;
    }
    table.shape = extents;
    ReadValues(name, *found, &table);
    return table;
  }

  // Tables [table, outer, step] or turned, of which nothing but what the grid
  // can need is accepted: a shape without elements may name any extent, and
  // what is made of it has that extent.
  void Bound(const std::string& name, const Table& table, int64_t heads) {
    if (!status_.ok()) return;
    if (table.shape[0] > heads) {
      Fail(name, "has " + std::to_string(table.shape[0]) +
                     " tables; the case has " + std::to_string(heads) +
                     " heads");
    }
    // Rows may be padded: to the widest of all, to whole vectors.
    const int64_t most = 2 * std::max(grid_.rows(), grid_.cols()) + 1024;
    for (const int64_t extent : {table.shape[1], table.shape[2]}) {
      if (extent <= most) continue;
      Fail(name, "has shape " + ShapeText(table.shape) + "; the grid has " +
                     std::to_string(grid_.rows()) + " x " +
                     std::to_string(grid_.cols()) + " tiles");
    }
  }

  // One number, or `absent` if there is none.
  int64_t Number(const std::string& name, int64_t absent) {
    if (!Has(name)) return absent;
    const Table table = Ints(name, {1});
    return table.values.empty() ? absent : table.values[0];
  }

  // Blocks of rows x cols zeros and ones; none where masks are computed.
  BlockPool Blocks(const std::string& name, int64_t rows, int64_t cols) {
    if (!blocks_) {
      if (Has(name)) Fail(name, "is there, and the case says blocks=no");
      return {};
    }
    BlockPool pool{rows, cols, {}};
    const Table table = Ints(name, {-1, rows, cols});
    if (!status_.ok()) return pool;
    size_t at = 0;
    for (int64_t block = 0; block < table.shape[0]; ++block) {
      pool.Append();
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t k = 0; k < cols; ++k, ++at) {
          if (table.values[at] != 0 && table.values[at] != 1) {
            Fail(name, "holds " + std::to_string(table.values[at]) +
                           "; want zeros and ones");
            return pool;
          }
          if (table.values[at] == 1) pool.Set(block, r, k, true);
        }
      }
    }
    return pool;
  }

  // Of a table that only stored blocks need.
  Table Next(const std::string& name, const std::vector<int64_t>& shape) {
    if (blocks_) return Ints(name, shape);
    if (Has(name)) Fail(name, "is there, and the case says blocks=no");
    return {};
  }

 private:
  void ReadValues(const std::string& name, const SafetensorsTensor& found,
                  Table* table) {
    const int64_t bytes = SafetensorsTypeBytes(found.type);
    const size_t count = found.bytes.size() / static_cast<size_t>(bytes);
    table->bytes = static_cast<int>(std::min<int64_t>(bytes, 4));
    table->values.reserve(count);
    for (size_t at = 0; at < count; ++at) {
      const int64_t value = Element(found, bytes, at);
      if (value < std::numeric_limits<int32_t>::min() ||
          value > std::numeric_limits<int32_t>::max()) {
        Fail(name,
             "holds " + std::to_string(value) + ", which does not fit 32 bits");
        return;
      }
      table->values.push_back(static_cast<int32_t>(value));
    }
  }

  TileGrid grid_;
  bool blocks_;
  const SafetensorsFile& file_;
  Status status_;
};

void SetBytes(const Table& inner, const Table& block,
              std::vector<TracedPass>* passes) {
  for (TracedPass& pass : *passes) {
    pass.inner_bytes = inner.bytes;
    pass.block_bytes = block.bytes;
  }
}

Result<PlanTrace> ReadShrunk(const BlockPlanCase& c, Reader& in) {
  ShrunkTables tables;
  tables.grid = in.grid();
  tables.boundary =
      c.padded ? optimized::Boundary::kPadded : optimized::Boundary::kInRange;
  Table next[2], mask_next[2];
  for (const bool turned : {false, true}) {
    const std::string end = turned ? "_t" : "";
    const int64_t outer = turned ? in.grid().cols() : in.grid().rows();
    Table& data = next[turned];
    data = in.Ints("data_next" + end, {-1, outer, -1});
    in.Bound("data_next" + end, data, c.q_heads);
    if (!in.status().ok()) return in.status();
    const int64_t width = data.shape[2];
    const Table states = in.Ints("block_mask" + end, data.shape);
    mask_next[turned] = in.Next("mask_next" + end, data.shape);
    if (!in.status().ok()) return in.status();
    tables.patterns.resize(
        std::max(tables.patterns.size(), static_cast<size_t>(data.shape[0])));
    const auto cells = static_cast<std::ptrdiff_t>(outer * width);
    for (int64_t p = 0; p < data.shape[0]; ++p) {
      auto& pattern = tables.patterns[static_cast<size_t>(p)];
      auto& work = turned ? pattern.transposed : pattern.forward;
      const auto part = [&](const std::vector<int32_t>& from) {
        const auto begin = from.begin() + p * cells;
        return std::vector<int32_t>(begin, begin + cells);
      };
      work.outer = outer;
      work.width = width;
      work.grid_width = in.Number("grid_width" + end, width);
      work.data_next = part(data.values);
      work.block_mask = part(states.values);
      work.mask_next = c.blocks ? part(mask_next[turned].values)
                                : std::vector<int32_t>(work.data_next.size());
    }
  }
  if (next[0].shape[0] != next[1].shape[0]) {
    in.Fail("data_next_t", "has another number of tables than data_next");
  }
  tables.head_pattern.assign(static_cast<size_t>(c.q_heads), 0);
  if (in.Has("head_pattern") || tables.patterns.size() != 1) {
    tables.head_pattern = in.Ints("head_pattern", {c.q_heads}).values;
  }
  tables.pool = in.Blocks("partial_mask_blocks", c.tile_q, c.tile_k);
  if (!in.status().ok()) return in.status();
  Result<PlanTrace> trace = LiftShrunk(tables);
  if (!trace.ok()) return trace;
  SetBytes(next[0], mask_next[0], &trace->forward);
  SetBytes(next[1], mask_next[1], &trace->transposed);
  return trace;
}

Result<PlanTrace> ReadSplash(const BlockPlanCase& c, Reader& in) {
  SplashTables tables;
  tables.grid = in.grid();
  tables.heads = c.q_heads;
  tables.q_shards = c.q_shards;
  Table next[2], mask_next[2];
  for (const bool turned : {false, true}) {
    const std::string end = turned ? "_t" : "";
    SplashPass& pass = turned ? tables.transposed : tables.forward;
    next[turned] =
        in.Ints("data_next" + end,
                turned ? std::vector<int64_t>{-1, -1, in.grid().cols()}
                       : std::vector<int64_t>{-1, in.grid().rows(), -1});
    in.Bound("data_next" + end, next[turned], c.q_heads);
    if (!in.status().ok()) return in.status();
    const std::vector<int64_t>& shape = next[turned].shape;
    pass.tables = shape[0];
    pass.rows = shape[1];
    pass.cols = shape[2];
    pass.data_next = next[turned].values;
    pass.block_mask = in.Ints("block_mask" + end, shape).values;
    mask_next[turned] = in.Next("mask_next" + end, shape);
    pass.mask_next = mask_next[turned].values;
  }
  // One table for all heads is shrunk unless the file says otherwise.
  tables.shrunk = in.Number("shrunk", tables.forward.tables == 1) != 0;
  tables.pool = in.Blocks("partial_mask_blocks", c.tile_q, c.tile_k);
  tables.pool_t = in.Blocks("partial_mask_blocks_t", c.tile_k, c.tile_q);
  if (!in.status().ok()) return in.status();
  Result<PlanTrace> trace = LiftSplash(tables);
  if (!trace.ok()) return trace;
  SetBytes(next[0], mask_next[0], &trace->forward);
  SetBytes(next[1], mask_next[1], &trace->transposed);
  return trace;
}

Result<PlanTrace> ReadFlat(const BlockPlanCase& c, Reader& in) {
  FlatTables tables;
  tables.grid = in.grid();
  tables.heads = c.q_heads;
  tables.q_shards = c.q_shards;
  tables.kv_shards = c.kv_shards;
  // A mask whose tiles are all full has no lists.
  tables.dense = !in.Has("active_rows") && !in.Has("active_rows_t");
  Table rows[2], cols[2], blocks[2];
  for (const bool turned : {false, true}) {
    if (tables.dense) break;
    const std::string end = turned ? "_t" : "";
    FlatPass& pass = turned ? tables.transposed : tables.forward;
    rows[turned] = in.Ints("active_rows" + end, {-1});
    cols[turned] = in.Ints("active_cols" + end, rows[turned].shape);
    pass.rows = rows[turned].values;
    pass.cols = cols[turned].values;
    pass.block_mask = in.Ints("block_mask" + end, rows[turned].shape).values;
    if (in.Has("mask_next" + end)) {
      blocks[turned] = in.Next("mask_next" + end, rows[turned].shape);
      pass.mask_next = blocks[turned].values;
    }
    const Table counts =
        in.Ints("num_active_blocks" + end, {c.q_shards * c.kv_shards});
    pass.counts.assign(counts.values.begin(), counts.values.end());
  }
  if (!tables.dense) {
    tables.pool = in.Blocks("partial_mask_blocks", c.tile_q, c.tile_k);
    tables.pool_t = in.Blocks("partial_mask_blocks_t", c.tile_k, c.tile_q);
  }
  if (!in.status().ok()) return in.status();
  Result<PlanTrace> trace = LiftFlat(tables);
  if (!trace.ok() || tables.dense) return trace;
  for (const bool turned : {false, true}) {
    auto& passes = turned ? trace->transposed : trace->forward;
    SetBytes(cols[turned], blocks[turned], &passes);
    for (TracedPass& pass : passes) pass.outer_bytes = rows[turned].bytes;
  }
  return trace;
}

Result<PlanTrace> ReadBlockMask(const BlockPlanCase& c, Reader& in) {
  BlockMaskTables tables;
  tables.grid = in.grid();
  tables.heads = c.q_heads;
  const int64_t rows = in.grid().rows();
  const int64_t cols = in.grid().cols();
  const auto read = [&](const std::string& name, int64_t outer,
                        int64_t* columns, BlockLists* lists) {
    const Table num = in.Ints(name + "_num_blocks", {-1, outer});
    const Table indices = in.Ints(name + "_indices", {num.shape[0], outer, -1});
    tables.tables = num.shape[0];
    *columns = indices.shape[2];
    lists->num = num.values;
    lists->indices = indices.values;
    return indices.bytes;
  };
  // Both lists of a direction have its columns; an absent full list is empty.
  const auto read_full = [&](const std::string& name, int64_t outer,
                             int64_t columns, BlockLists* lists) {
    const auto count = static_cast<size_t>(tables.tables * outer);
    lists->num.assign(count, 0);
    lists->indices.assign(count * static_cast<size_t>(columns), 0);
    if (!in.Has(name + "_num_blocks")) return;
    lists->num = in.Ints(name + "_num_blocks", {tables.tables, outer}).values;
    lists->indices =
        in.Ints(name + "_indices", {tables.tables, outer, columns}).values;
  };
  const int bytes = read("kv", rows, &tables.kv_columns, &tables.kv);
  const int64_t kv_tables = tables.tables;
  const int bytes_t = read("q", cols, &tables.q_columns, &tables.q);
  if (tables.tables != kv_tables) {
    in.Fail("q_num_blocks", "has another number of tables than kv_num_blocks");
  }
  if (!in.status().ok()) return in.status();
  read_full("full_kv", rows, tables.kv_columns, &tables.full_kv);
  read_full("full_q", cols, tables.q_columns, &tables.full_q);
  if (!in.status().ok()) return in.status();
  Result<PlanTrace> trace = LiftBlockMask(tables);
  if (!trace.ok()) return trace;
  trace->forward[0].inner_bytes = bytes;
  trace->transposed[0].inner_bytes = bytes_t;
  return trace;
}

}  // namespace

Result<PlanTrace> ReadTables(const BlockPlanCase& c,
                             const SafetensorsFile& file) {
  Reader in(c, file);
  switch (c.dialect) {
    case PlanDialect::kShrunk:
      return ReadShrunk(c, in);
    case PlanDialect::kSplash:
      return ReadSplash(c, in);
    case PlanDialect::kFlatList:
      return ReadFlat(c, in);
    case PlanDialect::kBlockMask:
      break;
  }
  return ReadBlockMask(c, in);
}

}  // namespace lockstep::verify
