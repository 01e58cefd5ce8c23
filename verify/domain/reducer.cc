#include "verify/domain/reducer.h"

namespace lockstep::verify {

std::optional<Case> NormalForm(const Case& c) {
  if (!ValidateCase(c).ok()) return std::nullopt;
  Result<Case> read = ParseCase(CanonicalLine(c), {&c.op, 1});
  if (!read.ok() || !ValidateCase(read.value()).ok()) return std::nullopt;
  return std::move(read.value());
}

std::vector<int64_t> Below(int64_t n, int64_t least) {
  std::vector<int64_t> smaller;
  for (const int64_t x : {least, least + 1, n / 4, n / 2, n - 4, n - 1}) {
    if (x < least || x >= n) continue;
    if (std::find(smaller.begin(), smaller.end(), x) != smaller.end()) continue;
    smaller.push_back(x);
  }
  return smaller;
}

std::vector<std::vector<SegmentRun>> SmallerRuns(
    const std::vector<SegmentRun>& runs) {
  std::vector<std::vector<SegmentRun>> smaller;
  for (size_t n = 0; n + 1 < runs.size(); ++n) {
    std::vector<SegmentRun> joined = runs;
    joined[n].length += joined[n + 1].length;
    joined.erase(joined.begin() + static_cast<int64_t>(n) + 1);
    smaller.push_back(std::move(joined));
  }
  std::vector<SegmentRun> counted = runs;
  for (size_t n = 0; n < runs.size(); ++n) {
    counted[n].id = static_cast<int32_t>(n);
  }
  if (counted != runs) smaller.push_back(std::move(counted));
  return smaller;
}

void ResizeRuns(Segments* segments, int64_t length) {
  for (auto& row : segments->rows) {
    int64_t at = 0;
    size_t kept = 0;
    for (; kept < row.size() && at < length; ++kept) {
      row[kept].length = std::min(row[kept].length, length - at);
      at += row[kept].length;
    }
    row.resize(kept);
  }
}

void ExtendRuns(Segments* segments, int64_t length) {
  for (auto& row : segments->rows) {
    int64_t at = 0;
    for (const SegmentRun& run : row) at += run.length;
    if (!row.empty()) row.back().length += length - at;
  }
}

int64_t TwinLength(int64_t length, int64_t side) {
  return length <= side ? length : side / 2 + length % (side / 2);
}

int64_t Scaled(int64_t count, int64_t from, int64_t to) {
  if (count <= 0) return count;
  return std::max<int64_t>((count * to + from / 2) / from, 1);
}

void ScaleRuns(Segments* segments, int64_t from, int64_t to) {
  if (from == to) return;
  for (auto& row : segments->rows) {
    std::vector<SegmentRun> scaled;
    int64_t end = 0, taken = 0;
    for (const SegmentRun& run : row) {
      end += run.length;
      const int64_t length = end * to / from - taken;
      if (length == 0) continue;
      taken += length;
      const bool same = !scaled.empty() && scaled.back().id == run.id;
      if (!same) scaled.push_back({run.id, 0});
      scaled.back().length += length;
    }
    row = std::move(scaled);
  }
}

}  // namespace lockstep::verify
