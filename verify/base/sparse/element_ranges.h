// Where the elements of a strided tensor lie. A stride may leave gaps of more
// bytes than a machine has: of such a tensor only pages near its elements
// exist.
#ifndef LOCKSTEP_VERIFY_BASE_SPARSE_ELEMENT_RANGES_H_
#define LOCKSTEP_VERIFY_BASE_SPARSE_ELEMENT_RANGES_H_

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::verify {

// A tensor that reaches over at least this many bytes, most of them gaps, is
// sparse.
inline constexpr int64_t kSparseBytes = int64_t{1} << 30;
// Bytes on either side of its elements that exist nevertheless.
inline constexpr int64_t kSparseMargin = 4096;

// From `begin` to before `end`, in bytes from the first element.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t bytes() const { return end - begin; }
};

// Elements from the first to the last one in memory, or INT64_MAX; 0 if there
// are none.
int64_t ElementSpan(std::span<const int64_t> shape,
                    std::span<const int64_t> strides);

// Ascending and apart, they hold every element of `width` bytes: one range,
// from the first to the last element, unless the tensor is sparse. None if it
// has no element. Strides are in elements, >= 0.
std::vector<ByteRange> ElementRanges(std::span<const int64_t> shape,
                                     std::span<const int64_t> strides,
                                     int64_t width);

// Bytes of all ranges: the memory that the tensor takes.
int64_t BytesIn(std::span<const ByteRange> ranges);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_SPARSE_ELEMENT_RANGES_H_
