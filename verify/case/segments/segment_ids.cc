#include "verify/case/segments/segment_ids.h"

#include <algorithm>
#include <set>

namespace lockstep::verify {

int32_t OtherId(IdRange range, int64_t rank, int64_t count) {
  const auto stepped = [&](int64_t step) {
    return std::min(step, INT32_MAX / (count + 1)) * (rank + 1);
  };
  int64_t id = 0;
  switch (range) {
    case IdRange::kSteps16:
      id = stepped(int64_t{1} << 16);
      break;
    case IdRange::kSteps24:
      id = stepped(int64_t{1} << 24);
      break;
    case IdRange::kLargest:
      id = INT32_MAX - (count - 1 - rank);
      break;
    case IdRange::kSmallest:
      id = INT32_MIN + rank;
      break;
    case IdRange::kMirrored:
      id = rank - count / 2;
      id += id < 0 ? 0 : 1;
      break;
  }
  return static_cast<int32_t>(id);
}

void RenameIds(IdRange range, std::vector<Segments*> sides) {
  std::set<int32_t> names;
  for (const Segments* side : sides) {
    if (side->kind == Segments::Kind::kFile) return;
    for (const auto& row : side->rows) {
      for (const SegmentRun& run : row) names.insert(run.id);
    }
  }
  const auto count = static_cast<int64_t>(names.size());
  for (Segments* side : sides) {
    for (auto& row : side->rows) {
      for (SegmentRun& run : row) {
        const auto rank = std::distance(names.begin(), names.find(run.id));
        run.id = OtherId(range, rank, count);
      }
    }
  }
}

}  // namespace lockstep::verify
