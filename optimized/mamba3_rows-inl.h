// Rows of tensors in and out of scratch: any lane, any stride.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_ROWS_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_ROWS_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_ROWS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "optimized/simd/elementary-inl.h"
#include "reference/contract/numerics.h"
#include "reference/contract/tensor_view.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The last axis at the other indices, first element and step.
struct RowOfLane {
  const void* data;
  Lane lane;
  int64_t stride;
};

template <size_t kRank, typename... Index>
RowOfLane RowAt(const BasicLaneView<const void, kRank>& x, Index... at) {
  const int64_t offset = x.template As<float>().Offset(at..., 0);
  const auto bytes = static_cast<int64_t>(LaneBytes(x.lane));
  return {static_cast<const char*>(x.data) + offset * bytes, x.lane,
          x.strides[kRank - 1]};
}

template <size_t kRank, typename... Index>
RowOfLane RowAt(const TensorView<const float, kRank>& x, Index... at) {
  return {x.data + x.Offset(at..., 0), Lane::kF32, x.strides[kRank - 1]};
}

// Whole vectors and a rest; a call to memcpy costs as much again for such rows.
inline void LoadRow(const RowOfLane& row, int64_t count,
                    float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> du16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = row.stride == 1 ? count / lanes * lanes : 0;
  if (row.lane == Lane::kF32) {
    const auto* from = static_cast<const float*>(row.data);
    for (int64_t i = 0; i < whole; i += lanes) {
      hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    }
    for (int64_t i = whole; i < count; ++i) to[i] = from[i * row.stride];
    return;
  }
  const auto* from = static_cast<const uint16_t*>(row.data);
  for (int64_t i = 0; i < whole; i += lanes) {
    hn::StoreU(WidenBf16(d, hn::LoadU(du16, from + i)), d, to + i);
  }
  for (int64_t i = whole; i < count; ++i) {
    to[i] = ToFloat(Bf16{from[i * row.stride]});
  }
}

// Asks for a row that will be loaded a block of tokens later: such rows lie too
// far apart in time for the hardware to keep them coming.
inline void PrefetchRow(const RowOfLane& row, int64_t count) {
  constexpr int64_t kLine = 64;
  if (row.stride != 1) return;
  const auto* from = static_cast<const char*>(row.data);
  const auto bytes = count * static_cast<int64_t>(LaneBytes(row.lane));
  for (int64_t i = 0; i < bytes; i += kLine) hwy::Prefetch(from + i);
}

// N11: rounded to the lane, + 0, canonical NaN; in place.
inline void FinishRow(Lane lane, int64_t count, float* HWY_RESTRICT y) {
  const hn::ScalableTag<float> d;
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    auto value = hn::Load(d, y + i);
    if (lane == Lane::kBf16) value = RoundToBf16Lane(d, value);
    hn::Store(CanonicalNaN(d, hn::Add(value, hn::Zero(d))), d, y + i);
  }
}

// A finished row to memory; bf16 values have their bits in the upper half.
template <size_t kRank, typename... Index>
void StoreRow(const float* y, int64_t count,
              const BasicLaneView<void, kRank>& to, Index... at) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t stride = to.strides[kRank - 1];
  const int64_t offset = to.template As<float>().Offset(at..., 0);
  if (to.lane == Lane::kF32) {
    auto* out = static_cast<float*>(to.data) + offset;
    const int64_t whole = stride == 1 ? count / lanes * lanes : 0;
    for (int64_t i = 0; i < whole; i += lanes) {
      hn::StoreU(hn::Load(d, y + i), d, out + i);
    }
    for (int64_t i = whole; i < count; ++i) out[i * stride] = y[i];
    return;
  }
  auto* out = static_cast<uint16_t*>(to.data) + offset;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, y + i, sizeof(bits));
    out[i * stride] = static_cast<uint16_t>(bits >> 16);
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
