// What the kernels of attention_forward share: the job, the packed panels, the
// scratch of one worker. No SIMD here; sizes are run-time numbers.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_WORK_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_WORK_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "hwy/aligned_allocator.h"
#include "optimized/attention_forward.h"
#include "optimized/key_rows.h"
#include "optimized/lines_ahead.h"
#include "optimized/mask_reader.h"
#include "optimized/plan.h"
#include "optimized/sparse_plan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/attention_pages.h"
#include "reference/contract/attention_states.h"
#include "reference/contract/attention_varlen.h"
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
  int bound = 0;  // capped: no integer score exceeds it
};

// Constants are rounded to f32 once. `key_scale` and `query_scale` are the
// scales that all keys, and all queries, of the head share (N25).
inline ScoreScale MakeScoreScale(const AttentionForwardProblem& p,
                                 float key_scale = 1.0f,
                                 float query_scale = 1.0f) {
  const double scale = p.scale * static_cast<double>(key_scale) *
                       static_cast<double>(query_scale);
  if (!p.softcap) return {false, static_cast<float>(scale * kLog2E), 1.0f};
  const auto outer = static_cast<float>(*p.softcap * kLog2E);
  // Beyond the fixed path's bound it is not read.
  const float bound = std::min(std::nearbyint(outer), 2 * kFixedPathBound);
  return {true, static_cast<float>(scale / *p.softcap), outer,
          static_cast<int>(bound)};
}

// Smallest nonzero magnitude among bf16 elements, for the guards of N5, N9.
struct Magnitudes {
  // Zero wraps to the largest number, so that it is never the smallest.
  uint32_t smallest = ~uint32_t{0};

  void Add(uint32_t bits) {
    const uint32_t magnitude = (bits & 0x7fffu) - 1;
    smallest = magnitude < smallest ? magnitude : smallest;
  }
  void Add(const Magnitudes& other) {
    smallest = std::min(smallest, other.smallest);
  }
  bool none() const { return smallest == ~uint32_t{0}; }
  bool subnormal() const { return !none() && (smallest + 1) >> 7 == 0; }
  // Large if all are zero, -126 if subnormal.
  int exponent() const {
    if (none()) return std::numeric_limits<int>::max() / 4;
    const auto field = static_cast<int>((smallest + 1) >> 7);
    return (field > 1 ? field : 1) - 127;
  }
};

// Exponents of the smallest f32 there is, and of the smallest normal one: the
// dot instruction flushes what lies between.
inline constexpr float kMinBitExponent = -149.0f;
inline constexpr float kMinNormalExponent = -126.0f;
// N5: whether no partial sum of a dot product of such elements can be
// subnormal, so that flushing changes nothing.
inline bool NativeDotIsExact(const Magnitudes& a, const Magnitudes& b) {
  return !a.subnormal() && !b.subnormal() &&
         a.exponent() + b.exponent() >= -112;
}

// N9, fixed-m path: the same for weights times values, |n| <= bound. A product
// is a multiple of 2^(-bound - 8 + eV - 7), which must not be below 2^-126. The
// accumulator is an operand, too, so v has the values of every tile that was
// added to it.
inline bool NativeFixedIsExact(const Magnitudes& v, int bound) {
  return !v.subnormal() && v.exponent() >= bound - 111;
}

// Largest head_dim of the path that reads keys in place: its rows of keys stand
// that many f32 apart, a distance the compiler knows.
inline constexpr int64_t kDirectHeadDim = 256;
// Lanes of f32 of the targets that have the dot instruction.
inline constexpr int64_t kDotLanes = 16;

// The states that a call writes, and the kind of weights in them.
struct StatesJob {
  AttentionStates to;
  WeightSize size = WeightSize::kUsual;
};

struct NativeDot;  // optimized/attention_native_dot.h

// Where rows lie that are not at the problem's own addresses.
struct Places {
  const KeyPages* pages = nullptr;     // k and v of the inputs are the pools
  const VarlenRows* varlen = nullptr;  // tensors are RowsOfTokens's
};

// One call, read-only for the workers.
struct AttentionJob {
  const AttentionForwardProblem* problem = nullptr;
  const AttentionForwardInputs* inputs = nullptr;
  // Null, or the pages of keys and values: k and v of `inputs` then point into
  // the pool (WithoutPages).
  const KeyPages* pages = nullptr;
  // Null, or the tables of a ragged batch: q, k, v, o and lse are then those of
  // RowsOfTokens.
  const VarlenRows* varlen = nullptr;
  std::vector<float> zeros;  // with pages or varlen: a row of k or v
  const AttentionForwardOutputs* outputs = nullptr;
  // Null, or the states that rows write in place of outputs. `outputs` then are
  // their l and acc (N24).
  const StatesJob* states = nullptr;
  const Plan* plan = nullptr;
  Geometry geometry;
  ScoreScale scale;
  // N25: one per query head if all keys, or all queries, of a head share a
  // scale; else empty.
  std::vector<ScoreScale> head_scales;
  const std::vector<TilePlan>* tiles = nullptr;  // per batch row
  const NativeDot* dot = nullptr;  // null: pairs of bf16 take two steps

  // Few rows: keys and values are read in place, by attention_direct-inl.h.
  bool direct = false;

  // Keys of a tile and value channels, padded to whole panels and vectors.
  int64_t padded_keys = 0;
  int64_t padded_values = 0;
  // Weights from a row to the next. For the matrix unit this is no power of
  // two, because the sixteen rows of a tile would then share two sets of the L1
  // cache.
  int64_t weight_stride = 0;

  bool matrix() const { return plan->blocks == BlockForm::kMatrix; }
  // Multiples that key ranges inside a tile are widened to: stripes (N11), or
  // blocks of products (N20).
  int64_t key_step() const {
    return problem->order == ProductOrder::kAmx ? kProductBlock : kStripes;
  }

  // The score scale of a query head's rows.
  const ScoreScale& ScaleOf(int64_t head) const {
    if (head_scales.empty()) return scale;
    return head_scales[static_cast<size_t>(head)];
  }
  // N25: the factor of the outputs.
  float OutputScale(int64_t batch, int64_t kv_head) const {
    if (problem->v_scales.by_key()) return 1.0f;
    return KeyScaleOf(problem->v_scales, inputs->v_scale, batch, kv_head, 0);
  }

  // N22: the keys of a part; of one part, all.
  Range KeysOfPart(int64_t part) const {
    const int64_t begin = part * problem->part_width();
    return {begin, std::min(begin + problem->part_width(), problem->kv_len)};
  }

  // The queries of the batch row that are computed. Those at or after valid_q
  // are empty rows, but in a ragged batch they do not exist.
  int64_t Queries(int64_t batch) const {
    return varlen ? inputs->ValidQ(*problem, batch) : problem->q_len;
  }
  // Positions in memory of the row's first query and of its first key.
  int64_t FirstQuery(int64_t batch) const {
    return varlen ? varlen->cu_q(batch) : 0;
  }
  int64_t FirstKey(int64_t batch) const {
    return varlen ? varlen->cu_kv(batch) : 0;
  }

  // Rows of keys, and of values, of one head.
  template <typename T>
  KeyRows<T> Keys(int64_t batch, int64_t kv_head) const {
    return RowsIn<T>(inputs->k, pages ? pages->k.strides[0] : 0, batch,
                     kv_head);
  }
  template <typename T>
  KeyRows<T> Values(int64_t batch, int64_t kv_head) const {
    return RowsIn<T>(inputs->v, pages ? pages->v.strides[0] : 0, batch,
                     kv_head);
  }

  Range KeysOfTile(int64_t tile) const {
    const int64_t begin = tile * plan->tile_keys;
    const int64_t end = begin + plan->tile_keys;
    return {begin, end < problem->kv_len ? end : problem->kv_len};
  }
  // Whether the kernels ask for the rows that are packed next: not where they
  // pack none, nor those of order=amx.
  bool AsksAhead() const { return !direct && plan->blocks == BlockForm::kNone; }
  // Panels of pairs (N5): of keys, and of values too if the weights are bf16.
  bool key_pairs() const { return plan->native_dot || matrix(); }
  bool value_pairs() const {
    return key_pairs() && problem->p_lane == Lane::kBf16;
  }
  // Whole blocks for the matrix unit.
  int64_t head_pairs() const {
    const int64_t pairs = (problem->head_dim + 1) / 2;
    return matrix() ? RoundUp(pairs, kProductBlock / 2) : pairs;
  }

  // Elements of one packed tile; 0 where it is packed in the other form.
  int64_t k_elements() const {
    return key_pairs() ? 0 : padded_keys * problem->head_dim;
  }
  int64_t v_elements() const {
    return value_pairs() ? 0 : plan->tile_keys * padded_values;
  }
  int64_t k_pair_elements() const {
    return key_pairs() ? padded_keys * head_pairs() : 0;
  }
  int64_t v_pair_elements() const {
    return value_pairs() ? plan->tile_keys / 2 * padded_values : 0;
  }

 private:
  template <typename T>
  KeyRows<T> RowsIn(const LaneView& x, int64_t page_next, int64_t batch,
                    int64_t kv_head) const {
    const auto view = x.As<T>();
    KeyRows<T> rows;
    rows.first = &view(batch, kv_head, FirstKey(batch), 0);
    rows.next = view.strides[2];
    if (pages == nullptr && varlen == nullptr) return rows;
    rows.keys = inputs->ValidKv(*problem, batch);
    rows.zeros = reinterpret_cast<const T*>(zeros.data());
    if (pages == nullptr) return rows;
    rows.table = &pages->table(batch, 0);
    rows.table_next = pages->table.strides[1];
    rows.size = static_cast<uint32_t>(pages->size);
    rows.page_next = page_next;
    return rows;
  }
};

// Keys and values of one key tile of one kv head, widened to f32:
//   k [padded_keys / panel][head_dim][panel], zero beyond the tile's keys.
//     Keys that KeysPacked leaves out are not written, and nothing reads them.
//   v [value panels][tile_keys][panel or, in the last one, lanes]
// or as pairs of bf16, half as many along head_dim and keys.
struct PackedTile {
  float* k = nullptr;
  float* v = nullptr;
  uint32_t* k_pairs = nullptr;
  uint32_t* v_pairs = nullptr;
  Magnitudes k_seen, v_seen;  // with pairs, and with BlockForm::kGuarded
  // Exponent of the smallest nonzero |v| (N9's eV), -126 if subnormal; large
  // if all are zero.
  int v_exponent = std::numeric_limits<int>::max() / 2;
};

// The tiles of one kv head, packed ahead; empty when each row tile packs.
struct PackedHead {
  std::vector<PackedTile> tiles;
};

// Memory of panels. Not cleared: a tile is read only after all of it was
// packed.
struct alignas(HWY_ALIGNMENT) PanelLine {
  uint8_t bytes[HWY_ALIGNMENT];
};
using PanelMemory = std::unique_ptr<PanelLine[]>;

// A tile that a worker packs when its rows need it.
struct KeptTile {
  PackedTile tile;
  int64_t number = -1;  // of the tile in it, counted through all kv heads
};

// Rows [first_row, first_row + rows) of one kv head; row r is query r % n of
// query head kv_head * group + r / n, n the batch row's queries.
struct RowTile {
  int64_t batch = 0;
  int64_t kv_head = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
};

// Asked for while other rows are at work, by a worker that packs for itself:
// keys and values of the tile that it will pack next, queries of its next row
// tile, and the lines that its outputs will go to.
struct RowsAhead {
  LinesAhead keys, values, queries, outputs;

  HWY_INLINE void Ask(int64_t portions) {
    for (LinesAhead* lines : {&keys, &values, &queries, &outputs}) {
      lines->Ask(portions);
    }
  }
};

// Running state of one row.
struct RowState {
  int64_t head = 0;
  int64_t query = 0;
  int64_t place = 0;     // of the query in memory: `query`, unless rows of a
                         // batch lie end to end
  bool fixed = false;    // N9's fixed-m path: m stays 0
  bool visible = false;  // any visible key so far
  bool redo = false;     // the online guard failed
  bool letter = false;   // its products are formed by attention_exact-inl.h
  float scale = 1.0f;    // N25: the query's own, if queries have theirs
  float sink = 0.0f;     // n * log2e units; meaningful with problem.sink
  float m = 0.0f;        // integer-valued running maximum of n
  float n_min = 0.0f;    // integer-valued running minimum of n
};

// What one part of the keys yields for the rows of a tile (N22), before sink,
// division and rounding.
struct PartSums {
  std::vector<RowState> rows;
  std::vector<float> l;           // [rows]
  hwy::AlignedVector<float> acc;  // [rows][padded_values]
};

// The position of one row block of the worker in one tile.
struct Block {
  size_t first_row = 0;
  size_t weight_row = 0;  // of worker.weights, where it is not row 0
  size_t rows = 0;
  size_t begin = 0;  // keys that some row sees
  size_t end = 0;
};

// Row blocks that the matrix unit takes through a tile together.
inline constexpr size_t kMatrixBlocks = 4;

// Scratch and counters of one worker.
struct Worker {
  hwy::AlignedVector<float> q;          // [row blocks][head_dim][row_block],
                                        // or direct: [head_dim][lanes]
  hwy::AlignedVector<float> row_lanes;  // direct: scores [padded_keys][lanes]
  hwy::AlignedVector<float> wide_rows;  // direct: a few rows of k or v
  hwy::AlignedVector<float> weights;    // scores, then weights
                                        // [padded rows][weight_stride]
  hwy::AlignedVector<float> acc;        // [padded rows][padded_values]
  hwy::AlignedVector<float> stripes;    // [rows][kStripes]
  // The key tiles that the worker packs itself, where none are packed ahead.
  std::vector<KeptTile> kept;
  RowTile next;  // after the one at hand; no rows where none is known
  RowsAhead ahead;
  PanelMemory panels, panel_pairs;
  // [row blocks][pairs][row_block], or for the matrix unit [rows][pairs]
  hwy::AlignedVector<uint32_t> q_pairs;
  hwy::AlignedVector<uint32_t> weight_pairs;  // [rows][weight_stride / 2]
  Magnitudes q_seen;
  Magnitudes v_seen;  // of every tile that acc has products of
  // N25: the scales of the current tile's keys, if keys have their own; 1 where
  // there is no key. And the least exponent of a value's scale so far.
  hwy::AlignedVector<float> key_scales, value_scales;
  int value_scale_exponent = 0;
  std::optional<MaskReader> masks;
  std::vector<HeadQueries> parts;  // the rows, head by head
  std::vector<uint64_t> bits;      // [rows][words of a tile]
  std::vector<Range> seen;         // per row block: visible key range
  std::vector<RowState> rows;
  std::vector<uint64_t> row_bits;  // whole row, for the exact path
  hwy::AlignedVector<float> row_scores;
  AttentionForwardExecution counts;
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_WORK_H_
