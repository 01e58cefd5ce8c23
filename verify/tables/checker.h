// The checks behind CheckPlan, in two parts: plan_invariants.cc looks at the
// tables by themselves, plan_invariants_mask.cc at what they make of the mask.
#ifndef LOCKSTEP_VERIFY_TABLES_CHECKER_H_
#define LOCKSTEP_VERIFY_TABLES_CHECKER_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_grid.h"
#include "verify/tables/intended_mask.h"
#include "verify/tables/invariants.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

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
  // A visit that does something, in range, with the blocks it refers to.
  struct Work {
    Tile tile;
    const TileVisit* visit;
    const optimized::BlockPool* pool;  // [block][query][key] of a tile
  };
  using WorkList = std::vector<Work>;

  void CountVisible(int64_t head, int64_t row, std::span<const KeyRange> keys,
                    int64_t queries);
  // One place more, or several, where it does not hold.
  void Note(Invariant invariant, const std::function<std::string()>& message,
            int64_t places = 1);
  static Tile TileAt(const Side& side, int64_t outer, int64_t inner) {
    return side.transposed ? Tile{inner, outer} : Tile{outer, inner};
  }
  static std::string Where(const Side& side, Tile tile) {
    return side.name + ": query tile " + std::to_string(tile.row) +
           ", key tile " + std::to_string(tile.col);
  }
  // Of a tile of the grid, row by row.
  size_t Index(Tile tile) const {
    return static_cast<size_t>(tile.row * grid_.cols() + tile.col);
  }
  // Visible pairs of a tile.
  int64_t Visible(int64_t head, Tile tile) const {
    return visible_[static_cast<size_t>(head * grid_.tiles()) + Index(tile)];
  }
  bool Full(int64_t head, Tile tile) const;
  // The pool with queries outside.
  const optimized::BlockPool* ByQuery(const TracedPass& pass, bool transposed);
  // Where a computed mask takes the bits of a tile from.
  Tile SourceOf(const Side& side, const Work& work) const;
  // Of a stored block.
  std::span<const uint64_t> StoredRow(const Work& work, int64_t r) const;
  // What a visit of state 1 shows to query r of its tile, in row_.
  void ReadRow(const Side& side, const Work& work, int64_t r);
  bool SameBlock(const Work& a, const Work& b) const;

  void CheckDirection(const std::vector<TracedPass>& passes, bool transposed);
  void CheckWidth(const TracedPass& pass, const std::string& name,
                  bool transposed);
  void CheckTypes(const TracedPass& pass, const std::string& name,
                  bool transposed);
  void CheckShared(const TracedPass& pass, const std::string& name);
  void CheckPadding(const Side& side, const TracedPass& pass);
  void CheckOrder(const Side& side, const TracedPass& pass);
  void CheckStored(const Side& side, const TracedPass& pass);
  WorkList InRange(const Side& side, const TracedPass& pass,
                   const optimized::BlockPool* pool);
  void CheckTiles(const Side& side, const TracedPass& pass,
                  const WorkList& work);
  void CheckBlock(const Side& side, const Work& work);
  void CheckEffective(const Side& side, const WorkList& work);
  // Whether a visit shows query r of its tile, r > 0, what it shows the one
  // before.
  bool ShownAlike(const Side& side, const Work& work, int64_t r) const;
  // Adds the keys that a visit shows to a query; neighbours become one range.
  void AddShown(const Side& side, const Work& work, int64_t query,
                std::vector<KeyRange>* shown);
  // Returns whether they are the right ones.
  bool CheckShown(const Side& side, int64_t query,
                  const std::vector<KeyRange>& shown);
  void CheckTranspose(int64_t head);

  const PlanTrace& trace_;
  const IntendedMask& mask_;
  const optimized::TileGrid& grid_;
  std::vector<int64_t> visible_;  // [head][row][col]
  std::deque<optimized::BlockPool> by_query_;
  std::vector<uint64_t> row_, wanted_;  // bits of one query in a tile
  std::vector<WorkList> forward_work_;  // per head
  std::vector<WorkList> transposed_work_;
  std::map<Invariant, Violation> found_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_CHECKER_H_
