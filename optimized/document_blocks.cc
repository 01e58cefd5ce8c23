#include "optimized/document_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "optimized/tile_grid.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

Result<DocumentRanges> RangesOf(std::span<const int32_t> doc_ids,
                                int64_t block) {
  const auto tokens = static_cast<int64_t>(doc_ids.size());
  if (block < 1 || tokens % block != 0) {
    return Status::Error("document ranges: blocks of " + std::to_string(block) +
                         " do not divide a row of " + std::to_string(tokens) +
                         " tokens");
  }
  DocumentRanges ranges;
  ranges.block = block;
  for (int64_t begin = 0; begin < tokens; begin += block) {
    const auto ids =
        doc_ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(block));
    const auto [least, most] = std::minmax_element(ids.begin(), ids.end());
    ranges.least.push_back(*least);
    ranges.most.push_back(*most);
  }
  return ranges;
}

TileClass ClassifyBlock(const DocumentRanges& ranges, const BlockRules& rules,
                        int64_t query_block, int64_t key_block) {
  const auto i = static_cast<size_t>(query_block);
  const auto j = static_cast<size_t>(key_block);
  const int64_t b = ranges.block;
  const int64_t query = query_block * b;  // the first one
  const int64_t key = key_block * b;
  const bool past = key_block < query_block;
  bool any = key_block <= query_block && ranges.least[i] <= ranges.most[j] &&
             ranges.least[j] <= ranges.most[i];
  bool all = past && ranges.least[i] == ranges.most[i] &&
             ranges.least[j] == ranges.most[j] &&
             ranges.least[i] == ranges.least[j];
  if (rules.left) {
    // The nearest pair, and the one furthest apart.
    any = any && query - (key + b - 1) <= *rules.left;
    all = all && query + b - 1 - key <= *rules.left;
  }
  if (rules.valid) {
    any = any && query < *rules.valid && key < *rules.valid;
    all = all && query + b <= *rules.valid && key + b <= *rules.valid;
  }
  if (!any) return TileClass::kEmpty;
  return all ? TileClass::kFull : TileClass::kPartial;
}

Result<std::vector<TileClass>> ClassifySelected(
    const DocumentRanges& ranges, const BlockRules& rules,
    std::span<const int32_t> selected, int64_t top_n) {
  const auto blocks = static_cast<int64_t>(ranges.least.size());
  if (top_n < 1 || static_cast<int64_t>(selected.size()) != blocks * top_n) {
    return Status::Error("selected blocks: " + std::to_string(selected.size()) +
                         " of them; want " + std::to_string(top_n) +
                         " for each of " + std::to_string(blocks) + " blocks");
  }
  std::vector<TileClass> classes;
  for (int64_t n = 0; n < blocks * top_n; ++n) {
    const int64_t key_block = selected[static_cast<size_t>(n)];
    classes.push_back(key_block < 0 || key_block >= blocks
                          ? TileClass::kEmpty
                          : ClassifyBlock(ranges, rules, n / top_n, key_block));
  }
  return classes;
}

}  // namespace lockstep::optimized
