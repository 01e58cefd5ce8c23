#include "verify/base/sparse/element_ranges.h"

#include <algorithm>
#include <utility>

namespace lockstep::verify {
namespace {

// A tensor with more ranges is treated as one range.
constexpr int64_t kMostRanges = int64_t{1} << 16;

// {stride in bytes, extent} of the axes that move, the closest elements first.
std::vector<std::pair<int64_t, int64_t>> AxesByStride(
    std::span<const int64_t> shape, std::span<const int64_t> strides,
    int64_t width) {
  std::vector<std::pair<int64_t, int64_t>> axes;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] > 1 && strides[axis] > 0) {
      axes.emplace_back(strides[axis] * width, shape[axis]);
    }
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

// Each range `extent` times, `step` bytes apart.
std::vector<ByteRange> Repeated(const std::vector<ByteRange>& ranges,
                                int64_t step, int64_t extent) {
  std::vector<ByteRange> all;
  for (int64_t n = 0; n < extent; ++n) {
    for (const ByteRange& range : ranges) {
      all.push_back({range.begin + n * step, range.end + n * step});
    }
  }
  return all;
}

// With the margins, ascending, and joined where they meet.
std::vector<ByteRange> Joined(std::vector<ByteRange> ranges, int64_t span) {
  std::sort(
      ranges.begin(), ranges.end(),
      [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::vector<ByteRange> joined;
  for (const ByteRange& range : ranges) {
    const int64_t begin = std::max<int64_t>(range.begin - kSparseMargin, 0);
    const int64_t end = std::min(range.end + kSparseMargin, span);
    if (!joined.empty() && begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, end);
    } else {
      joined.push_back({begin, end});
    }
  }
  return joined;
}

}  // namespace

int64_t ElementSpan(std::span<const int64_t> shape,
                    std::span<const int64_t> strides) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t span = 1;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach) ||
        __builtin_add_overflow(span, reach, &span)) {
      return INT64_MAX;
    }
  }
  return span;
}

std::vector<ByteRange> ElementRanges(std::span<const int64_t> shape,
                                     std::span<const int64_t> strides,
                                     int64_t width) {
  const int64_t span = ElementSpan(shape, strides) * width;
  if (span == 0) return {};
  const ByteRange whole = {0, span};
  if (span < kSparseBytes) return {whole};
  std::vector<ByteRange> ranges = {{0, width}};
  for (const auto& [step, extent] : AxesByStride(shape, strides, width)) {
    if (ranges.size() == 1 && step <= ranges[0].end + 2 * kSparseMargin) {
      ranges[0].end += (extent - 1) * step;
      continue;
    }
    if (extent > kMostRanges / static_cast<int64_t>(ranges.size())) {
      return {whole};
    }
    ranges = Repeated(ranges, step, extent);
  }
  ranges = Joined(std::move(ranges), span);
  return BytesIn(ranges) > span / 2 ? std::vector{whole} : ranges;
}

int64_t BytesIn(std::span<const ByteRange> ranges) {
  int64_t bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.bytes();
  return bytes;
}

}  // namespace lockstep::verify
