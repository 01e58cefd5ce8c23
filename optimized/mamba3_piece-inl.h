// The forward pass of a backward scan: a piece of tokens from the state before
// it, and the states that are kept for the way back.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_PIECE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_PIECE_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_PIECE_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_PIECE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <utility>

#include "hwy/highway.h"
#include "optimized/mamba3_carry-inl.h"
#include "optimized/mamba3_head-inl.h"
#include "optimized/mamba3_prepare-inl.h"
#include "optimized/mamba3_reverse-inl.h"
#include "optimized/mamba3_reverse_work.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/mamba3_scan-inl.h"
#include "optimized/mamba3_work.h"
#include "optimized/simd/elementary-inl.h"
#include "reference/contract/mamba3_scan.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where the rotated vectors of a token go.
struct KeepSink {
  float* q;
  float* k;

  HWY_INLINE void operator()(int64_t n, hn::Vec<VectorTag> q_row,
                             hn::Vec<VectorTag> k_row) const {
    const VectorTag d;
    hn::StoreU(q_row, d, q + n);
    hn::StoreU(k_row, d, k + n);
  }
};

// 1 of N15 for the piece's `count` tokens from t on, and their lambda.
inline void WeighPiece(const ReverseJob& job, const Mamba3Task& task, int64_t t,
                       int64_t count, ReverseScratch& s) {
  const VectorTag d;
  Mamba3Scratch& f = s.head;
  for (int64_t i = 0; i < count; i += kWeightBlock) {
    const int64_t block = std::min(kWeightBlock, count - i);
    WeighTokens(job.forward, task, t + i, block, f);
    std::copy_n(f.dt, block, s.dt + i);
    std::copy_n(f.alpha, block, s.alpha + i);
    std::copy_n(f.gamma, block, s.gamma + i);
    std::copy_n(f.beta, block, s.beta + i);
  }
  LoadRow(From(RowAt(job.forward.inputs->tau, task.row, task.head), t), count,
          s.lambda);
  for (int64_t i = 0; i < count; i += VectorLanes()) {
    hn::Store(Sigmoid(d, hn::Load(d, s.lambda + i)), d, s.lambda + i);
  }
}

// 3 of N15 and the factors of 4 for token t, `i` of the piece and `block` of
// those whose angles were made together.
inline void PreparePieceToken(const ReverseJob& job, const Mamba3Task& task,
                              const HeadTensors& rows, int64_t t, int64_t i,
                              int64_t block, ReverseScratch& s) {
  const Mamba3ScanProblem& p = *job.forward.problem;
  Mamba3Scratch& f = s.head;
  float* x = s.x_rows + (i + 1) * f.x_stride;
  LoadChannels(job.forward, task.head, rows.v.At(t), f, x);
  std::copy_n(p.mimo() ? f.v : x, f.p_pad, s.v + (i + 1) * f.p_pad);
  const int64_t turns = block * f.a_stride;
  if (!p.mimo()) {
    SpreadTurns(p.angles, f.sine + turns, f.cosine + turns, f);
  }
  std::copy_n(f.sine + turns, f.a_stride, s.sine + i * f.a_stride);
  std::copy_n(f.cosine + turns, f.a_stride, s.cosine + i * f.a_stride);
  for (int64_t r = 0; r < p.ranks; ++r) {
    const int64_t row = i * f.k_stride + r * f.n_pad;
    float* k_before = s.k + row;
    float* k = k_before + f.k_stride;
    RotateRank(p, rows, t, block, r, f, KeepSink{s.q + row, k});
    Scale(s.gamma[i], k, p.state_dim, s.now + row);
    Scale(s.beta[i], k_before, p.state_dim, s.later + row);
  }
}

// The forward pass of the piece's `count` tokens from t on, from slot 0: their
// rows and, where `advance` says so, their read-out, from the state in
// s.head.h.
inline void ForwardPiece(const ReverseJob& job, const Mamba3Task& task,
                         const HeadTensors& rows, int64_t t, int64_t count,
                         bool advance, ReverseScratch& s) {
  const Mamba3ScanProblem& p = *job.forward.problem;
  Mamba3Scratch& f = s.head;
  WeighPiece(job, task, t, count, s);
  for (int64_t i = 0; i < count; i += kTokenBlock) {
    const int64_t block = std::min(kTokenBlock, count - i);
    AdvanceAngles(rows.vartheta, p.angles, t + i, block, s.dt + i, f);
    for (int64_t j = 0; j < block; ++j) {
      const int64_t ahead = t + i + j + kTokenBlock;
      if (ahead < task.end) PrefetchInputs(p, rows, ahead);
      PreparePieceToken(job, task, rows, t + i + j, i + j, j, s);
    }
    if (!advance) continue;
    // The scan's kernel on the piece's rows.
    float* const own[] = {f.q, f.now, f.later, f.x, f.o};
    f.q = s.q + i * f.k_stride;
    f.now = s.now + i * f.k_stride;
    f.later = s.later + i * f.k_stride;
    f.x = s.x_rows + i * f.x_stride;
    f.o = s.o + i * f.x_stride;
    AdvanceState(p, block, s.alpha + i, f, [](int64_t) {});
    f.q = own[0], f.now = own[1], f.later = own[2], f.x = own[3], f.o = own[4];
  }
}

// What is kept before a piece: first the state, with the n's in lanes.
inline float* KeptBefore(const ReverseScratch& s, int64_t piece) {
  return s.kept + piece * s.kept_size;
}

// Moves the rest of it to the place where it is kept, and back.
inline void KeepOrRestore(const Mamba3ScanProblem& p, int64_t piece, bool keep,
                          ReverseScratch& s) {
  Mamba3Scratch& f = s.head;
  float* kept = KeptBefore(s, piece) + p.head_dim * s.row;
  const std::pair<float*, int64_t> parts[] = {{s.k, f.k_stride},
                                              {s.x_rows, f.x_stride},
                                              {s.v, f.p_pad},
                                              {f.theta, f.a_stride}};
  for (const auto& [part, size] : parts) {
    if (keep) {
      std::copy_n(part, size, kept);
    } else {
      std::copy_n(kept, size, part);
    }
    kept += size;
  }
}

// The last token of a piece becomes the one before the next.
inline void MoveToNextPiece(int64_t count, ReverseScratch& s) {
  const Mamba3Scratch& f = s.head;
  std::copy_n(s.k + count * f.k_stride, f.k_stride, s.k);
  std::copy_n(s.x_rows + count * f.x_stride, f.x_stride, s.x_rows);
  std::copy_n(s.v + count * f.p_pad, f.p_pad, s.v);
}

// A state with the channels in lanes, s.head.h, to one with the n's in lanes,
// or back.
template <bool kBack>
inline void TurnState(const Mamba3ScanProblem& p, const Mamba3Scratch& f,
                      float* rows) {
  const QuadTag d;
  const int64_t width = TileWidth();
  const auto quad = [&](int64_t c, int64_t n) HWY_ATTR {
    float* of_channels = Channel(f, p, c) + n * width;
    float* of_rows = rows + TilePlace(n, c, p.head_dim);
    const float* from = kBack ? of_rows : of_channels;
    StoreTransposed(d, hn::LoadU(d, from), hn::LoadU(d, from + width),
                    hn::LoadU(d, from + 2 * width),
                    hn::LoadU(d, from + 3 * width),
                    kBack ? of_channels : of_rows, static_cast<size_t>(width));
  };
  ForQuads(p, true, quad, [&](int64_t c, int64_t n) {
    float& of_channels = Channel(f, p, c)[n * width];
    float& of_rows = rows[TilePlace(n, c, p.head_dim)];
    (kBack ? of_channels : of_rows) = kBack ? of_rows : of_channels;
  });
}

// The whole run forwards, for the states before its pieces.
inline void KeepStates(const ReverseJob& job, const Mamba3Task& task,
                       const HeadTensors& rows, ReverseScratch& s) {
  const Mamba3ScanProblem& p = *job.forward.problem;
  Mamba3Scratch& f = s.head;
  BeginHead(job.forward, task, f);
  std::copy_n(f.k, f.k_stride, s.k);
  std::copy_n(f.x, f.x_stride, s.x_rows);
  std::copy_n(p.mimo() ? f.v : f.x, f.p_pad, s.v);
  TurnState<false>(p, f, KeptBefore(s, 0));
  int64_t piece = 0;
  for (int64_t t = task.first; t < task.end; t += job.checkpoint, ++piece) {
    KeepOrRestore(p, piece, true, s);
    const int64_t count = std::min(job.checkpoint, task.end - t);
    if (t + count == task.end) break;
    ForwardPiece(job, task, rows, t, count, false, s);
    AdvanceStates(s, p, count, [&](int64_t i) {
      return KeptBefore(s, piece + (i > 0 ? 1 : 0));
    });
    MoveToNextPiece(count, s);
  }
}

// A piece again, and the states before its blocks. The read-out is made only if
// what follows it needs it.
inline void RestorePiece(const ReverseJob& job, const Mamba3Task& task,
                         const HeadTensors& rows, int64_t piece, int64_t t,
                         int64_t count, ReverseScratch& s) {
  const Mamba3ScanProblem& p = *job.forward.problem;
  const Mamba3Scratch& f = s.head;
  KeepOrRestore(p, piece, false, s);
  s.before_piece = KeptBefore(s, piece);
  const bool reads = p.gate || p.reduce || p.norm_epsilon;
  if (reads) TurnState<true>(p, f, s.before_piece);
  ForwardPiece(job, task, rows, t, count, reads, s);
  const int64_t in_blocks = (count - 1) / kReverseBlock * kReverseBlock;
  AdvanceStates(s, p, in_blocks, [&](int64_t i) {
    return StateBefore(s, p, (i + kReverseBlock - 1) / kReverseBlock);
  });
  for (int64_t i = 0; p.skip && reads && i < count; ++i) {
    AddSkip(job.forward.inputs->d(task.head), s.x_rows + (i + 1) * f.x_stride,
            f.x_stride, s.o + i * f.x_stride);
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
