// Prefetches rows that are needed soon, a few cache lines at a time, while
// others are used.
#ifndef LOCKSTEP_OPTIMIZED_LINES_AHEAD_H_
#define LOCKSTEP_OPTIMIZED_LINES_AHEAD_H_

#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::optimized {

// Prefetches that are issued all at once fill the core's line fill buffers, and
// it stalls. The values of decoding took 80 cycles a key from memory so, and 28
// from L2 (AMD EPYC, family 25, model 17).
class LinesAhead {
 public:
  // Bytes that are prefetched at a time.
  static constexpr int64_t kPortion = 256;
  static constexpr int64_t kLine = 64;

  LinesAhead() = default;
  // `rows` rows of `bytes` bytes each, `next` bytes apart.
  LinesAhead(const void* first, int64_t next, int64_t rows, int64_t bytes)
      : row_(static_cast<const char*>(first)),
        next_(next),
        rows_(rows),
        bytes_(bytes) {
    if (next != bytes || rows == 0) return;
    bytes_ *= rows;  // one row of them all, so that portions are whole
    rows_ = 1;
  }

  // The next `portions` of them, a row's last one as long as the row.
  HWY_INLINE void Ask(int64_t portions) {
    for (; portions > 0 && rows_ > 0; --portions) {
      const int64_t end = at_ + kPortion < bytes_ ? at_ + kPortion : bytes_;
      for (; at_ < end; at_ += kLine) hwy::Prefetch(row_ + at_);
      if (at_ < bytes_) continue;
      at_ = 0;
      row_ += next_;
      --rows_;
    }
  }
  // Whether all of them were prefetched.
  bool done() const { return rows_ == 0; }

 private:
  const char* row_ = nullptr;
  int64_t next_ = 0;
  int64_t rows_ = 0;
  int64_t bytes_ = 0;
  int64_t at_ = 0;  // of the row
};

// `count` positions of a head from `first` on; none if channels lie apart.
template <typename Void>
LinesAhead LinesOf(const BasicLaneView<Void>& x, int64_t batch, int64_t head,
                   int64_t first, int64_t count) {
  if (x.strides[3] != 1) return {};
  const auto bytes = static_cast<int64_t>(LaneBytes(x.lane));
  const int64_t at =
      batch * x.strides[0] + head * x.strides[1] + first * x.strides[2];
  return {static_cast<const char*>(x.data) + at * bytes, x.strides[2] * bytes,
          count, x.shape[3] * bytes};
}

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_LINES_AHEAD_H_
