#include "optimized/worklist.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "optimized/tile_plan.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {
namespace {

template <typename T>
bool Fits(int32_t least, int32_t most) {
  return least >= std::numeric_limits<T>::min() &&
         most <= std::numeric_limits<T>::max();
}

int64_t NarrowBytes(std::span<const int32_t> values) {
  return NarrowestBytes(values) * static_cast<int64_t>(values.size());
}

}  // namespace

Result<Worklist> MakeWorklist(const TileList& list, int64_t capacity) {
  Worklist work;
  work.outer = list.outer();
  work.grid_width = std::max<int64_t>(1, list.MaxActive());
  work.width = capacity == 0 ? work.grid_width : capacity;
  if (work.width < work.grid_width) {
    return Status::Error("worklist: a capacity of " + std::to_string(capacity) +
                         " steps is too small; the fullest row of tiles has " +
                         std::to_string(work.grid_width));
  }
  const auto cells = static_cast<size_t>(work.outer * work.width);
  work.data_next.resize(cells);
  work.block_mask.resize(cells);
  work.mask_next.resize(cells);
  for (int64_t o = 0; o < work.outer; ++o) {
    size_t cell = work.At(o, 0);
    for (int64_t n = list.start[static_cast<size_t>(o)];
         n < list.start[static_cast<size_t>(o) + 1]; ++n, ++cell) {
      const auto at = static_cast<size_t>(n);
      work.data_next[cell] = list.inner[at];
      work.block_mask[cell] = static_cast<int32_t>(list.classes[at]);
      work.mask_next[cell] = std::max(0, list.block[at]);
    }
  }
  return work;
}

int NarrowestBytes(std::span<const int32_t> values) {
  if (values.empty()) return 1;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (Fits<int8_t>(*least, *most)) return 1;
  return Fits<int16_t>(*least, *most) ? 2 : 4;
}

NarrowTable Narrow(std::span<const int32_t> values) {
  NarrowTable table;
  table.bytes = NarrowestBytes(values);
  table.data.reserve(values.size() * static_cast<size_t>(table.bytes));
  for (const int32_t value : values) {
    for (int byte = 0; byte < table.bytes; ++byte) {
      table.data.push_back(static_cast<uint8_t>(value >> (8 * byte)));
    }
  }
  return table;
}

std::vector<int32_t> Widen(const NarrowTable& table) {
  std::vector<int32_t> values;
  const int unused = 32 - 8 * table.bytes;
  for (size_t at = 0; at < table.data.size();
       at += static_cast<size_t>(table.bytes)) {
    uint32_t bits = 0;
    for (int byte = 0; byte < table.bytes; ++byte) {
      bits |= uint32_t{table.data[at + static_cast<size_t>(byte)]}
              << (8 * byte);
    }
    // Up and down again: the highest bit stored is the sign.
    values.push_back(static_cast<int32_t>(bits << unused) >> unused);
  }
  return values;
}

int64_t MetadataBytes(const TilePlan& plan) {
  int64_t bytes = plan.pool.bytes();
  for (const TilePattern& pattern : plan.patterns) {
    for (const TileList* list : {&pattern.by_query, &pattern.by_key}) {
      const Result<Worklist> work = MakeWorklist(*list, 0);
      bytes += NarrowBytes(work->data_next) + NarrowBytes(work->block_mask);
      if (plan.options.blocks) bytes += NarrowBytes(work->mask_next);
    }
  }
  return bytes;
}

}  // namespace lockstep::optimized
