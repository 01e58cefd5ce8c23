// Which elements of a tensor's memory are used, and what the others hold.
#ifndef LOCKSTEP_VERIFY_BASE_SPARSE_USED_ELEMENTS_H_
#define LOCKSTEP_VERIFY_BASE_SPARSE_USED_ELEMENTS_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "verify/base/sparse/element_ranges.h"

namespace lockstep::verify {

// The elements that a tensor uses, of all elements of `width` bytes that the
// ranges have room for. Offsets count elements from the tensor's first element.
class UsedElements {
 public:
  UsedElements(std::span<const ByteRange> ranges, int64_t width)
      : ranges_(ranges), width_(width) {
    int64_t before = 0;
    for (const ByteRange& range : ranges) {
      before_.push_back(before);
      before += range.bytes() / width;
    }
    used_.resize(static_cast<size_t>(before));
  }

  void Use(int64_t offset) { used_[IndexOf(offset)] = true; }

  // Calls unused(offset) until one is false.
  template <typename Unused>
  bool AllUnused(const Unused& unused) const {
    size_t index = 0;
    for (const ByteRange& range : ranges_) {
      for (int64_t n = range.begin / width_; n < range.end / width_; ++n) {
        if (!used_[index++] && !unused(n)) return false;
      }
    }
    return true;
  }

 private:
  size_t IndexOf(int64_t offset) const {
    const auto next = std::upper_bound(
        ranges_.begin(), ranges_.end(), offset * width_,
        [](int64_t at, const ByteRange& range) { return at < range.begin; });
    const auto n = static_cast<size_t>(next - ranges_.begin() - 1);
    return static_cast<size_t>(before_[n] + offset - ranges_[n].begin / width_);
  }

  std::span<const ByteRange> ranges_;
  int64_t width_;
  std::vector<int64_t> before_;  // elements of the ranges before each
  std::vector<bool> used_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_SPARSE_USED_ELEMENTS_H_
