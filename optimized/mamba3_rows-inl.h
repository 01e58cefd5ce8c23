// Rows of tensors in and out of scratch: any lane, any stride.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_ROWS_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_ROWS_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_ROWS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "optimized/simd/elementary-inl.h"
#include "optimized/simd/lanes-inl.h"
#include "reference/contract/numerics.h"
#include "reference/contract/tensor_view.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using VectorTag = hn::ScalableTag<float>;

inline int64_t VectorLanes() {
  return static_cast<int64_t>(hn::Lanes(VectorTag()));
}

// The last axis at the other indices, first element and step.
struct RowOfLane {
  void* data = nullptr;  // written only where the tensor is an output
  Lane lane = Lane::kF32;
  int64_t stride = 0;
};

template <typename Data, size_t kRank, typename... Index>
RowOfLane RowAt(const BasicLaneView<Data, kRank>& x, Index... at) {
  const int64_t offset = x.template As<float>().Offset(at..., 0);
  const auto bytes = static_cast<int64_t>(LaneBytes(x.lane));
  auto* data = static_cast<char*>(const_cast<void*>(x.data));
  return {data + offset * bytes, x.lane, x.strides[kRank - 1]};
}

template <typename T, size_t kRank, typename... Index>
RowOfLane RowAt(const TensorView<T, kRank>& x, Index... at) {
  return {const_cast<float*>(x.data) + x.Offset(at..., 0), Lane::kF32,
          x.strides[kRank - 1]};
}

// The same row from its element `first` on.
inline RowOfLane From(RowOfLane row, int64_t first) {
  const auto bytes = static_cast<int64_t>(LaneBytes(row.lane));
  row.data = static_cast<char*>(row.data) + first * row.stride * bytes;
  return row;
}

// Four vectors at a time: compilers make a call to memcpy of a plainer loop,
// which costs as much again for such rows.
HWY_INLINE void CopyVectors(const float* HWY_RESTRICT from, int64_t count,
                            float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto a = hn::LoadU(d, from + i);
    const auto b = hn::LoadU(d, from + i + lanes);
    const auto c = hn::LoadU(d, from + i + 2 * lanes);
    const auto e = hn::LoadU(d, from + i + 3 * lanes);
    hn::StoreU(a, d, to + i);
    hn::StoreU(b, d, to + i + lanes);
    hn::StoreU(c, d, to + i + 2 * lanes);
    hn::StoreU(e, d, to + i + 3 * lanes);
  }
  for (; i < count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
}

// Whole vectors and a rest.
inline void LoadRow(const RowOfLane& row, int64_t count,
                    float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = row.stride == 1 ? count / lanes * lanes : 0;
  if (row.lane == Lane::kF32) {
    const auto* from = static_cast<const float*>(row.data);
    CopyVectors(from, whole, to);
    for (int64_t i = whole; i < count; ++i) to[i] = from[i * row.stride];
    return;
  }
  WithLane(row.lane, [&](auto element) HWY_ATTR {
    const auto* from = static_cast<const decltype(element)*>(row.data);
    for (int64_t i = 0; i < whole; i += lanes) {
      hn::StoreU(LoadWidened(d, from + i), d, to + i);
    }
    for (int64_t i = whole; i < count; ++i)
      to[i] = ToFloat(from[i * row.stride]);
  });
}

// Whether whole vectors of f32 make up the row.
inline bool InPlace(const RowOfLane& row, int64_t count) {
  return row.lane == Lane::kF32 && row.stride == 1 &&
         count % VectorLanes() == 0;
}

// The row where it lies, if it can be read there in whole vectors; otherwise
// its copy in `buffer`, padded to whole vectors.
inline const float* RowInPlace(const RowOfLane& row, int64_t count,
                               float* HWY_RESTRICT buffer) {
  if (InPlace(row, count)) {
    return static_cast<const float*>(row.data);
  }
  LoadRow(row, count, buffer);
  return buffer;
}

// Prefetches a row that is loaded a block of tokens later. The hardware's
// prefetcher does not follow rows that are so far apart in time.
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
    value = RoundToLane(d, lane, value);
    hn::Store(CanonicalNaN(d, hn::Add(value, hn::Zero(d))), d, y + i);
  }
}

// A finished row to memory.
inline void StoreRow(const float* HWY_RESTRICT y, int64_t count,
                     const RowOfLane& to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (to.lane == Lane::kF32) {
    auto* out = static_cast<float*>(to.data);
    const int64_t whole = to.stride == 1 ? count / lanes * lanes : 0;
    CopyVectors(y, whole, out);
    for (int64_t i = whole; i < count; ++i) out[i * to.stride] = y[i];
    return;
  }
  WithLane(to.lane, [&](auto element) HWY_ATTR {
    StoreRounded(y, count, to.stride, static_cast<decltype(element)*>(to.data));
  });
}

// N11's sixteen stripes: element i in stripe i mod 16, whatever the number of
// lanes. x and y are aligned.
struct Stripes {
  // l = fma(x, y, l), elements ascending.
  void AddProducts(const float* HWY_RESTRICT x, const float* HWY_RESTRICT y,
                   int64_t count) {
    const VectorTag d;
    for (int64_t i = 0; i < count; i += VectorLanes()) {
      const auto inside = hn::FirstN(d, static_cast<size_t>(count - i));
      float* stripes = l + i % kStripes;
      const auto sum = hn::Load(d, stripes);
      const auto added =
          hn::MulAdd(hn::Load(d, x + i), hn::Load(d, y + i), sum);
      hn::Store(hn::IfThenElse(inside, added, sum), d, stripes);
    }
  }
  // l = l + x, elements ascending.
  void Add(const float* HWY_RESTRICT x, int64_t count) {
    const VectorTag d;
    for (int64_t i = 0; i < count; i += VectorLanes()) {
      const auto inside = hn::FirstN(d, static_cast<size_t>(count - i));
      float* stripes = l + i % kStripes;
      const auto sum = hn::Load(d, stripes);
      hn::Store(hn::IfThenElse(inside, hn::Add(sum, hn::Load(d, x + i)), sum),
                d, stripes);
    }
  }
  float Fold() {
    for (int w = kStripes / 2; w >= 1; w /= 2) {
      for (int r = 0; r < w; ++r) l[r] += l[r + w];
    }
    return l[0];
  }

  alignas(64) float l[kStripes] = {};
};

// The rows of a head's tokens in one tensor.
struct HeadRows {
  RowOfLane first;   // of token 0 and rank 0
  int64_t token;     // bytes from token to token
  int64_t rank = 0;  // bytes from rank to rank

  RowOfLane At(int64_t t, int64_t r = 0) const {
    return {static_cast<char*>(first.data) + t * token + r * rank, first.lane,
            first.stride};
  }
};

// `axis` is that of the tokens; the others' indices stand in `at`, which names
// token 0.
template <class View, typename... Index>
HeadRows RowsOf(const View& x, size_t axis, int64_t ranks, Index... at) {
  const auto bytes = static_cast<int64_t>(LaneBytes(x.lane));
  HeadRows rows{{}, 0};
  if (x.data == nullptr) return rows;
  rows.first = RowAt(x, at...);
  rows.token = x.strides[axis] * bytes;
  if (ranks > 0) rows.rank = x.strides[axis + 1] * bytes;
  return rows;
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
