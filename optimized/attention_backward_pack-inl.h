// Copies rows of tensors into the two forms that the products of
// attention_backward read, widened to f32.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_PACK_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_PACK_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_PACK_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_PACK_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/attention_backward_work.h"
#include "optimized/attention_pack-inl.h"
#include "optimized/simd/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Largest magnitudes of f32 as bits: whether all are finite.
template <class U>
struct MostMagnitude {
  hn::Vec<U> lanes;
  uint32_t rest = 0;

  // Written out: a default initialiser would be compiled without the target.
  HWY_INLINE MostMagnitude() : lanes(hn::Zero(U())) {}

  HWY_INLINE void Add(hn::Vec<U> bits) {
    lanes = hn::Max(lanes, hn::And(bits, hn::Set(U(), 0x7fffffffu)));
  }
  HWY_INLINE void Add(float x) {
    rest = std::max(rest, std::bit_cast<uint32_t>(x) & 0x7fffffffu);
  }
  HWY_INLINE bool AllFinite() const {
    return std::max(rest, hn::ReduceMax(U(), lanes)) < 0x7f800000u;
  }
};

// Positions of one head of a tensor [batch, head, position, channel].
struct Positions {
  int64_t batch = 0;
  int64_t head = 0;
  Range range;
  int64_t padded = 0;  // how many the panels have room for
};

// out [padded / block][channels][block].
//   Requires: block >= kQuad divides at.padded.
template <typename T>
void PackColumns(const TensorView<const T, 4>& x, const Positions& at,
                 int64_t block, float* out) {
  constexpr auto kStep = static_cast<int64_t>(kQuad);
  const int64_t dim = x.shape[3];
  const int64_t count = at.range.end - at.range.begin;
  // Beyond the last position it is only looked at, not read from.
  const auto row = [&](int64_t r) {
    return &x(at.batch, at.head, at.range.begin + std::min(r, count - 1), 0);
  };
  const auto four_from = [&](int64_t r) {
    return FourRows<T>{row(r), row(r + 1), row(r + 2), row(r + 3)};
  };
  for (int64_t first = 0; first < at.padded; first += block) {
    for (int64_t r = 0; r < block;) {
      // The last four of a block of six overlap the first four.
      const int64_t four = std::min(r, block - kStep);
      if (x.strides[3] == 1 && first + four + kStep <= count) {
        PackFourRows(four_from(first + four), four_from(first + four + kStep),
                     dim, block, out + four);
        r = four + kStep;
        continue;
      }
      for (int64_t d = 0; d < dim; ++d) {
        out[d * block + r] = first + r < count
                                 ? ToFloat(row(first + r)[d * x.strides[3]])
                                 : 0.0f;
      }
      ++r;
    }
    out += block * dim;
  }
}

// out [channel panels][padded][panel or lanes]. Returns whether every element
// is finite.
template <typename T>
bool PackPanels(const TensorView<const T, 4>& x, const Positions& at,
                const Geometry& geometry, float* out) {
  const int64_t dim = x.shape[3];
  const int64_t padded_dim = RoundUp(dim, geometry.lanes);
  const int64_t count = at.range.end - at.range.begin;
  MostMagnitude<hn::ScalableTag<uint32_t>> most;
  for (int64_t r = 0; r < at.padded; ++r) {
    const T* row =
        &x(at.batch, at.head, at.range.begin + std::min(r, count - 1), 0);
    for (int64_t first = 0; first < padded_dim; first += geometry.panel()) {
      const int64_t width = std::min(geometry.panel(), padded_dim - first);
      const int64_t used = r < count ? std::min(width, dim - first) : 0;
      PackValueRow(row + first * x.strides[3], x.strides[3], used, width, most,
                   out + first * at.padded + r * width);
    }
  }
  return most.AllFinite();
}

// Columns in blocks of `block`, and panels if there is room for them.
inline void PackBackward(const LaneView& x, const Positions& at, int64_t block,
                         const Geometry& geometry, BackwardPanels& out) {
  const auto pack = [&](const auto& view) {
    PackColumns(view, at, block, out.columns.data());
    if (out.panels.empty()) return;
    out.finite = PackPanels(view, at, geometry, out.panels.data());
  };
  WithLane(x.lane, [&](auto element) { pack(x.As<decltype(element)>()); });
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
