// One key tile of attention_backward. Its loop goes head by head over the query
// tiles that see the key tile. It adds to dq of their queries, and to dk and dv
// of the tile's keys.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "hwy/highway.h"
#include "optimized/attention_backward_pack-inl.h"
#include "optimized/attention_backward_tiles-inl.h"
#include "optimized/attention_backward_work.h"
#include "optimized/attention_weights-inl.h"
#include "optimized/simd/elementary-inl.h"
#include "optimized/simd/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Fills the bits of the rows that take part and, per row block, the keys that
// some row of it sees. Returns whether there are any.
inline bool FillBits(const BackwardJob& job, const KeyTask& task,
                     const QueryTile& tile, BackwardRow* rows,
                     BackwardWorker& w) {
  const size_t words = job.bit_words();
  const int64_t panel = job.geometry.panel();
  w.bits.assign(static_cast<size_t>(tile.count()) * words, 0);
  const HeadQueries part{tile.head, tile.queries};
  w.masks->Start(task.batch, {&part, 1});
  bool any = false;
  for (int64_t r = 0; r < tile.count(); ++r) {
    const std::span<uint64_t> bits(&w.bits[static_cast<size_t>(r) * words],
                                   words - 1);
    const Range sees =
        w.masks->TileBits(static_cast<size_t>(r), task.tile, bits);
    if (sees.empty()) continue;
    rows[r].sees = true;
    if (!rows[r].counts) {
      std::fill(bits.begin(), bits.end(), 0);
      continue;
    }
    Range& seen = w.seen[static_cast<size_t>(r / job.geometry.row_block)];
    const Range own{sees.begin / panel * panel, RoundUp(sees.end, panel)};
    seen = seen.empty() ? own
                        : Range{std::min(seen.begin, own.begin),
                                std::max(seen.end, own.end)};
    any = true;
  }
  return any;
}

// 2^x, but zero where that would be subnormal (N18). There 2^0 is computed
// instead, because processors are slow with subnormal intermediate values.
template <class D>
HWY_INLINE hn::Vec<D> WeightOf(D df, hn::Vec<D> x) {
  const auto least = hn::Set(df, kLeastWeightLog2);
  const auto below = hn::Lt(x, least);  // not where x is NaN
  return hn::IfThenZeroElse(below, Exp2(df, hn::IfThenZeroElse(below, x)));
}

template <class D>
HWY_INLINE hn::Vec<D> SubnormalAsZero(D df, hn::Vec<D> x) {
  const auto least = hn::Set(df, std::numeric_limits<float>::min());
  return hn::IfThenZeroElse(hn::Lt(hn::Abs(x), least), x);
}

// One row of scores: dots -> p, products do.v -> ds, keys of `seen`.
template <bool kCapped, bool kMasked, class D>
HWY_INLINE void RowGradients(D df, const BackwardJob& job,
                             const BackwardRow& row, const uint8_t* bits,
                             Range seen, float* HWY_RESTRICT p,
                             float* HWY_RESTRICT ds) {
  const auto scale = InVectors(df, job.scale);
  const auto l = hn::Set(df, row.l);
  const auto delta = hn::Set(df, row.delta);
  const Lane lane = job.forward().p_lane;
  for (auto j = static_cast<size_t>(seen.begin);
       j < static_cast<size_t>(seen.end); j += hn::Lanes(df)) {
    auto u = hn::Mul(hn::Load(df, p + j), scale.inner);
    auto slope = hn::Set(df, 1.0f);
    if constexpr (kCapped) {
      const auto y = TanhCore(df, u);
      u = hn::Mul(scale.outer, y);
      slope = hn::NegMulAdd(y, y, slope);
    }
    auto weight = WeightOf(df, hn::Sub(u, l));
    auto gradient = hn::Mul(weight, hn::Sub(hn::Load(df, ds + j), delta));
    if constexpr (kCapped) gradient = hn::Mul(gradient, slope);
    gradient = SubnormalAsZero(df, gradient);
    weight = RoundWeight(df, lane, weight);
    gradient = RoundWeight(df, lane, gradient);
    if constexpr (kMasked) {
      const auto visible = VisibleFrom(df, bits, j);
      weight = hn::IfThenElseZero(visible, weight);
      gradient = hn::IfThenElseZero(visible, gradient);
    }
    hn::Store(weight, df, p + j);
    hn::Store(gradient, df, ds + j);
  }
}

// Scores of one row block -> p and ds; zero where it sees nothing, and in rows
// beyond the tile.
template <bool kMasked, class D>
HWY_INLINE void BlockGradients(D df, const BackwardJob& job,
                               const BackwardRow* rows, int64_t count,
                               size_t block, BackwardWorker& w) {
  const size_t stride = job.score_stride();
  const Range seen = w.seen[block];
  for (size_t r = 0; r < kRowBlock; ++r) {
    const size_t at = block * kRowBlock + r;
    float* p = &w.p[at * stride];
    float* ds = &w.ds[at * stride];
    Range filled = seen;
    if (static_cast<int64_t>(at) >= count) filled = {0, 0};
    for (float* x : {p, ds}) {
      std::fill(x, x + filled.begin, 0.0f);
      std::fill(x + filled.end, x + stride, 0.0f);
    }
    if (filled.empty()) continue;
    const uint8_t* bits =
        kMasked
            ? reinterpret_cast<const uint8_t*>(&w.bits[at * job.bit_words()])
            : nullptr;
    if (job.scale.capped) {
      RowGradients<true, kMasked>(df, job, rows[at], bits, seen, p, ds);
    } else {
      RowGradients<false, kMasked>(df, job, rows[at], bits, seen, p, ds);
    }
  }
}

// dq of the tile's rows, from and to the job's.
inline void CopyRows(const float* from, int64_t rows, int64_t channels,
                     float* to) {
  std::copy(from, from + rows * channels, to);
}

// One query tile against the key tile.
template <class D>
void RunQueryTile(D df, const BackwardJob& job, const KeyTask& task,
                  const QueryTile& tile, BackwardWorker& w) {
  const int64_t first_row =
      job.RowAt(task.batch, tile.head, tile.queries.begin);
  BackwardRow* rows = job.rows + first_row;
  const auto blocks =
      static_cast<size_t>(CeilDiv(tile.count(), job.geometry.row_block));
  const bool masked =
      tile.kind != TileClass::kFull ||
      !std::all_of(rows, rows + tile.count(),
                   [](const BackwardRow& row) { return row.counts; });
  w.seen.assign(blocks, masked ? Range{0, 0} : Range{0, job.padded_keys()});
  if (masked && !FillBits(job, task, tile, rows, w)) return;
  for (int64_t r = 0; !masked && r < tile.count(); ++r) rows[r].sees = true;
  ++(masked ? w.counts.tiles_partial : w.counts.tiles_full);
  const int64_t place = job.FirstQuery(task.batch);
  const Positions at{task.batch,
                     tile.head,
                     {place + tile.queries.begin, place + tile.queries.end},
                     job.padded_rows()};
  PackBackward(job.inputs->forward.q, at, kRowBlock, job.geometry, w.q);
  PackBackward(job.inputs->d_o, at, kRowBlock, job.geometry, w.d_o);
  TileScores(df, job, w);
  for (size_t block = 0; block < blocks; ++block) {
    if (masked) {
      BlockGradients<true>(df, job, rows, tile.count(), block, w);
    } else {
      BlockGradients<false>(df, job, rows, tile.count(), block, w);
    }
  }
  float* dq = job.dq + first_row * job.padded_head();
  CopyRows(dq, tile.count(), job.padded_head(), w.dq.data());
  if (masked && !(w.q.finite && w.d_o.finite && w.k.finite)) {
    ++w.counts.tiles_by_pair;
    for (int64_t r = 0; r < tile.count(); ++r) AddRowByPair(df, job, r, w);
  } else {
    AddToQueries(df, job, w);
    AddToKeys(df, job, w, w.p.data(), w.d_o, job.padded_value(), w.dv.data());
    AddToKeys(df, job, w, w.ds.data(), w.q, job.padded_head(), w.dk.data());
  }
  CopyRows(w.dq.data(), tile.count(), job.padded_head(), dq);
}

// The sums of one position, scaled and finished (N2, N11) in place, and
// written.
template <class D>
void StoreGradient(D df, float scale, int64_t b, int64_t h, int64_t position,
                   float* HWY_RESTRICT sums, const MutableLaneView& out) {
  const int64_t dim = out.shape[3];
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  for (int64_t c = 0; c < dim; c += lanes) {  // sums are padded to vectors
    auto x = hn::Mul(hn::LoadU(df, sums + c), hn::Set(df, scale));
    x = RoundToLane(df, out.lane, x);
    x = CanonicalNaN(df, hn::Add(x, hn::Zero(df)));
    hn::StoreU(x, df, sums + c);
  }
  WithLane(out.lane, [&](auto element) HWY_ATTR {
    const auto view = out.As<decltype(element)>();
    StoreRounded(sums, dim, view.strides[3], &view(b, h, position, 0));
  });
}

// dq of all rows of the kv head, which no key tile adds to any more.
template <class D>
void StoreQueries(D df, const BackwardJob& job, const KeyTask& task) {
  const AttentionForwardProblem& p = job.forward();
  const auto scale = static_cast<float>(p.scale);
  const int64_t queries = job.Queries(task.batch);
  const int64_t place = job.FirstQuery(task.batch);
  for (int64_t r = 0; r < p.group() * queries; ++r) {
    const int64_t head = task.kv_head * p.group() + r / queries;
    const int64_t row = job.RowAt(task.batch, head, r % queries);
    StoreGradient(df, scale, task.batch, head, place + r % queries,
                  job.dq + row * job.padded_head(), job.outputs->dq);
  }
}

// The query tiles of one head that see the key tile, ascending, in pieces of
// the plan's row tiles.
template <class D>
void RunHead(D df, const BackwardJob& job, const KeyTask& task, int64_t head,
             Wavefront& wavefront, BackwardWorker& w) {
  const AttentionForwardProblem& p = job.forward();
  const TilePlan& tiles = (*job.tiles)[static_cast<size_t>(task.batch)];
  const TileList& list = tiles.pattern(head).by_key;
  const auto tile = static_cast<size_t>(task.tile);
  const bool whole =
      (task.tile + 1) * job.plan->tile_keys <= job.Keys(task.batch) &&
      job.padded_keys() == job.plan->tile_keys;
  const int64_t before = (head % p.group()) * p.q_len;
  for (int64_t n = list.start[tile]; n < list.start[tile + 1]; ++n) {
    const auto at = static_cast<size_t>(n);
    const int64_t begin = list.inner[at] * tiles.grid.tile_q;
    const int64_t end =
        std::min(begin + tiles.grid.tile_q, job.Queries(task.batch));
    // A ragged key tile needs element masks.
    const TileClass kind = whole ? list.classes[at] : TileClass::kPartial;
    for (int64_t i = begin; i < end; i += job.plan->tile_rows) {
      const QueryTile part{
          head, {i, std::min(i + job.plan->tile_rows, end)}, kind};
      wavefront.Wait(task, before + part.queries.end);
      RunQueryTile(df, job, task, part, w);
      wavefront.Publish(task, before + part.queries.end);
    }
  }
}

template <class D>
void RunKeyTileT(D df, const BackwardJob& job, const KeyTask& task,
                 Wavefront& wavefront, BackwardWorker& w) {
  const AttentionForwardProblem& p = job.forward();
  const int64_t begin = task.tile * job.plan->tile_keys;
  const int64_t end =
      std::min(begin + job.plan->tile_keys, job.Keys(task.batch));
  const int64_t place = job.FirstKey(task.batch);
  const Positions at{task.batch,
                     task.kv_head,
                     {place + begin, place + end},
                     job.padded_keys()};
  const int64_t panel = job.geometry.panel();
  if (begin < end) {
    PackBackward(job.inputs->forward.k, at, panel, job.geometry, w.k);
    PackBackward(job.inputs->forward.v, at, panel, job.geometry, w.v);
    std::fill(w.dk.begin(), w.dk.end(), 0.0f);
    std::fill(w.dv.begin(), w.dv.end(), 0.0f);
    const int64_t first = task.kv_head * p.group();
    for (int64_t head = first; head < first + p.group(); ++head) {
      RunHead(df, job, task, head, wavefront, w);
    }
  }
  wavefront.Wait(task, job.group_rows());
  wavefront.Publish(task, job.group_rows());
  if (task.tile + 1 == job.plan->key_tiles) StoreQueries(df, job, task);
  const auto scale = static_cast<float>(p.scale);
  for (int64_t j = begin; j < end; ++j) {
    const auto key = static_cast<size_t>(j - begin);
    StoreGradient(df, scale, task.batch, task.kv_head, place + j,
                  &w.dk[key * static_cast<size_t>(job.padded_head())],
                  job.outputs->dk);
    StoreGradient(df, 1.0f, task.batch, task.kv_head, place + j,
                  &w.dv[key * static_cast<size_t>(job.padded_value())],
                  job.outputs->dv);
  }
}

// One key tile, start to end: the function behind the dispatch table.
void RunKeyTile(const BackwardJob& job, const KeyTask& task,
                Wavefront& wavefront, BackwardWorker& w) {
  RunKeyTileT(hn::ScalableTag<float>(), job, task, wavefront, w);
}

// L and D of rows [begin, end) of one head (N18, 1).
template <typename T>
void PrepareRowsT(const BackwardJob& job, int64_t b, int64_t h, Range queries) {
  const AttentionBackwardInputs& in = *job.inputs;
  const hn::CappedTag<float, 1> d1;
  const auto o = in.o.As<T>();
  const auto d_o = in.d_o.As<T>();
  const AttentionForwardProblem& p = job.forward();
  for (int64_t i = queries.begin; i < queries.end; ++i) {
    BackwardRow& row = job.rows[job.RowAt(b, h, i)];
    const int64_t at = job.FirstQuery(b) + i;
    const float lse = in.lse(b, h, at);
    row.counts = lse != -std::numeric_limits<float>::infinity();
    row.l = lse < std::numeric_limits<float>::infinity()
                ? lse * static_cast<float>(kLog2E)
                : std::numeric_limits<float>::quiet_NaN();
    auto sum = hn::Zero(d1);
    for (int64_t c = 0; c < p.value_dim; ++c) {
      sum = hn::MulAdd(hn::Set(d1, ToFloat(d_o(b, h, at, c))),
                       hn::Set(d1, ToFloat(o(b, h, at, c))), sum);
    }
    row.delta = hn::GetLane(sum);
    if (job.problem->dlse) row.delta -= in.dlse(b, h, at);
  }
}

void PrepareRows(const BackwardJob& job, int64_t b, int64_t h, Range queries) {
  WithLane(job.forward().lane, [&](auto element) HWY_ATTR {
    PrepareRowsT<decltype(element)>(job, b, h, queries);
  });
}

// N18, 5: one chain over the batch rows and queries of the head.
void FinishSink(const BackwardJob& job, int64_t head) {
  const AttentionForwardProblem& p = job.forward();
  const hn::CappedTag<float, 1> d1;
  const float u = job.inputs->forward.sink(head) * static_cast<float>(kLog2E);
  auto sum = hn::Zero(d1);
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t i = 0; i < job.Queries(b); ++i) {
      const BackwardRow& row = job.rows[job.RowAt(b, head, i)];
      if (!row.counts) continue;
      // Of a row that sees nothing, do and o are not looked at.
      const float delta =
          row.sees ? row.delta
          : job.problem->dlse
              ? 0.0f - job.inputs->dlse(b, head, job.FirstQuery(b) + i)
              : 0.0f;
      const auto s = Exp2(d1, hn::Set(d1, u - row.l));
      sum = hn::NegMulAdd(s, hn::Set(d1, delta), sum);
    }
  }
  sum = CanonicalNaN(d1, hn::Add(sum, hn::Zero(d1)));
  job.outputs->dsink(head) = hn::GetLane(sum);
}

Geometry BackwardGeometry() {
  const hn::ScalableTag<float> df;
  return {static_cast<int64_t>(hn::Lanes(df)), kRowBlock};
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
