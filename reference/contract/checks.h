// What every op's Validate() checks: extents, sizes, strides, overlap. Each
// refusal is one line that names the tensor or field, what it is and what would
// be right.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_CHECKS_H_
#define LOCKSTEP_REFERENCE_CONTRACT_CHECKS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <string>
#include <utility>

#include "reference/contract/limits.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::checks {

template <typename T>
std::string Text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

template <size_t kRank>
std::string Text(const std::array<int64_t, kRank>& values) {
  std::string text = "[";
  for (const int64_t value : values) {
    if (text.size() > 1) text += ",";
    text += std::to_string(value);
  }
  return text + "]";
}

// least <= value <= limit.
Status CheckExtent(const char* field, int64_t value, int64_t limit,
                   int64_t least = 1);

// As f32, at most kMaxTensorBytes. Requires: no extent is negative.
template <size_t kRank>
Status CheckTensorSize(const char* name,
                       const std::array<int64_t, kRank>& shape) {
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    if (extent > 0 && elements > kMaxTensorBytes / 4 / extent) {
      return Status::Error(std::string(name) + " of shape " + Text(shape) +
                           " is larger than " + Text(kMaxTensorBytes) +
                           " bytes");
    }
    elements *= extent;
  }
  return Status();
}

// There, of this shape, with strides in 0..kMaxTensorBytes. A tensor without
// elements may be null.
template <typename View, size_t kRank>
Status CheckTensor(const char* name, const View& view,
                   const std::array<int64_t, kRank>& shape) {
  const bool empty = std::count(shape.begin(), shape.end(), 0) > 0;
  if (view.data == nullptr && !empty) {
    return Status::Error(std::string(name) + " is missing");
  }
  if (view.shape != shape) {
    return Status::Error(std::string(name) + " has shape " + Text(view.shape) +
                         "; want " + Text(shape));
  }
  for (const int64_t stride : view.strides) {
    if (stride >= 0 && stride <= kMaxTensorBytes) continue;
    return Status::Error(std::string(name) + " has strides " +
                         Text(view.strides) + "; want 0.." +
                         Text(kMaxTensorBytes));
  }
  return Status();
}

// The same, and of this lane.
template <typename View, size_t kRank>
Status CheckLaneTensor(const char* name, const View& view,
                       const std::array<int64_t, kRank>& shape, Lane lane) {
  if (view.data != nullptr && view.shape == shape && view.lane != lane) {
    return Status::Error(std::string(name) + " has lane " +
                         LaneName(view.lane) + "; want " + LaneName(lane));
  }
  return CheckTensor(name, view, shape);
}

// No two elements of an output share memory: sorted by stride, each axis steps
// over everything the finer axes reach.
template <size_t kRank>
Status CheckNoOverlap(const char* name, const std::array<int64_t, kRank>& shape,
                      const std::array<int64_t, kRank>& strides) {
  if (std::count(shape.begin(), shape.end(), 0) > 0) return Status();
  std::array<std::pair<int64_t, int64_t>, kRank> axes;  // stride, extent
  for (size_t r = 0; r < kRank; ++r) axes[r] = {strides[r], shape[r]};
  std::sort(axes.begin(), axes.end());
  int64_t reach = 0;  // largest offset of the finer axes
  for (const auto& [stride, extent] : axes) {
    if (extent <= 1) continue;
    if (stride <= reach) {
      return Status::Error(std::string(name) + " overlaps itself: shape " +
                           Text(shape) + ", strides " + Text(strides));
    }
    if (stride > (kMaxTensorBytes - reach) / (extent - 1)) {
      return Status::Error(std::string(name) + " spans more than " +
                           Text(kMaxTensorBytes) + " elements");
    }
    reach += stride * (extent - 1);
  }
  return Status();
}

// The first status that is not ok, or ok.
Status FirstError(std::initializer_list<Status> statuses);

}  // namespace lockstep::checks

#endif  // LOCKSTEP_REFERENCE_CONTRACT_CHECKS_H_
