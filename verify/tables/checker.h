// The checks behind CheckPlan, in two parts: plan_invariants.cc looks at the
// tables by themselves, plan_invariants_mask.cc at what they make of the mask.
#ifndef LOCKSTEP_VERIFY_TABLES_CHECKER_H_
#define LOCKSTEP_VERIFY_TABLES_CHECKER_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_grid.h"
#include "verify/tables/intended_mask.h"
#include "verify/tables/invariants.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

// Pairs of one tile.
struct TileTruth {
  int64_t visible = 0;
  int64_t in_range = 0;
};

// Lives for one call of CheckPlan; keeps references to both arguments.
class PlanChecker {
 public:
  PlanChecker(const PlanTrace& trace, const IntendedMask& mask);
  std::vector<Violation> Run();

 private:
  // One direction of one head, all shards of it.
  struct Side {
    bool transposed = false;
    int64_t head = 0;
    std::string name;  // "forward, head 0"
  };
  struct Tile {
    int64_t row = 0;  // of query tiles
    int64_t col = 0;
    friend auto operator<=>(const Tile&, const Tile&) = default;
  };
  // A visit that does something, in range, with the pool it refers to.
  struct Work {
    Tile tile;
    const TileVisit* visit;
    const optimized::BlockPool* pool;
  };
  using WorkList = std::vector<Work>;

  void Note(Invariant invariant, const std::function<std::string()>& message);
  static Tile TileAt(const Side& side, int64_t outer, int64_t inner) {
    return side.transposed ? Tile{inner, outer} : Tile{outer, inner};
  }
  static std::string Where(const Side& side, Tile tile) {
    return side.name + ": query tile " + std::to_string(tile.row) +
           ", key tile " + std::to_string(tile.col);
  }
  const TileTruth& Truth(int64_t head, Tile tile) const {
    return truth_[static_cast<size_t>(
        (head * grid_.rows() + tile.row) * grid_.cols() + tile.col)];
  }
  bool Full(int64_t head, Tile tile) const;
  // What the block of a visit says about an element of its tile.
  bool BlockAt(const Side& side, const Work& work, int64_t r, int64_t c) const;
  bool Counts(const Side& side, const Work& work, int64_t r, int64_t c) const;

  void CheckDirection(const std::vector<TracedPass>& passes, bool transposed);
  void CheckWidth(const TracedPass& pass, const std::string& name,
                  bool transposed);
  void CheckTypes(const TracedPass& pass, const std::string& name,
                  bool transposed);
  void CheckShared(const TracedPass& pass, const std::string& name);
  void CheckPadding(const Side& side, const TracedPass& pass);
  void CheckOrder(const Side& side, const TracedPass& pass);
  void CheckStored(const Side& side, const TracedPass& pass);
  WorkList InRange(const Side& side, const TracedPass& pass);
  void CheckTiles(const Side& side, const TracedPass& pass,
                  const WorkList& work);
  void CheckEffective(const Side& side, const WorkList& work);
  void CheckTranspose(int64_t head);

  const PlanTrace& trace_;
  const IntendedMask& mask_;
  const optimized::TileGrid& grid_;
  std::vector<TileTruth> truth_;        // [head][row][col]
  std::vector<WorkList> forward_work_;  // per head
  std::vector<WorkList> transposed_work_;
  std::map<Invariant, Violation> found_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_CHECKER_H_
