// From visibility to the tiles a row visits, in order: tile classes, tile
// schedule, and the faults that live there.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_TILES_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_TILES_H_

#include <cstdint>
#include <vector>

#include "verify/emulator/attention_forward/faults.h"
#include "verify/emulator/attention_forward/variant.h"
#include "verify/emulator/attention_forward/visibility.h"

namespace lockstep::verify {

// A key of a visited tile.
struct TileKey {
  int64_t key = 0;        // in front of the key axis; >= kv_len: padding
  int64_t value = 0;      // row of V that its weight meets
  int64_t score_key = 0;  // row of K
  bool visible = false;
};

struct VisitedTile {
  int64_t index = 0;
  bool partial = false;
  std::vector<TileKey> keys;  // all of the tile, ascending
};

// The rows of one query tile of one head.
class QueryTile {
 public:
  QueryTile(const AttentionForwardProblem& problem,
            const AttentionForwardInputs& inputs,
            const AttentionVariant& variant, const FaultDial& dial, int64_t b,
            int64_t h, int64_t first_row);

  int64_t rows() const { return rows_; }
  // What row `r` of the tile visits. `flip`: the fault kRacy's other order.
  std::vector<VisitedTile> Schedule(int64_t r, bool flip) const;
  // Whether any key is left to row r.
  bool Empty(int64_t r) const;

 private:
  enum class Class : uint8_t { kEmpty, kPartial, kFull };

  uint8_t& Bit(int64_t r, int64_t j);
  uint8_t Bit(int64_t r, int64_t j) const;
  void Unite();
  void FaultKeys(int64_t r);
  Class Classify(int64_t tile) const;
  bool Sees(int64_t r, int64_t tile, int64_t step, int64_t j) const;
  VisitedTile Visit(int64_t r, int64_t tile, int64_t step) const;
  bool IsRagged(int64_t tile) const;
  void Pad(int64_t j, VisitedTile* visit) const;
  std::vector<int64_t> Order(bool flip) const;
  void Repeat(int64_t r, std::vector<VisitedTile>* schedule) const;

  const AttentionForwardProblem& problem_;
  const AttentionVariant& variant_;
  const FaultDial dial_;
  Visibility visibility_;
  int64_t b_, h_, first_, rows_;
  int64_t tiles_;
  std::vector<uint8_t> bits_;   // [rows][kv_len]
  std::vector<Class> classes_;  // [tiles]
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_TILES_H_
