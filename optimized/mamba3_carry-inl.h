// Carries in and out of the scratch of a head. The state has its channels in
// lanes, and a carry has its n's there. 4 x 4 values at a time are transposed
// in registers, which saves a tenth of the time of a decoding step.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_CARRY_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_CARRY_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_CARRY_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_CARRY_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "optimized/mamba3_prepare-inl.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/mamba3_scan-inl.h"
#include "optimized/mamba3_work.h"
#include "optimized/simd/elementary-inl.h"
#include "optimized/simd/transpose-inl.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using QuadTag = hn::CappedTag<float, kQuad>;
using Quad = hn::Vec<QuadTag>;

// Where channel c of the state begins, its n's a tile's width apart.
inline float* Channel(const Mamba3Scratch& s, const Mamba3ScanProblem& p,
                      int64_t c) {
  const int64_t width = TileWidth();
  return s.h + c / width * width * p.state_dim + c % width;
}

// Bits of x, or of the canonical NaN.
inline float Exported(float x) {
  return x == x ? x : std::bit_cast<float>(kCanonicalNaNBits);
}

// A carry's [p, n] of one run and head.
template <typename T>
struct StateOfCarry {
  T* data;
  int64_t channel;  // elements from channel to channel
  int64_t state;    // elements from n to n

  StateOfCarry(const TensorView<T, 4>& h, const Mamba3Task& task)
      : data(&h(task.run, task.head, 0, 0)),
        channel(h.strides[2]),
        state(h.strides[3]) {}

  T& At(int64_t c, int64_t n) const { return data[c * channel + n * state]; }
};

// Calls `quad(c, n)` for blocks of 4 channels and 4 n's, `rest(c, n)` for what
// no such block holds. A tile of the state is of whole quads of channels.
template <class Quads, class Rest>
HWY_INLINE void ForQuads(const Mamba3ScanProblem& p, bool dense,
                         const Quads& quad, const Rest& rest) {
  constexpr int64_t kSide = kQuad;
  const bool quads = dense && VectorLanes() >= kSide;
  const int64_t channels = quads ? p.head_dim / kSide * kSide : 0;
  const int64_t states = quads ? p.state_dim / kSide * kSide : 0;
  for (int64_t c = 0; c < channels; c += kSide) {
    for (int64_t n = 0; n < states; n += kSide) quad(c, n);
    for (int64_t i = c; i < c + kSide; ++i) {
      for (int64_t n = states; n < p.state_dim; ++n) rest(i, n);
    }
  }
  for (int64_t c = channels; c < p.head_dim; ++c) {
    for (int64_t n = 0; n < p.state_dim; ++n) rest(c, n);
  }
}

// Rows too short for the hardware to keep them coming: asked for kAhead
// channels before they are read.
inline constexpr int64_t kAhead = 16;
inline constexpr int64_t kLine = 64 / sizeof(float);

inline void LoadState(const Mamba3Job& job, const Mamba3Task& task,
                      Mamba3Scratch& s) {
  const QuadTag d;
  const Mamba3ScanProblem& p = *job.problem;
  const StateOfCarry<const float> from(job.inputs->carry.h, task);
  const int64_t width = TileWidth();
  const auto quad = [&](int64_t c, int64_t n) HWY_ATTR {
    if (n % kLine == 0 && c + kAhead < p.head_dim) {
      for (int64_t i = 0; i < 4; ++i) {
        hwy::Prefetch(&from.At(std::min(c + kAhead + i, p.head_dim - 1), n));
      }
    }
    const float* at = &from.At(c, n);
    StoreTransposed(d, hn::LoadU(d, at), hn::LoadU(d, at + from.channel),
                    hn::LoadU(d, at + 2 * from.channel),
                    hn::LoadU(d, at + 3 * from.channel),
                    Channel(s, p, c) + n * width, static_cast<size_t>(width));
  };
  ForQuads(p, from.state == 1, quad, [&](int64_t c, int64_t n) {
    Channel(s, p, c)[n * width] = from.At(c, n);
  });
}

inline void StoreState(const Mamba3Job& job, const Mamba3Task& task,
                       const Mamba3Scratch& s) {
  const QuadTag d;
  const Mamba3ScanProblem& p = *job.problem;
  const StateOfCarry<float> to(job.outputs->carry.h, task);
  const int64_t width = TileWidth();
  const auto quad = [&](int64_t c, int64_t n) HWY_ATTR {
    const float* at = Channel(s, p, c) + n * width;
    const auto exported = [&](const float* from) HWY_ATTR {
      return CanonicalNaN(d, hn::LoadU(d, from));
    };
    StoreTransposed(d, exported(at), exported(at + width),
                    exported(at + 2 * width), exported(at + 3 * width),
                    &to.At(c, n), static_cast<size_t>(to.channel));
  };
  ForQuads(p, to.state == 1, quad, [&](int64_t c, int64_t n) {
    to.At(c, n) = Exported(Channel(s, p, c)[n * width]);
  });
}

// All but the state.
inline void LoadCarriedRows(const Mamba3Job& job, const Mamba3Task& task,
                            Mamba3Scratch& s) {
  const Mamba3ScanProblem& p = *job.problem;
  const auto& carry = job.inputs->carry;
  if (p.angles > 0) {
    LoadRow(RowAt(carry.theta, task.run, task.head), p.angles, s.theta);
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    LoadRow(RowAt(carry.k, task.run, r, task.head), p.state_dim,
            s.k + r * s.n_pad);
  }
  LoadChannels(job, task.head, RowAt(carry.v, task.run, task.head), s, s.x);
}

// All but the state.
inline void StoreCarriedRows(const Mamba3Job& job, const Mamba3Task& task,
                             const Mamba3Scratch& s) {
  const Mamba3ScanProblem& p = *job.problem;
  const auto& carry = job.outputs->carry;
  const float* v = p.mimo() ? s.v : s.x;
  for (int64_t i = 0; i < p.angles; ++i) {
    carry.theta(task.run, task.head, i) = Exported(s.theta[i]);
  }
  for (int64_t c = 0; c < p.head_dim; ++c) {
    carry.v(task.run, task.head, c) = Exported(v[c]);
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    for (int64_t n = 0; n < p.state_dim; ++n) {
      carry.k(task.run, r, task.head, n) = Exported(s.k[r * s.n_pad + n]);
    }
  }
}

inline void StoreCarry(const Mamba3Job& job, const Mamba3Task& task,
                       const Mamba3Scratch& s) {
  StoreState(job, task, s);
  StoreCarriedRows(job, task, s);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
