// What the kernels of attention_backward share: the job, the order between key
// tiles, the scratch of one worker. No SIMD here; sizes are run-time numbers.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_WORK_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_WORK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hwy/aligned_allocator.h"
#include "optimized/attention_backward.h"
#include "optimized/attention_work.h"
#include "optimized/mask_reader.h"
#include "optimized/plan.h"
#include "reference/contract/attention_backward.h"
#include "reference/contract/attention_varlen.h"

namespace lockstep::optimized {

// One query of one head, before any key.
struct BackwardRow {
  float l = 0.0f;       // lse in units of log2; NaN where lse is NaN or +inf
  float delta = 0.0f;   // the D of N18, of a row with visible keys
  bool counts = false;  // lse is not -inf
  bool sees = false;    // a visible key was met
};

// One call. Workers write rows and dq only where the wavefront lets them.
struct BackwardJob {
  const AttentionBackwardProblem* problem = nullptr;
  const AttentionBackwardInputs* inputs = nullptr;
  const AttentionBackwardOutputs* outputs = nullptr;
  const Plan* plan = nullptr;
  const std::vector<TilePlan>* tiles = nullptr;  // per batch row
  Geometry geometry;
  ScoreScale scale;
  // Null, or the tables of a ragged batch: the tensors are then those of
  // RowsOfTokens.
  const VarlenRows* varlen = nullptr;
  BackwardRow* rows = nullptr;  // by RowAt
  float* dq = nullptr;          // [rows, padded_head]

  const AttentionForwardProblem& forward() const { return problem->forward; }
  // The queries and keys of the batch row that are computed. In a ragged batch
  // those at or after the valid counts do not exist.
  int64_t Queries(int64_t batch) const {
    return varlen ? inputs->forward.ValidQ(forward(), batch) : forward().q_len;
  }
  int64_t Keys(int64_t batch) const {
    return varlen ? inputs->forward.ValidKv(forward(), batch)
                  : forward().kv_len;
  }
  // Positions in memory of the row's first query and of its first key.
  int64_t FirstQuery(int64_t batch) const {
    return varlen ? varlen->cu_q(batch) : 0;
  }
  int64_t FirstKey(int64_t batch) const {
    return varlen ? varlen->cu_kv(batch) : 0;
  }
  // The number of queries of all heads, and the index of this one among them.
  int64_t all_rows() const {
    const AttentionForwardProblem& p = forward();
    return p.q_heads * (varlen ? varlen->cu_q(p.batch) : p.batch * p.q_len);
  }
  int64_t RowAt(int64_t batch, int64_t head, int64_t query) const {
    const int64_t first =
        varlen ? varlen->cu_q(batch) : batch * forward().q_len;
    return first * forward().q_heads + head * Queries(batch) + query;
  }

  // The rows of one kv head, numbered head-major, absent ones included.
  int64_t group_rows() const { return forward().group() * forward().q_len; }
  // Extents padded to whole vectors, panels and row blocks.
  int64_t padded_head() const {
    return RoundUp(forward().head_dim, geometry.lanes);
  }
  int64_t padded_value() const {
    return RoundUp(forward().value_dim, geometry.lanes);
  }
  int64_t padded_keys() const {
    return RoundUp(plan->tile_keys, geometry.panel());
  }
  int64_t padded_rows() const {
    return RoundUp(plan->tile_rows, geometry.row_block);
  }
  // Floats between rows of p and ds: one vector more than the keys. Without it,
  // where the number of keys is a power of two, a column would lie in a few
  // sets of the L1 cache.
  size_t score_stride() const {
    return static_cast<size_t>(RoundUp(key_rows(), geometry.lanes) +
                               geometry.lanes);
  }
  // Register tiles of keys may reach beyond the panels; no result is read
  // there.
  int64_t key_rows() const {
    return RoundUp(padded_keys(), geometry.row_block);
  }
  // Words of one row's bits; one more than needed, because vector loads of mask
  // bits read eight bytes.
  size_t bit_words() const {
    return static_cast<size_t>(CeilDiv(padded_keys(), 64) + 1);
  }
};

// One key tile of one kv head: what a worker takes at a time.
struct KeyTask {
  int64_t batch = 0;
  int64_t kv_head = 0;
  int64_t tile = 0;
  int64_t group = 0;  // batch * kv_heads + kv_head
};

// Queries [begin, end) of a head: the rows of a tile, never of two heads.
struct QueryTile {
  int64_t head = 0;
  Range queries;
  TileClass kind = TileClass::kPartial;
  int64_t count() const { return queries.end - queries.begin; }
};

// dq is a chain over the keys: a key tile adds to a row only after the key tile
// before has. Each tile publishes how many rows of its kv head, in their order,
// it and all tiles before it have finished. The tiles of a head are taken in
// ascending order, so that the one waited for is always running.
class Wavefront {
 public:
  Wavefront(int64_t groups, int64_t key_tiles)
      : key_tiles_(key_tiles), done_(static_cast<size_t>(groups * key_tiles)) {}

  // Until the key tile before is done with `rows` rows.
  void Wait(const KeyTask& task, int64_t rows) {
    if (task.tile == 0) return;
    const std::atomic<int64_t>& before = done_[At(task) - 1];
    for (;;) {
      const int64_t seen = before.load(std::memory_order_acquire);
      if (seen >= rows) return;
      before.wait(seen, std::memory_order_acquire);
    }
  }
  // Requires: Wait(task, rows) returned.
  void Publish(const KeyTask& task, int64_t rows) {
    if (task.tile + 1 == key_tiles_) return;
    std::atomic<int64_t>& done = done_[At(task)];
    done.store(rows, std::memory_order_release);
    done.notify_all();
  }

 private:
  size_t At(const KeyTask& task) const {
    return static_cast<size_t>(task.group * key_tiles_ + task.tile);
  }

  int64_t key_tiles_;
  std::vector<std::atomic<int64_t>> done_;
};

// Rows of a tensor in the two forms that products read, widened to f32, zero
// beyond what there is:
//   columns [positions / block][channels][block]
//   panels [channel panels][positions][panel or, in the last one, lanes]
struct BackwardPanels {
  hwy::AlignedVector<float> columns;
  hwy::AlignedVector<float> panels;
  bool finite = true;  // all elements, where panels were made
};

// Scratch and counters of one worker.
struct BackwardWorker {
  // Of the key tile; v has columns only.
  BackwardPanels k, v;
  hwy::AlignedVector<float> dk;  // [key_rows][padded_head]
  hwy::AlignedVector<float> dv;  // [key_rows][padded_value]
  // Of the query tile.
  BackwardPanels q, d_o;
  hwy::AlignedVector<float> dq;  // [padded_rows][padded_head]
  // Scores, then weights; products do.v, then gradients of scores.
  hwy::AlignedVector<float> p, ds;  // [padded_rows][score_stride]
  std::optional<MaskReader> masks;
  std::vector<uint64_t> bits;  // [tile_rows][bit_words]
  std::vector<Range> seen;     // per row block: visible keys, whole panels
  AttentionBackwardExecution counts;
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_WORK_H_
