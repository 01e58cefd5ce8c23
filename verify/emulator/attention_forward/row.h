// One row of emulated attention: scores, online softmax, merge, finish.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ROW_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ROW_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/contract/numerics.h"
#include "verify/emulator/attention_forward/arithmetic.h"
#include "verify/emulator/attention_forward/tiles.h"

namespace lockstep::verify {

// K and V of one kv head, widened to f32.
struct HeadTensors {
  std::vector<float> k;  // [kv_len, head_dim]
  std::vector<float> v;  // [kv_len, value_dim]
  float smallest_v = 0;  // smallest nonzero magnitude in v
  // N25: the scale of each key, empty if keys share one; and of all values.
  std::vector<float> k_scale, v_scale;
  float output_scale = 1;
  // Whether v_scale multiplies sums over values, not weights.
  bool scales_sums = false;

  // The scale is 1 behind the last key.
  static float ScaleAt(const std::vector<float>& scales, int64_t key) {
    const auto at = static_cast<size_t>(key);
    return at < scales.size() ? scales[at] : 1.0f;
  }
};

struct RowTask {
  const AttentionForwardProblem& problem;
  const AttentionVariant& variant;
  const FaultDial& dial;
  const AttentionArithmetic& arithmetic;
  const HeadTensors& head;
  std::vector<float> q;
  float q_scale = 1;  // N25: the query's own
  std::vector<VisitedTile> schedule;
  bool empty = false;  // no visible key
  bool has_sink = false;
  float sink = 0;  // as given
  // What the online maximum starts at, at least: for a fault.
  float first_max = -std::numeric_limits<float>::infinity();
};

struct RowResult {
  std::vector<float> o;
  float lse = 0;
};

class EmulatedRow {
 public:
  explicit EmulatedRow(const RowTask& task);
  RowResult Run();
  // The largest score of a visible key or the sink.
  float top() const { return top_; }

 private:
  struct Scored {
    float s;
    int64_t key;
    int64_t value;
    bool multiplied;  // masked by a factor 0, not by select
    bool visible;
  };
  // The state of the online recurrence over one part of the keys.
  struct Part {
    float m = -std::numeric_limits<float>::infinity();
    float previous_m = m;
    float last_sum = 0;  // weights of the last tile
    int64_t rescales = 0;
    bool preset = false;     // m is the row's already
    bool keeps_acc = false;  // a fault: the next rescale leaves acc out
    // What faults keep: the rescale and the weight of before, l as it was
    // summed, and the l and m that the lse is made of.
    float old_rescale = 1;
    float old_weight = -1;
    float raw_l = 0;
    float lse_l = -1;
    float lse_m = 0;
    float l[kStripes] = {};
    std::vector<float> acc;
    std::vector<float> weights;  // of all tiles, where values are in groups
  };

  // A key of a tile whose score is asked for, and its place among the scored.
  struct Asked {
    TileKey key;
    size_t place;
  };

  void ScoreTiles();
  std::vector<Scored> ScoreTile(const VisitedTile& tile);
  // With faults, `dot` becomes what the score is made of.
  float ScoreKey(const VisitedTile& tile, const TileKey& key, float& dot) const;
  void SeeScore(float s, float dot);
  const float* KeyRow(int64_t row) const;
  bool IsNaN() const;
  void Step(const std::vector<Scored>& tile, Part* part) const;
  void Rescale(float m, Part* part) const;
  void AddTile(const std::vector<Scored>& tile, Part* part) const;
  void AddValues(const std::vector<Scored>& tile,
                 const std::vector<float>& weights,
                 std::vector<float>* sums) const;
  void AddScaledSums(const std::vector<Scored>& tile,
                     const std::vector<float>& weights,
                     std::vector<float>* sums) const;
  void AddTileValues(const std::vector<Scored>& tile,
                     const std::vector<float>& weights,
                     std::vector<float>* sums) const {
    if (task_.head.scales_sums) return AddScaledSums(tile, weights, sums);
    AddValues(tile, weights, sums);
  }
  // The row's sum first, then rounded quotients times V (normalise = before).
  RowResult RunNormalised() const;
  // N20, N21: of the whole part, whose blocks or steps tiles do not end.
  void AddGroups(size_t begin, size_t end, Part* part) const;
  const float* ValueRow(int64_t row) const;
  // N25: the factor of a row's sums.
  float OutputScale() const {
    return task_.dial.Is(Fault::kFp8ValueScalePerTile)
               ? 1.0f
               : task_.head.output_scale;
  }
  // N25, N10: the weight that the numerator takes.
  float NumeratorWeight(float p, int64_t value) const;
  Part RunPart(size_t begin, size_t end, bool preset) const;
  Part Merge(std::vector<Part>* parts) const;
  // row_two_passes.cc: the contract's parts of the keys (N22).
  bool InParts() const;
  void CutTiles();
  float TopOf(size_t begin, size_t end) const;
  Part RunParts() const;
  Part AddParts(std::vector<Part>* parts) const;
  float Fold(const Part& part) const;
  float WithSink(float l, float m) const;
  bool GuardHolds(const Part& part) const;
  RowResult Finish(const Part& part);
  float LogSumExp(const Part& part, float l) const;
  // row_faults.cc: the l, and with it the m, of a faulty lse.
  float WrongL(const Part& part, float l, float* m) const;
  float WrongLse(float l, float lse) const;
  // The last tile in which the maximum grows, of those from `begin` on.
  size_t LastGrowth(size_t begin, size_t end) const;
  // The last N visible keys' part of l.
  float LastWeights(const Part& part) const;
  float FirstMax() const;
  void BreakFactors(const std::vector<Part>& parts, std::vector<float>* factors,
                    Part* all) const;
  RowResult EmptyRow() const;
  std::vector<float> MeanOfV() const;

  const RowTask& task_;
  const AttentionArithmetic& a_;
  size_t value_dim_;
  std::vector<std::vector<Scored>> tiles_;
  float sink_ = -std::numeric_limits<float>::infinity();  // in score units
  float top_ = -std::numeric_limits<float>::infinity();
  float least_ = std::numeric_limits<float>::infinity();
  float shift_ = 0;
  bool fixed_ = false;  // N9: no maximum is subtracted
  bool any_visible_ = false;
  size_t parts_ = 1;  // that the row's tiles are cut into
  std::vector<size_t>
      cuts_;  // InParts: the first tile of each part, and the end
  double uncapped_sum_ = 0;  // of exp, for a fault of the lse
  std::vector<float> zeros_;
  // Of the tile that is scored.
  std::vector<Asked> asked_;
  std::vector<const float*> rows_;
  std::vector<float> dots_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ROW_H_
