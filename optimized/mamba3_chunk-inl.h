// The chunked form of a head's run: a look-ahead state, and matrices within a
// piece. A piece is the intersection of a run and a chunk of the row's grid, so
// the masks are ranges. No value of another run or of a later token enters a
// sum, not even times zero. Chains: docs/ops/mamba3_scan.md.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_CHUNK_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_CHUNK_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_CHUNK_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_CHUNK_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/mamba3_head-inl.h"
#include "optimized/mamba3_prepare-inl.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/mamba3_scan-inl.h"
#include "optimized/mamba3_work.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// q k of one row and the rows 0 .. count - 1 of k, four at a time: sixteen
// stripes over n, folded as in N11. `n` is a multiple of 16.
inline void ScoreRow(const float* HWY_RESTRICT q, const float* HWY_RESTRICT k,
                     int64_t n_pad, int64_t n, int64_t count,
                     float* HWY_RESTRICT score) {
  const hn::CappedTag<float, kStripes> d;
  constexpr int kParts = static_cast<int>(kStripes / hn::MaxLanes(d));
  constexpr int kColumns = 4;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t c = 0; c < count; c += kColumns) {
    hn::Vec<decltype(d)> sum[kColumns][kParts];
    for (auto& column : sum) {
      for (auto& part : column) part = hn::Zero(d);
    }
    const float* HWY_RESTRICT rows = k + c * n_pad;
    for (int64_t at = 0; at < n; at += kStripes) {
      for (int part = 0; part < kParts; ++part) {
        const int64_t from = at + part * lanes;
        const auto of_q = hn::Load(d, q + from);
        for (int i = 0; i < kColumns; ++i) {
          sum[i][part] = hn::MulAdd(of_q, hn::Load(d, rows + i * n_pad + from),
                                    sum[i][part]);
        }
      }
    }
    for (int i = 0; i < kColumns; ++i) {
      alignas(64) float l[kStripes];
      for (int part = 0; part < kParts; ++part) {
        hn::Store(sum[i][part], d, l + part * lanes);
      }
      for (int w = kStripes / 2; w >= 1; w /= 2) {
        for (int s = 0; s < w; ++s) l[s] += l[s + w];
      }
      score[c + i] = l[0];
    }
  }
}

// o = sum over the rows 0 .. count - 1 of weight times x, ascending.
inline void MixRow(const float* HWY_RESTRICT weight,
                   const float* HWY_RESTRICT x, int64_t p_pad, int64_t head_dim,
                   int64_t count, float* HWY_RESTRICT o) {
  constexpr int kVectors = 4;
  const VectorTag d;
  const int64_t lanes = VectorLanes();
  for (int64_t c = 0; c < head_dim; c += kVectors * lanes) {
    hn::Vec<VectorTag> sum[kVectors];
    for (auto& value : sum) value = hn::Zero(d);
    for (int64_t i = 0; i < count; ++i) {
      const auto factor = hn::Set(d, weight[i]);
      for (int v = 0; v < kVectors; ++v) {
        const auto of_x = hn::Load(d, x + i * p_pad + c + v * lanes);
        sum[v] = hn::MulAdd(factor, of_x, sum[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(sum[v], d, o + c + v * lanes);
    }
  }
}

// o = reach (sum over n of q h) + o for four rows and a tile of the state.
inline void ReadTile(const Mamba3ChunkScratch& s, int64_t row, int64_t n_end,
                     int64_t c, const float* HWY_RESTRICT h) {
  constexpr int kRows = 4;
  const VectorTag d;
  const int64_t lanes = VectorLanes();
  const float* HWY_RESTRICT q = s.q + row * s.head.n_pad;
  hn::Vec<VectorTag> sum[kRows][kChannelVectors];
  for (auto& of_row : sum) {
    for (auto& value : of_row) value = hn::Zero(d);
  }
  for (int64_t n = 0; n < n_end; ++n, h += TileWidth()) {
    for (int v = 0; v < kChannelVectors; ++v) {
      const auto state = hn::Load(d, h + v * lanes);
      for (int i = 0; i < kRows; ++i) {
        const auto read = hn::Set(d, q[i * s.head.n_pad + n]);
        sum[i][v] = hn::MulAdd(read, state, sum[i][v]);
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    const auto reach = hn::Set(d, s.reach[row + i]);
    float* HWY_RESTRICT o = s.o + (row + i) * s.head.p_pad + c;
    for (int v = 0; v < kChannelVectors; ++v) {
      const auto within = hn::Load(d, o + v * lanes);
      hn::Store(hn::MulAdd(reach, sum[i][v], within), d, o + v * lanes);
    }
  }
}

// h = reach h + sum over the rows of k x, ascending; kRows of n of a tile.
template <int kRows>
HWY_INLINE void UpdateTile(const Mamba3ChunkScratch& s, int64_t rows,
                           float reach, int64_t n, int64_t c,
                           float* HWY_RESTRICT h) {
  const VectorTag d;
  const int64_t lanes = VectorLanes();
  const int64_t width = TileWidth();
  const auto factor = hn::Set(d, reach);
  hn::Vec<VectorTag> state[kRows][kChannelVectors];
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kChannelVectors; ++v) {
      state[i][v] = hn::Mul(factor, hn::Load(d, h + i * width + v * lanes));
    }
  }
  const float* HWY_RESTRICT k = s.k + n;
  const float* HWY_RESTRICT x = s.x + c;
  for (int64_t row = 0; row < rows; ++row) {
    for (int v = 0; v < kChannelVectors; ++v) {
      const auto of_x = hn::Load(d, x + row * s.head.p_pad + v * lanes);
      for (int i = 0; i < kRows; ++i) {
        const auto weight = hn::Set(d, k[row * s.head.n_pad + i]);
        state[i][v] = hn::MulAdd(weight, of_x, state[i][v]);
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kChannelVectors; ++v) {
      hn::Store(state[i][v], d, h + i * width + v * lanes);
    }
  }
}

struct ChunkSink {
  float* q;
  float* k;

  HWY_INLINE void operator()(int64_t n, hn::Vec<VectorTag> q_row,
                             hn::Vec<VectorTag> k_row) const {
    const VectorTag d;
    hn::StoreU(q_row, d, q + n);
    hn::StoreU(k_row, d, k + n);
  }
};

class ChunkWalk {
 public:
  ChunkWalk(const Mamba3Job& job, const Mamba3Task& task, Mamba3ChunkScratch& s)
      : job_(job), p_(*job.problem), task_(task), rows_(job, task), s_(s) {}

  void Run() const {
    for (int64_t t = task_.first; t < task_.end;) {
      const int64_t next =
          std::min(task_.end, (t / job_.chunk + 1) * job_.chunk);
      AdvancePiece(t, next - t);
      t = next;
    }
  }

 private:
  void AdvancePiece(int64_t first, int64_t count) const {
    const int64_t rows = count * p_.ranks;
    Weigh(first, count);
    if (first == task_.first && p_.carry_in) ChargeState();
    for (int64_t i = 0; i < count; i += kTokenBlock) {
      PrepareTokens(first + i, i, std::min(kTokenBlock, count - i));
    }
    float reach = 1.0f;
    for (int64_t i = 0; i < count; ++i) reach = MixToken(i, reach);
    KeepLast(count);
    for (int64_t row = 0; row < rows; ++row) {
      float* k = s_.k + row * s_.head.n_pad;
      Scale(s_.look[row] * s_.since[row], k, p_.state_dim, k);
    }
    for (int64_t c = 0; c < p_.head_dim; c += TileWidth()) {
      AdvanceTiles(rows, reach, c);
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = i * s_.head.x_stride;
      WriteToken(job_, task_.head, rows_, first + i, s_.x + at, s_.o + at,
                 s_.head);
    }
  }

  // 1, of the piece and of the token behind it, which the look-ahead wants.
  void Weigh(int64_t first, int64_t count) const {
    const int64_t end = std::min(first + count + 1, task_.end);
    const Mamba3Scratch& from = s_.head;
    for (int64_t t = first; t < end; t += kWeightBlock) {
      const int64_t size = std::min(kWeightBlock, end - t);
      WeighTokens(job_, task_, t, size, s_.head);
      std::copy_n(from.dt, size, s_.dt + (t - first));
      std::copy_n(from.alpha, size, s_.alpha + (t - first));
      std::copy_n(from.gamma, size, s_.gamma + (t - first));
      std::copy_n(from.rest, size, s_.rest + (t - first));
    }
    for (int64_t i = 0; i < count; ++i) {
      const bool ends = first + i + 1 == task_.end;
      const float look = ends ? s_.gamma[i] : s_.gamma[i] + s_.rest[i + 1];
      std::fill_n(s_.look + i * p_.ranks, p_.ranks, look);
    }
  }

  // The carried state gets what its last token gives to the run's first.
  void ChargeState() const {
    const VectorTag d;
    const Mamba3Scratch& s = s_.head;
    for (int64_t r = 0; r < p_.ranks; ++r) {
      for (int64_t n = 0; n < p_.state_dim; ++n) {
        const auto k = hn::Set(d, s_.rest[0] * s.k[r * s.n_pad + n]);
        for (int64_t c = 0; c < p_.head_dim; c += VectorLanes()) {
          float* h = Channel(s, p_, c) + n * TileWidth();
          const auto x = hn::Load(d, s.x + r * s.p_pad + c);
          hn::Store(hn::MulAdd(k, x, hn::Load(d, h)), d, h);
        }
      }
    }
  }

  // 2 and 3 of at most kTokenBlock tokens, the first `i` of the piece.
  void PrepareTokens(int64_t t, int64_t i, int64_t count) const {
    Mamba3Scratch& s = s_.head;
    AdvanceAngles(rows_.vartheta, p_.angles, t, count, s_.dt + i, s);
    for (int64_t token = 0; token < count; ++token) {
      const int64_t row = (i + token) * p_.ranks;
      LoadChannels(job_, task_.head, rows_.v.At(t + token), s,
                   s_.x + row * s.p_pad);
      if (!p_.mimo()) {
        const int64_t at = token * s.a_stride;
        SpreadTurns(p_.angles, s.sine + at, s.cosine + at, s);
      }
      for (int64_t r = 0; r < p_.ranks; ++r) {
        float* q = s_.q + (row + r) * s.n_pad;
        float* k = s_.k + (row + r) * s.n_pad;
        RotateRank(p_, rows_, t + token, token, r, s, ChunkSink{q, k});
        std::fill_n(q + p_.state_dim, Stripes() - p_.state_dim, 0.0f);
        std::fill_n(k + p_.state_dim, Stripes() - p_.state_dim, 0.0f);
      }
    }
  }

  int64_t Stripes() const {
    return (p_.state_dim + kStripes - 1) / kStripes * kStripes;
  }

  // What token i of the piece reads of the piece itself; `before` is the decay
  // up to the token before, the return value that up to it.
  float MixToken(int64_t i, float before) const {
    const VectorTag d;
    const int64_t own = i * p_.ranks;
    const int64_t end = own + p_.ranks;
    const auto alpha = hn::Set(d, s_.alpha[i]);
    const float reach = before * s_.alpha[i];
    for (int64_t row = 0; row < own; row += VectorLanes()) {
      const auto since = hn::Mul(hn::Load(d, s_.since + row), alpha);
      hn::Store(since, d, s_.since + row);
      hn::Store(hn::Mul(since, hn::Load(d, s_.look + row)), d, s_.weight + row);
    }
    std::fill_n(s_.since + own, p_.ranks, 1.0f);
    std::fill_n(s_.weight + own, p_.ranks, s_.gamma[i]);
    std::fill_n(s_.reach + own, p_.ranks, reach);
    for (int64_t row = own; row < end; ++row) {
      ScoreRow(s_.q + row * s_.head.n_pad, s_.k, s_.head.n_pad, Stripes(), end,
               s_.score);
      for (int64_t c = 0; c < end; c += VectorLanes()) {
        const auto score = hn::Load(d, s_.score + c);
        hn::Store(hn::Mul(score, hn::Load(d, s_.weight + c)), d, s_.score + c);
      }
      MixRow(s_.score, s_.x, s_.head.p_pad, p_.head_dim, end,
             s_.o + row * s_.head.p_pad);
    }
    return reach;
  }

  // k and x of the last token, for the carry.
  void KeepLast(int64_t count) const {
    const int64_t row = (count - 1) * p_.ranks;
    std::copy_n(s_.k + row * s_.head.n_pad, s_.head.k_stride, s_.head.k);
    std::copy_n(s_.x + row * s_.head.p_pad, s_.head.x_stride, s_.head.x);
  }

  // A tile is read by all rows, then updated by all, while it is in L1.
  void AdvanceTiles(int64_t rows, float reach, int64_t c) const {
    constexpr int kRows = 4;
    const int64_t width = TileWidth();
    float* h = s_.head.h + c * p_.state_dim;
    for (int64_t row = 0; row < rows; row += kRows) {
      ReadTile(s_, row, p_.state_dim, c, h);
    }
    int64_t n = 0;
    for (; n + kRows <= p_.state_dim; n += kRows) {
      UpdateTile<kRows>(s_, rows, reach, n, c, h + n * width);
    }
    for (; n < p_.state_dim; ++n) {
      UpdateTile<1>(s_, rows, reach, n, c, h + n * width);
    }
  }

  const Mamba3Job& job_;
  const Mamba3ScanProblem& p_;
  const Mamba3Task& task_;
  const HeadTensors rows_;
  Mamba3ChunkScratch& s_;
};

inline void RunChunks(const Mamba3Job& job, const Mamba3Task& task,
                      Mamba3ChunkScratch& s) {
  BeginHead(job, task, s.head);
  ChunkWalk(job, task, s).Run();
  if (job.outputs->carry.given()) StoreCarry(job, task, s.head);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
