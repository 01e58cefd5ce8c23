// Kernels of attention_forward that its files call across. Highway compiles
// each file once per target, and a target's functions have the target in their
// names.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_KERNELS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_KERNELS_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_KERNELS_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_KERNELS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "optimized/attention_work.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {

// attention_tiles.cc: packed panels.

// Packs one key tile of one kv head; `tile` says where to.
void PackTile(const AttentionJob& job, int64_t batch, int64_t kv_head,
              int64_t key_tile, PackedTile& tile);
// Packs the queries of the row tile.
void PackRows(const AttentionJob& job, int64_t batch, Worker& worker);
// All rows against one tile that some row sees. Returns its v_exponent.
// `masked`: by worker.bits; `exact`: values without the dot instruction.
int PackedTimesTile(const AttentionJob& job, const RowTile& rows,
                    const PackedHead& packed, int64_t key_tile, bool masked,
                    bool exact, Worker& worker);

// attention_direct.cc: keys and values in place, for few rows.

void PackQueryLanes(const AttentionJob& job, int64_t batch, Worker& worker);
// Does as PackedTimesTile, but returns the exponent only if some row's guard
// asks for it.
int DirectTimesTile(const AttentionJob& job, const RowTile& rows, Range keys,
                    bool masked, Worker& worker);

// attention_orders.cc: products that are no chain, and rows by the contract's
// letter.

// Scores of the block's rows -> worker.weights; weights times values, added to
// worker.acc.
void OrderScores(const AttentionJob& job, const PackedTile& tile,
                 const Block& block, Worker& worker);
void OrderValues(const AttentionJob& job, const PackedTile& tile,
                 const Block& block, Worker& worker);
// By the matrix unit: queries, and all rows against one tile.
void PackQueryRows(const AttentionJob& job, int64_t batch, Worker& worker);
void MatrixTimesTile(const AttentionJob& job, const PackedTile& tile,
                     bool masked, Worker& worker);
// Computes a row, and writes its outputs. `acc` [padded_values] is scratch.
// Requires: a visible key, or a sink that is NaN or +inf.
void ExactRow(const AttentionJob& job, int64_t batch, const RowState& row,
              float* acc, Worker& worker);
// Computes a row's state (N24), and writes it. Requires: a visible key.
void ExactState(const AttentionJob& job, int64_t batch, const RowState& row,
                float* acc, Worker& worker);

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
