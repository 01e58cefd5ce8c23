// Keys, values and queries as packed panels, and rows against them.
// Compiled once per target, with the functions of attention_kernels-inl.h.
#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimized/attention_tiles.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/attention_block-inl.h"
#include "optimized/attention_kernels-inl.h"
#include "optimized/attention_native_dot.h"
#include "optimized/attention_pack-inl.h"
#include "optimized/attention_panels.h"
#include "optimized/attention_tiles-inl.h"
#include "optimized/attention_work.h"
#include "optimized/simd/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How a tile's products are formed (N5): by the dot instruction, or on pairs
// of bf16 without it.
struct DotForm {
  bool native_scores = false;
  bool native_values = false;
};

template <class D>
void BlockScores(D df, const AttentionJob& job, const PackedTile& tile,
                 const Block& block, bool native, Worker& worker) {
  const auto pairs = static_cast<size_t>(job.head_pairs());
  if (job.plan->blocks != BlockForm::kNone) {
    OrderScores(job, tile, block, worker);
  } else if (!job.key_pairs()) {
    BlockScores<F32Dot>(df, job, worker.q.data(), tile.k,
                        static_cast<size_t>(job.problem->head_dim), block,
                        worker);
  } else if (native && job.dot != nullptr) {
    job.dot->scores(job, tile, block, worker);
  } else {
    BlockScores<PairDot<false>>(df, job, worker.q_pairs.data(), tile.k_pairs,
                                pairs, block, worker);
  }
}

template <class D>
void BlockValues(D df, const AttentionJob& job, const PackedTile& tile,
                 const Block& block, bool native, Worker& worker) {
  if (job.plan->blocks != BlockForm::kNone) {
    OrderValues(job, tile, block, worker);
  } else if (!job.value_pairs()) {
    BlockValues<F32Dot>(df, job, worker.weights.data(), tile.v, 1, block,
                        worker);
  } else if (native && job.dot != nullptr) {
    job.dot->values(job, tile, block, worker);
  } else {
    BlockValues<PairDot<false>>(df, job, worker.weight_pairs.data(),
                                tile.v_pairs, 2, block, worker);
  }
}

// Rows of one block against the keys that it sees of one tile.
template <bool kMasked>
void BlockTimesTile(const AttentionJob& job, const PackedTile& tile,
                    size_t number, const DotForm& form, Worker& worker) {
  const hn::ScalableTag<float> df;
  const Range seen = worker.seen[number];
  Block block;
  const auto row_block = static_cast<size_t>(job.geometry.row_block);
  block.first_row = number * row_block;
  block.rows = std::min(row_block, worker.rows.size() - block.first_row);
  block.begin = static_cast<size_t>(seen.begin);
  block.end = static_cast<size_t>(seen.end);
  BlockScores(df, job, tile, block, form.native_scores, worker);
  BlockWeights<kMasked>(df, job, block, worker);
  BlockValues(df, job, tile, block, form.native_values, worker);
}

// Whether the dot instruction gives the contract's bits on this tile, the next
// one of the walk. A sum that an earlier tile left subnormal would be flushed
// here, even by weights of +0. So the fixed-m path checks the values of all
// tiles so far. Online rows are judged at the end, by OnlineGuardHolds, which
// holds for every sum on the way. `exact` asks for the form that needs no
// guard.
inline DotForm FormOfTile(const AttentionJob& job, const PackedTile& tile,
                          bool exact, Worker& worker) {
  worker.v_seen.Add(tile.v_seen);
  DotForm form;
  form.native_scores =
      job.plan->native_dot && NativeDotIsExact(worker.q_seen, tile.k_seen);
  form.native_values =
      job.plan->native_dot && job.value_pairs() && !exact &&
      (job.plan->fixed_m ? NativeFixedIsExact(worker.v_seen, job.scale.bound)
                         : !tile.v_seen.subnormal());
  return form;
}

// BlockForm::kGuarded: whether plain multiply-adds give the flushed bits on
// this tile (N5). Values of online rows are judged at the end, by
// OnlineGuardHolds.
inline bool GuardedBlocksAreExact(const AttentionJob& job,
                                  const PackedTile& tile,
                                  const Worker& worker) {
  const bool values = job.plan->fixed_m
                          ? NativeFixedIsExact(tile.v_seen, job.scale.bound)
                          : !tile.v_seen.subnormal();
  return values && NativeDotIsExact(worker.q_seen, tile.k_seen);
}

void PackTile(const AttentionJob& job, int64_t batch, int64_t kv_head,
              int64_t key_tile, PackedTile& tile) {
  const Range keys = job.KeysOfTile(key_tile);
  const Lane lane = job.problem->key_lane();
  if (lane != Lane::kBf16) {
    return WithInputLane(lane, [&](auto element) HWY_ATTR {
      PackWide<decltype(element)>(job, batch, kv_head, keys, tile);
    });
  }
  if (job.plan->blocks == BlockForm::kGuarded) {
    tile.k_seen = SeenIn(job.inputs->k, keys, job.Keys<Bf16>(batch, kv_head));
    tile.v_seen = SeenIn(job.inputs->v, keys, job.Values<Bf16>(batch, kv_head));
  }
  if (job.key_pairs()) {
    tile.k_seen = PackKeyPairs(job, batch, kv_head, keys, tile.k_pairs);
  } else {
    PackKeys<Bf16>(job, batch, kv_head, keys, tile.k);
  }
  if (job.value_pairs()) {
    tile.v_seen = PackValuePairs(job, batch, kv_head, keys, tile.v_pairs);
    tile.v_exponent = tile.v_seen.exponent();
  } else {
    tile.v_exponent = PackValues<Bf16>(job, batch, kv_head, keys, tile.v);
  }
}

// Behind the tile of that number, keys and values of the next one that some row
// visits will be packed.
inline void ExpectTile(const AttentionJob& job, int64_t number,
                       Worker& worker) {
  const int64_t tiles = job.plan->key_tiles;
  const int64_t kv_heads = job.problem->kv_heads;
  const int64_t all = job.problem->batch * kv_heads * tiles;
  int64_t next = number + 1;
  const auto batch = [&] { return next / tiles / kv_heads; };
  const auto kv_head = [&] { return next / tiles % kv_heads; };
  while (next < all && !IsVisited(job, batch(), kv_head(), next % tiles)) {
    ++next;
  }
  const auto lines_of = [&](const LaneView& x) {
    if (next == all || job.pages != nullptr) return LinesAhead();
    const Range keys = job.KeysOfTile(next % tiles);
    return LinesOf(x, batch(), kv_head(), job.FirstKey(batch()) + keys.begin,
                   keys.end - keys.begin);
  };
  worker.ahead.keys = lines_of(job.inputs->k);
  worker.ahead.values = lines_of(job.inputs->v);
}

// The packed tile, if need be packed now.
inline const PackedTile& PackOrFind(const AttentionJob& job,
                                    const RowTile& rows, int64_t key_tile,
                                    Worker& worker) {
  const int64_t head = rows.batch * job.problem->kv_heads + rows.kv_head;
  const int64_t number = head * job.plan->key_tiles + key_tile;
  const auto slots = static_cast<int64_t>(worker.kept.size());
  KeptTile& kept = worker.kept[static_cast<size_t>(key_tile % slots)];
  if (kept.number == number) {
    ++worker.counts.tiles_kept;
  } else {
    PackTile(job, rows.batch, rows.kv_head, key_tile, kept.tile);
    kept.number = number;
    if (job.AsksAhead()) ExpectTile(job, number, worker);
  }
  return kept.tile;
}

int PackedTimesTile(const AttentionJob& job, const RowTile& rows,
                    const PackedHead& packed, int64_t key_tile, bool masked,
                    bool exact, Worker& worker) {
  const PackedTile& tile = packed.tiles.empty()
                               ? PackOrFind(job, rows, key_tile, worker)
                               : packed.tiles[static_cast<size_t>(key_tile)];
  const DotForm form = FormOfTile(job, tile, exact, worker);
  worker.counts.tiles_native_dot += form.native_scores;
  worker.counts.tiles_native_values += form.native_values;
  worker.counts.tiles_matrix += job.matrix();
  if (job.plan->blocks == BlockForm::kGuarded &&
      !GuardedBlocksAreExact(job, tile, worker)) {
    for (RowState& row : worker.rows) row.letter = true;
  }
  if (job.matrix()) {
    MatrixTimesTile(job, tile, masked, worker);
    return tile.v_exponent;
  }
  for (size_t block = 0; block < worker.seen.size(); ++block) {
    if (worker.seen[block].end == 0) continue;
    if (masked) {
      BlockTimesTile<true>(job, tile, block, form, worker);
    } else {
      BlockTimesTile<false>(job, tile, block, form, worker);
    }
  }
  return tile.v_exponent;
}

void PackRows(const AttentionJob& job, int64_t batch, Worker& worker) {
  const auto rows =
      worker.seen.size() * static_cast<size_t>(job.geometry.row_block);
  if (job.plan->blocks == BlockForm::kGuarded) SeeQueries(job, batch, worker);
  if (job.key_pairs()) {
    worker.q_pairs.resize(rows * static_cast<size_t>(job.head_pairs()));
    if (job.matrix()) return PackQueryRows(job, batch, worker);
    return PackQueryPairs(job, batch, worker);
  }
  const auto lanes = static_cast<size_t>(job.geometry.lanes);
  const size_t elements = rows * static_cast<size_t>(job.problem->head_dim);
  worker.q.resize((elements + lanes - 1) / lanes * lanes);
  WithInputLane(job.problem->query_lane(), [&](auto element) HWY_ATTR {
    PackQueries(job, job.inputs->q.As<decltype(element)>(), batch, worker);
  });
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
