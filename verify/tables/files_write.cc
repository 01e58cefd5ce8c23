#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_plan.h"
#include "optimized/worklist.h"
#include "verify/base/io/safetensors.h"
#include "verify/case/block_plan.h"
#include "verify/tables/dialects/block_mask.h"
#include "verify/tables/dialects/flat_list.h"
#include "verify/tables/dialects/shrunk.h"
#include "verify/tables/dialects/splash.h"
#include "verify/tables/files.h"

namespace lockstep::verify {
namespace {

using optimized::BlockPool;
using optimized::Worklist;

// Tensors with their memory.
class Writer {
 public:
  void Ints(const std::string& name, std::vector<int64_t> shape,
            const std::vector<int32_t>& values) {
    const optimized::NarrowTable& table =
        tables_.emplace_back(optimized::Narrow(values));
    const char* type = table.bytes == 1   ? "I8"
                       : table.bytes == 2 ? "I16"
                                          : "I32";
    tensors_.push_back({name, type, std::move(shape), table.data});
  }

  void Number(const std::string& name, int64_t value) {
    Ints(name, {1}, {static_cast<int32_t>(value)});
  }

  void Blocks(const std::string& name, const BlockPool& pool) {
    if (pool.rows == 0) return;
    optimized::NarrowTable& table = tables_.emplace_back();
    for (int64_t block = 0; block < pool.size(); ++block) {
      for (int64_t r = 0; r < pool.rows; ++r) {
        for (int64_t c = 0; c < pool.cols; ++c) {
          table.data.push_back(pool.At(block, r, c) ? 1 : 0);
        }
      }
    }
    tensors_.push_back(
        {name, "BOOL", {pool.size(), pool.rows, pool.cols}, table.data});
  }

  Result<std::string> Format(const std::string& line) const {
    return FormatSafetensors(tensors_, {{"case", line}});
  }

 private:
  std::deque<optimized::NarrowTable> tables_;  // addresses stay
  std::vector<SafetensorsTensor> tensors_;
};

std::vector<int32_t> Counts(const std::vector<int64_t>& counts) {
  return {counts.begin(), counts.end()};
}

void WriteShrunk(const ShrunkTables& tables, Writer* out) {
  const auto patterns = static_cast<int64_t>(tables.patterns.size());
  for (const bool turned : {false, true}) {
    const std::string end = turned ? "_t" : "";
    std::vector<int32_t> data, states, blocks;
    for (const ShrunkTables::Pattern& pattern : tables.patterns) {
      const Worklist& work = turned ? pattern.transposed : pattern.forward;
      data.insert(data.end(), work.data_next.begin(), work.data_next.end());
      states.insert(states.end(), work.block_mask.begin(),
                    work.block_mask.end());
      blocks.insert(blocks.end(), work.mask_next.begin(), work.mask_next.end());
    }
    const Worklist& first =
        turned ? tables.patterns[0].transposed : tables.patterns[0].forward;
    const std::vector<int64_t> shape{patterns, first.outer, first.width};
    out->Ints("data_next" + end, shape, data);
    out->Ints("block_mask" + end, shape, states);
    if (tables.pool.rows != 0) out->Ints("mask_next" + end, shape, blocks);
    out->Number("grid_width" + end, first.grid_width);
  }
  out->Ints("head_pattern", {static_cast<int64_t>(tables.head_pattern.size())},
            tables.head_pattern);
  out->Blocks("partial_mask_blocks", tables.pool);
}

void WriteSplash(const SplashTables& tables, Writer* out) {
  for (const bool turned : {false, true}) {
    const std::string end = turned ? "_t" : "";
    const SplashPass& pass = turned ? tables.transposed : tables.forward;
    const std::vector<int64_t> shape{pass.tables, pass.rows, pass.cols};
    out->Ints("data_next" + end, shape, pass.data_next);
    out->Ints("block_mask" + end, shape, pass.block_mask);
    if (!pass.mask_next.empty()) {
      out->Ints("mask_next" + end, shape, pass.mask_next);
    }
  }
  out->Number("shrunk", tables.shrunk);
  out->Blocks("partial_mask_blocks", tables.pool);
  out->Blocks("partial_mask_blocks_t", tables.pool_t);
}

void WriteFlat(const FlatTables& tables, Writer* out) {
  if (tables.dense) return;
  for (const bool turned : {false, true}) {
    const std::string end = turned ? "_t" : "";
    const FlatPass& pass = turned ? tables.transposed : tables.forward;
    const std::vector<int64_t> shape{static_cast<int64_t>(pass.rows.size())};
    out->Ints("active_rows" + end, shape, pass.rows);
    out->Ints("active_cols" + end, shape, pass.cols);
    out->Ints("block_mask" + end, shape, pass.block_mask);
    if (!pass.mask_next.empty()) {
      out->Ints("mask_next" + end, shape, pass.mask_next);
    }
    out->Ints("num_active_blocks" + end,
              {static_cast<int64_t>(pass.counts.size())}, Counts(pass.counts));
  }
  out->Blocks("partial_mask_blocks", tables.pool);
  out->Blocks("partial_mask_blocks_t", tables.pool_t);
}

void WriteBlockMask(const BlockMaskTables& tables, Writer* out) {
  const auto write = [&](const std::string& name, const BlockLists& lists,
                         int64_t outer, int64_t columns) {
    out->Ints(name + "_num_blocks", {tables.tables, outer}, lists.num);
    out->Ints(name + "_indices", {tables.tables, outer, columns},
              lists.indices);
  };
  const int64_t rows = tables.grid.rows();
  const int64_t cols = tables.grid.cols();
  write("kv", tables.kv, rows, tables.kv_columns);
  write("full_kv", tables.full_kv, rows, tables.kv_columns);
  write("q", tables.q, cols, tables.q_columns);
  write("full_q", tables.full_q, cols, tables.q_columns);
}

template <typename Tables>
Status Write(const Result<Tables>& tables,
             void (*write)(const Tables&, Writer*), Writer* out) {
  if (!tables.ok()) return tables.status();
  write(tables.value(), out);
  return Status();
}

}  // namespace

Result<std::string> FormatTables(const BlockPlanCase& c,
                                 const optimized::TilePlan& plan,
                                 const std::string& line) {
  Writer out;
  Status status;
  switch (c.dialect) {
    case PlanDialect::kShrunk:
      status = Write(ExportShrunk(plan, c.width, c.width_t), WriteShrunk, &out);
      break;
    case PlanDialect::kSplash:
      status = Write(ExportSplash(plan, c.q_shards), WriteSplash, &out);
      break;
    case PlanDialect::kFlatList:
      status =
          Write(ExportFlat(plan, c.q_shards, c.kv_shards), WriteFlat, &out);
      break;
    case PlanDialect::kBlockMask:
      status = Write(ExportBlockMask(plan), WriteBlockMask, &out);
      break;
  }
  if (!status.ok()) return status;
  return out.Format(line);
}

}  // namespace lockstep::verify
