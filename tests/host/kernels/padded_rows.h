// Padded rows in place of the tokens of a ragged batch, for kernels that
// compute padded rows.
#ifndef LOCKSTEP_TESTS_HOST_KERNELS_PADDED_ROWS_H_
#define LOCKSTEP_TESTS_HOST_KERNELS_PADDED_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "reference/contract/lanes.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::tests {

// [1, heads, tokens] as one channel of f32.
inline MutableLaneView OneChannel(const TensorView<float, 3>& x) {
  return {x.data,
          Lane::kF32,
          {x.shape[0], x.shape[1], x.shape[2], 1},
          {x.strides[0], x.strides[1], x.strides[2], 1}};
}
inline LaneView OneChannel(const TensorView<const float, 3>& x) {
  return {x.data,
          Lane::kF32,
          {x.shape[0], x.shape[1], x.shape[2], 1},
          {x.strides[0], x.strides[1], x.strides[2], 1}};
}

// [rows, heads, longest, channels] in row-major order.
class PaddedRows {
 public:
  // Holds the elements of `tokens` [1, heads, tokens, channels], whose rows
  // begin where `starts` says, and zeros between them. Null: stays null.
  template <typename Void>
  PaddedRows(const TensorView<const int32_t, 1>& starts, int64_t longest,
             const BasicLaneView<Void, 4>& tokens)
      : starts_(starts), width_(static_cast<int64_t>(LaneBytes(tokens.lane))) {
    view_.lane = tokens.lane;
    view_.shape = {starts.shape[0] - 1, tokens.shape[1], longest,
                   tokens.shape[3]};
    view_.strides = DenseStrides(view_.shape);
    if (tokens.data == nullptr) return;
    bytes_.resize(
        static_cast<size_t>(view_.shape[0] * view_.strides[0] * width_));
    view_.data = bytes_.data();
    const auto* const from = static_cast<const uint8_t*>(tokens.data);
    ForElements(tokens.strides, [&](int64_t token, int64_t padded) {
      std::memcpy(&bytes_[At(padded)], from + token * width_, At(1));
    });
  }
  PaddedRows(const PaddedRows&) = delete;
  PaddedRows& operator=(const PaddedRows&) = delete;

  const MutableLaneView& view() const { return view_; }
  LaneView const_view() const {
    return {view_.data, view_.lane, view_.shape, view_.strides};
  }
  // Of one channel.
  template <typename T>
  TensorView<T, 3> rows() const {
    return {static_cast<T*>(view_.data),
            {view_.shape[0], view_.shape[1], view_.shape[2]},
            {view_.strides[0], view_.strides[1], view_.strides[2]}};
  }

  // Copies the rows to the tokens; nothing where there are none.
  void Give(const MutableLaneView& tokens) const {
    if (tokens.data == nullptr) return;
    auto* const to = static_cast<uint8_t*>(tokens.data);
    ForElements(tokens.strides, [&](int64_t token, int64_t padded) {
      std::memcpy(to + token * width_, &bytes_[At(padded)], At(1));
    });
  }

 private:
  size_t At(int64_t element) const {
    return static_cast<size_t>(element * width_);
  }

  // visit(element of the tokens, element of the padded rows).
  template <typename Visit>
  void ForElements(const std::array<int64_t, 4>& strides,
                   const Visit& visit) const {
    for (int64_t b = 0; b < view_.shape[0]; ++b) {
      for (int64_t i = 0; i < starts_(b + 1) - starts_(b); ++i) {
        for (int64_t h = 0; h < view_.shape[1]; ++h) {
          for (int64_t c = 0; c < view_.shape[3]; ++c) {
            visit(
                h * strides[1] + (starts_(b) + i) * strides[2] + c * strides[3],
                b * view_.strides[0] + h * view_.strides[1] +
                    i * view_.strides[2] + c);
          }
        }
      }
    }
  }

  TensorView<const int32_t, 1> starts_;
  int64_t width_;
  std::vector<uint8_t> bytes_;
  MutableLaneView view_;
};

}  // namespace lockstep::tests

#endif  // LOCKSTEP_TESTS_HOST_KERNELS_PADDED_ROWS_H_
