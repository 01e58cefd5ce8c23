#include "optimized/selection.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::optimized {
namespace {

// Orders numbers; a NaN comes last, like the lowest one.
float Rank(float score) {
  return score == score ? score : -std::numeric_limits<float>::infinity();
}

// The best `count` of the candidates, which ascend; ascending.
std::vector<int64_t> Best(std::vector<int64_t> candidates,
                          std::span<const float> scores, int64_t count) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](int64_t a, int64_t b) {
                     return Rank(scores[static_cast<size_t>(a)]) >
                            Rank(scores[static_cast<size_t>(b)]);
                   });
  const auto size = static_cast<int64_t>(candidates.size());
  candidates.resize(static_cast<size_t>(std::min(size, count)));
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

std::vector<int32_t> InOrder(std::span<const int32_t> selected, int64_t blocks,
                             UnionMode mode) {
  const auto in_range = [blocks](int32_t block) {
    return block >= 0 && block < blocks;
  };
  std::vector<int32_t> result;
  if (mode == UnionMode::kSort) {
    std::copy_if(selected.begin(), selected.end(), std::back_inserter(result),
                 in_range);
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }
  std::vector<bool> chosen(static_cast<size_t>(blocks));
  for (const int32_t block : selected) {
    if (in_range(block)) chosen[static_cast<size_t>(block)] = true;
  }
  for (int64_t block = 0; block < blocks; ++block) {
    if (!chosen[static_cast<size_t>(block)]) continue;
    result.push_back(static_cast<int32_t>(block));
  }
  return result;
}

}  // namespace

std::vector<int64_t> TopScores(std::span<const float> scores, int64_t count) {
  std::vector<int64_t> all(scores.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  return Best(std::move(all), scores, count);
}

Result<std::vector<int64_t>> ExpandHierarchy(std::span<const float> meta_scores,
                                             std::span<const float> fine_scores,
                                             int64_t children,
                                             int64_t coarse_count,
                                             int64_t fine_count) {
  if (children < 1 || coarse_count < 1 || fine_count < 1) {
    return Status::Error("selection: children and counts have to be 1 or more");
  }
  const auto fine = static_cast<int64_t>(fine_scores.size());
  const int64_t metas = (fine + children - 1) / children;
  if (static_cast<int64_t>(meta_scores.size()) != metas) {
    return Status::Error(
        "selection: " + std::to_string(fine) + " blocks in groups of " +
        std::to_string(children) + " have " + std::to_string(metas) +
        " meta scores, not " + std::to_string(meta_scores.size()));
  }
  std::vector<int64_t> candidates;
  for (const int64_t meta : TopScores(meta_scores, coarse_count)) {
    for (int64_t block = meta * children;
         block < std::min(fine, (meta + 1) * children); ++block) {
      candidates.push_back(block);
    }
  }
  return Best(std::move(candidates), fine_scores, fine_count);
}

int64_t CausalBlocks(int64_t blocks, int64_t stride, int64_t chunk_begin,
                     int64_t chunk_len) {
  const int64_t last = chunk_begin + chunk_len - 1;
  return std::clamp<int64_t>(last < 0 ? 0 : last / stride + 1, 0, blocks);
}

Union JoinSelections(std::span<const int32_t> selected, int64_t blocks,
                     UnionMode mode) {
  Union joined;
  joined.blocks = InOrder(selected, blocks, mode);
  for (const int32_t block : selected) {
    const auto found =
        std::lower_bound(joined.blocks.begin(), joined.blocks.end(), block);
    const bool there = found != joined.blocks.end() && *found == block;
    joined.places.push_back(
        there ? static_cast<int32_t>(found - joined.blocks.begin()) : -1);
  }
  return joined;
}

bool IsMember(const Union& joined, int64_t top_n, int64_t query,
              int32_t place) {
  const auto first = joined.places.begin() + query * top_n;
  return std::find(first, first + top_n, place) != first + top_n;
}

}  // namespace lockstep::optimized
