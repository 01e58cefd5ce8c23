// What the kernels of attention_forward share: the job, the packed panels, the
// scratch of one worker. No SIMD here; sizes are run-time numbers.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_WORK_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_WORK_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "hwy/aligned_allocator.h"
#include "optimized/attention_forward.h"
#include "optimized/mask_plan.h"
#include "optimized/plan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/numerics.h"

namespace lockstep::optimized {

inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

// Shape of one target's register tiles.
struct Geometry {
  int64_t lanes = 0;      // f32 per vector
  int64_t row_block = 0;  // rows of a register tile
  // Keys, or value channels, of a panel: two vectors.
  int64_t panel() const { return 2 * lanes; }
};

// N7: u = outer * tanh(inner * dot) with a softcap, inner * dot without.
struct ScoreScale {
  bool capped = false;
  float inner = 0.0f;
  float outer = 0.0f;
};

// One call, read-only for the workers.
struct AttentionJob {
  const AttentionForwardProblem* problem = nullptr;
  const AttentionForwardInputs* inputs = nullptr;
  const AttentionForwardOutputs* outputs = nullptr;
  const Plan* plan = nullptr;
  Geometry geometry;
  ScoreScale scale;
  std::vector<MaskPlan> masks;  // per batch row

  // Keys of a tile and value channels, padded to whole panels and vectors.
  int64_t padded_keys = 0;
  int64_t padded_values = 0;

  Range KeysOfTile(int64_t tile) const {
    const int64_t begin = tile * plan->tile_keys;
    const int64_t end = begin + plan->tile_keys;
    return {begin, end < problem->kv_len ? end : problem->kv_len};
  }
  int64_t k_elements() const { return padded_keys * problem->head_dim; }
  int64_t v_elements() const { return plan->tile_keys * padded_values; }
};

// Keys and values of one key tile of one kv head, widened to f32:
//   k [padded_keys / panel][head_dim][panel], zero beyond the tile's keys
//   v [value panels][tile_keys][panel or, in the last one, lanes]
struct PackedTile {
  float* k = nullptr;
  float* v = nullptr;
  // Exponent of the smallest nonzero |v| (N9's eV), -126 if subnormal; large
  // if all are zero.
  int v_exponent = std::numeric_limits<int>::max() / 2;
};

// The tiles of one kv head, packed ahead; empty when each row tile packs.
struct PackedHead {
  std::vector<PackedTile> tiles;
};

// Rows [first_row, first_row + rows) of one kv head; row r is query r % q_len
// of query head kv_head * group + r / q_len.
struct RowTile {
  int64_t batch = 0;
  int64_t kv_head = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
};

// Running state of one row.
struct RowState {
  int64_t head = 0;
  int64_t query = 0;
  bool fixed = false;    // N9's fixed-m path: m stays 0
  bool visible = false;  // any visible key so far
  bool redo = false;     // the online guard failed
  float sink = 0.0f;     // n * log2e units; meaningful with problem.sink
  float m = 0.0f;        // integer-valued running maximum of n
  float n_min = 0.0f;    // integer-valued running minimum of n
};

// Scratch and counters of one worker.
struct Worker {
  hwy::AlignedVector<float> q;        // [row blocks][head_dim][row_block]
  hwy::AlignedVector<float> weights;  // scores, then weights
                                      // [padded rows][padded_keys]
  hwy::AlignedVector<float> acc;      // [padded rows][padded_values]
  hwy::AlignedVector<float> stripes;  // [rows][kStripes]
  hwy::AlignedVector<float> k, v;     // one tile, when not packed ahead
  std::vector<uint64_t> bits;         // [rows][words of a tile]
  std::vector<Range> seen;            // per row block: visible key range
  std::vector<RowState> rows;
  std::vector<uint64_t> row_bits;  // whole row, for the exact path
  hwy::AlignedVector<float> row_scores;
  AttentionForwardExecution counts;
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_WORK_H_
