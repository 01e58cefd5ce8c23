// One row tile of attention_forward: walk the key tiles, keep the running
// state, finish the rows. The exact path for rows that left it is in
// attention_exact-inl.h.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_FORWARD_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_FORWARD_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_FORWARD_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_FORWARD_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "hwy/highway.h"
#include "optimized/attention_block-inl.h"
#include "optimized/attention_finish-inl.h"
#include "optimized/attention_kernels-inl.h"
#include "optimized/attention_key_scales.h"
#include "optimized/attention_panels.h"
#include "optimized/attention_states-inl.h"
#include "optimized/attention_work.h"
#include "optimized/matrix_unit.h"
#include "optimized/simd/registers-inl.h"
#include "optimized/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Which rows the tile holds, and their state before any key.
inline void StartRows(const AttentionJob& job, const RowTile& tile,
                      Worker& worker) {
  const AttentionForwardProblem& p = *job.problem;
  const int64_t queries = job.Queries(tile.batch);
  worker.rows.assign(static_cast<size_t>(tile.rows), RowState());
  for (int64_t r = 0; r < tile.rows; ++r) {
    RowState& row = worker.rows[static_cast<size_t>(r)];
    const int64_t at = tile.first_row + r;
    row.head = tile.kv_head * p.group() + at / queries;
    row.query = at % queries;
    row.place = job.FirstQuery(tile.batch) + row.query;
    row.scale = OwnScaleOf(job, tile.batch, row);
    row.fixed = job.plan->fixed_m;
    row.m = row.fixed ? 0.0f : -std::numeric_limits<float>::max();
    row.n_min = std::numeric_limits<float>::infinity();
    if (!p.sink) continue;
    row.sink = job.inputs->sink(row.head) * static_cast<float>(kLog2E);
    const float n = std::nearbyint(row.sink);
    if (row.fixed && n <= kFixedPathBound) continue;
    row.fixed = false;
    // A NaN or +inf sink makes the row NaN whatever m is (N13).
    row.m = std::max(-std::numeric_limits<float>::max(), n);
  }
}

// Clears what the key walk adds to.
inline void ClearSums(const AttentionJob& job, Worker& worker) {
  const int64_t rows =
      RoundUp(static_cast<int64_t>(worker.rows.size()), job.geometry.row_block);
  worker.acc.assign(static_cast<size_t>(rows * job.padded_values), 0.0f);
  worker.stripes.assign(worker.rows.size() * kStripes, 0.0f);
  worker.v_seen = Magnitudes();
}

// Looks up which of these key tiles the rows have to visit.
inline void StartMasks(int64_t batch, Range tiles, Worker& worker) {
  worker.parts.clear();
  for (const RowState& row : worker.rows) {
    if (worker.parts.empty() || worker.parts.back().head != row.head) {
      worker.parts.push_back({row.head, {row.query, row.query}});
    }
    worker.parts.back().queries.end = row.query + 1;
  }
  worker.masks->Start(batch, worker.parts, tiles);
}

// Fills the bits of every row and, per row block, the range of keys that some
// row of it sees, of those of the part. Returns whether any row sees any key.
inline bool FillBits(const AttentionJob& job, int64_t key_tile, Range part,
                     Worker& worker) {
  const size_t words = BitWords(job);
  const auto row_block = static_cast<size_t>(job.geometry.row_block);
  worker.bits.assign(worker.rows.size() * words, 0);
  const Range keys = job.KeysOfTile(key_tile);
  const bool whole = part.begin <= keys.begin && keys.end <= part.end;
  bool any = false;
  for (size_t r = 0; r < worker.rows.size(); ++r) {
    Range& seen = worker.seen[r / row_block];
    if (r % row_block == 0) seen = {0, 0};
    const std::span<uint64_t> bits(&worker.bits[r * words], words - 1);
    Range own = worker.masks->TileBits(r, key_tile, bits);
    if (!whole) {
      own = KeepBits({part.begin - keys.begin, part.end - keys.begin}, bits);
    }
    if (own.empty()) continue;
    worker.rows[r].visible = any = true;
    seen = seen.empty() ? own
                        : Range{std::min(seen.begin, own.begin),
                                std::max(seen.end, own.end)};
  }
  return any;
}

// Queries of the next row tile will be packed, outputs of the one at hand
// written: of each the rows of its first head.
inline void ExpectRows(const AttentionJob& job, const RowTile& tile,
                       Worker& worker) {
  const AttentionForwardProblem& p = *job.problem;
  const auto lines_of = [&](const auto& x, const RowTile& rows) {
    if (rows.rows == 0) return LinesAhead();
    const int64_t queries = job.Queries(rows.batch);
    const int64_t query = rows.first_row % queries;
    return LinesOf(x, rows.batch,
                   rows.kv_head * p.group() + rows.first_row / queries,
                   job.FirstQuery(rows.batch) + query,
                   std::min(rows.rows, queries - query));
  };
  worker.ahead.queries = lines_of(job.inputs->q, worker.next);
  worker.ahead.outputs = lines_of(job.outputs->o, tile);
}

// All rows against one tile that some row sees. Returns its v_exponent.
inline int RowsTimesTile(const AttentionJob& job, const RowTile& rows,
                         const PackedHead& packed, int64_t key_tile,
                         bool masked, bool exact, Worker& worker) {
  FillScalesOfTile(job, rows, job.KeysOfTile(key_tile), worker);
  if (job.direct) {
    ++worker.counts.tiles_in_place;
    return DirectTimesTile(job, rows, job.KeysOfTile(key_tile), masked, worker);
  }
  return PackedTimesTile(job, rows, packed, key_tile, masked, exact, worker);
}

// All visible keys of the part, ascending, active tiles only. Returns the
// smallest v_exponent seen. A tile that two parts share counts in both.
inline int WalkKeys(const AttentionJob& job, const RowTile& rows, Range part,
                    const PackedHead& packed, bool exact, Worker& worker) {
  int v_exponent = PackedTile().v_exponent;
  const Range tiles{part.begin / job.plan->tile_keys,
                    CeilDiv(part.end, job.plan->tile_keys)};
  StartMasks(rows.batch, tiles, worker);
  worker.counts.tiles_empty += tiles.end - tiles.begin;
  for (const KeyTileVisit& visit : worker.masks->visits()) {
    const int64_t t = visit.tile;
    const Range keys = job.KeysOfTile(t);
    const bool whole = part.begin <= keys.begin && keys.end <= part.end;
    // The walk steps by whole stripes or blocks, so a ragged tile needs element
    // masks.
    const bool full = visit.kind == TileClass::kFull && whole &&
                      (keys.end - keys.begin) % job.key_step() == 0;
    if (!full && !FillBits(job, t, part, worker)) continue;
    --worker.counts.tiles_empty;
    ++(full ? worker.counts.tiles_full : worker.counts.tiles_partial);
    if (full) {
      for (RowState& row : worker.rows) row.visible = true;
      for (Range& seen : worker.seen) seen = {0, keys.end - keys.begin};
    }
    v_exponent = std::min(
        v_exponent, RowsTimesTile(job, rows, packed, t, !full, exact, worker));
  }
  return v_exponent;
}

// N9's guard: whether the online result is the two-pass one, finite sums
// assumed. D + shift + lp + lv is the exponent of the last bit of the smallest
// product. All sums are multiples of that bit. A dot instruction that flushes
// needs it to be a normal number. N25: scales of values are factors of the
// weights, and the smallest is at least 2^scale_exponent. The products have to
// stay normal numbers.
inline bool OnlineGuardHolds(const AttentionJob& job, const RowState& row,
                             int v_exponent, int scale_exponent) {
  const AttentionForwardProblem& p = *job.problem;
  const bool flushes = job.value_pairs() || p.order == ProductOrder::kAmx;
  const float least = flushes ? kMinNormalExponent : kMinBitExponent;
  const float spread = row.n_min - row.m + kWeightShift;
  const int p_bits = LaneRowOf(p.p_lane).digits;
  const LaneRow& v = LaneRowOf(p.key_lane());
  const int v_bit = std::max(v_exponent, v.min_exponent) - (v.digits - 1);
  const int last_bit = v_bit - p_bits;
  const float scaled = spread + static_cast<float>(scale_exponent);
  return spread >= kMinExponent && scaled >= kMinExponent &&
         scaled >= least - static_cast<float>(last_bit);
}

// The sums of the tile's rows over the keys of the part, as the two passes of
// N9 give them. Left out are rows that are marked `letter` and rows with sums
// that are not finite.
inline void SumRows(const AttentionJob& job, const RowTile& tile, Range part,
                    const PackedHead& packed, Worker& worker) {
  StartRows(job, tile, worker);
  const int64_t row_block = job.geometry.row_block;
  worker.seen.assign(static_cast<size_t>(CeilDiv(tile.rows, row_block)),
                     Range());
  // The direct path forms the weights of all its rows at once.
  const int64_t weight_rows =
      job.direct     ? std::max<int64_t>(row_block, RoundUp(tile.rows, kQuad))
      : job.matrix() ? row_block * static_cast<int64_t>(kMatrixBlocks)
                     : row_block;
  worker.weights.resize(static_cast<size_t>(weight_rows * job.weight_stride));
  if (job.value_pairs()) worker.weight_pairs.resize(worker.weights.size() / 2);
  if (job.direct) {
    PackQueryLanes(job, tile.batch, worker);
  } else {
    PackRows(job, tile.batch, worker);
  }
  if (packed.tiles.empty() && job.AsksAhead()) ExpectRows(job, tile, worker);
  ClearSums(job, worker);
  worker.value_scale_exponent = 0;
  const int v_exponent = WalkKeys(job, tile, part, packed, false, worker);
  bool redo = false;
  for (RowState& row : worker.rows) {
    row.redo =
        !row.fixed && row.visible &&
        !OnlineGuardHolds(job, row, v_exponent, worker.value_scale_exponent);
    // Two passes give the bits where they may be flushed.
    row.letter |= row.redo && job.plan->blocks == BlockForm::kGuarded;
    redo |= row.redo && !row.letter;
  }
  if (redo) {
    // m is final now, so the second walk never rescales: it is the two-pass
    // form, for the rows whose guard held too (same bits).
    const AttentionForwardExecution first = worker.counts;
    ClearSums(job, worker);
    WalkKeys(job, tile, part, packed, true, worker);
    worker.counts = first;
  }
}

// One row tile, start to end, of a problem without parts: the function behind
// the dispatch table.
void RunRows(const AttentionJob& job, const RowTile& tile,
             const PackedHead& packed, Worker& worker) {
  const hn::ScalableTag<float> df;
  std::optional<MatrixScope> matrix;
  if (job.matrix()) matrix.emplace();
  SumRows(job, tile, job.KeysOfPart(0), packed, worker);
  for (size_t r = 0; r < worker.rows.size(); ++r) {
    const float l = FoldStripes(&worker.stripes[r * kStripes]);
    if (job.states != nullptr) {
      KeepState(df, job, tile.batch, r, l, worker);
    } else {
      FinishRow(df, job, tile.batch, r, l, worker);
    }
  }
}

Geometry KernelGeometry() {
  const hn::ScalableTag<float> df;
  return {static_cast<int64_t>(hn::Lanes(df)), kRowBlock};
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
