#include "verify/tables/invariants.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verify/tables/checker.h"
#include "verify/tables/intended_mask.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {
namespace {

constexpr InvariantInfo kInvariants[] = {
    {Invariant::kVisitedOnce, "I1",
     "every tile is worked on at most once, in the order declared"},
    {Invariant::kFullIsFull, "I2",
     "in a tile marked full every pair is visible"},
    {Invariant::kSkippedIsEmpty, "I3",
     "in a tile that is left out no pair is visible"},
    {Invariant::kBlockIsMask, "I4",
     "the block of a partial tile equals its mask, and is zero beyond the "
     "ends"},
    {Invariant::kTransposeAgrees, "I5",
     "both directions have the same tiles, states and blocks"},
    {Invariant::kIndexInRange, "I6",
     "every index in use is in range; every step fetches a block, -1 is none"},
    {Invariant::kPaddingIsInert, "I7",
     "padding has state 0 and indices that can be fetched"},
    {Invariant::kGridWidth, "I8",
     "the grid is as wide as the fullest row of tiles, and at least 1"},
    {Invariant::kEveryTileStored, "I9", "every output tile is written"},
    {Invariant::kVisitsTogether, "I10",
     "visits to one output tile are consecutive, and it is written once"},
    {Invariant::kIndexFitsType, "I11",
     "the integers of the tables hold the indices the mask needs"},
    {Invariant::kSharedTableAlike, "I12",
     "heads that share a table have the same mask"},
    {Invariant::kEffectiveMask, "I13",
     "all visits together are the mask, with every visible pair once"},
    {Invariant::kNothingInVain, "I14",
     "no more empty tiles are visited than declared"},
};

// Largest index that integers of so many bytes hold.
int64_t LargestIndex(int bytes) { return (int64_t{1} << (8 * bytes - 1)) - 1; }

}  // namespace

PlanChecker::PlanChecker(const PlanTrace& trace, const IntendedMask& mask)
    : trace_(trace),
      mask_(mask),
      grid_(trace.grid),
      visible_(static_cast<size_t>(mask.heads() * grid_.tiles())),
      row_(static_cast<size_t>((grid_.tile_k + 63) / 64)),
      wanted_(row_.size()) {
  for (int64_t h = 0; h < mask.heads(); ++h) {
    for (int64_t row = 0; row < grid_.rows(); ++row) {
      const int64_t begin = row * grid_.tile_q;
      mask.ForAlike(h, begin, std::min(begin + grid_.tile_q, grid_.q_len),
                    [&](int64_t first, int64_t last) {
                      CountVisible(h, row, mask.Keys(h, first), last - first);
                    });
    }
  }
}

// Adds what so many queries of a row of tiles see.
void PlanChecker::CountVisible(int64_t head, int64_t row,
                               std::span<const KeyRange> keys,
                               int64_t queries) {
  const int64_t tiles = (head * grid_.rows() + row) * grid_.cols();
  for (const KeyRange& range : keys) {
    for (int64_t j = range.begin; j < range.end;) {
      const int64_t col = j / grid_.tile_k;
      const int64_t end =
          std::min<int64_t>((col + 1) * grid_.tile_k, range.end);
      visible_[static_cast<size_t>(tiles + col)] += queries * (end - j);
      j = end;
    }
  }
}

void PlanChecker::Note(Invariant invariant,
                       const std::function<std::string()>& message,
                       int64_t places) {
  Violation& violation = found_[invariant];
  violation.count += places;
  if (violation.count > places) return;
  violation.invariant = invariant;
  violation.message = std::string(InfoOf(invariant).name) + ": " + message();
}

void PlanChecker::CheckShared(const TracedPass& pass, const std::string& name) {
  std::map<int64_t, int64_t> first;  // head of each table
  for (size_t h = 0; h < pass.heads.size(); ++h) {
    const auto head = static_cast<int64_t>(h);
    const auto [entry, added] = first.emplace(pass.heads[h].table, head);
    if (added || mask_.Same(entry->second, head)) continue;
    Note(Invariant::kSharedTableAlike, [&] {
      return name + ": heads " + std::to_string(entry->second) + " and " +
             std::to_string(head) + " share a table, but not a mask";
    });
  }
}

// Over all heads: they share the grid. The width that is needed is that of the
// mask, or of the visits where more are made.
void PlanChecker::CheckWidth(const TracedPass& pass, const std::string& name,
                             bool transposed) {
  if (!pass.grid_width) return;
  int64_t needed = 1;
  for (size_t h = 0; h < pass.heads.size(); ++h) {
    std::vector<std::pair<int64_t, int64_t>> tiles;  // outer, inner
    for (const TileVisit& visit : pass.heads[h].visits) {
      const bool outer =
          visit.outer >= pass.outer_begin && visit.outer < pass.outer_end;
      if (outer && visit.state != 0) {
        tiles.emplace_back(visit.outer, visit.inner);
      }
    }
    const Side side{transposed, static_cast<int64_t>(h), {}};
    for (int64_t o = pass.outer_begin; o < pass.outer_end; ++o) {
      for (int64_t i = pass.inner_begin; i < pass.inner_end; ++i) {
        if (Visible(side.head, TileAt(side, o, i)) > 0) {
          tiles.emplace_back(o, i);
        }
      }
    }
    std::sort(tiles.begin(), tiles.end());
    tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
    int64_t steps = 0;
    for (size_t n = 0; n < tiles.size(); ++n) {
      const bool same = n > 0 && tiles[n - 1].first == tiles[n].first;
      steps = same ? steps + 1 : 1;
      needed = std::max(needed, steps);
    }
  }
  if (*pass.grid_width != needed) {
    Note(Invariant::kGridWidth, [&] {
      return name + ": grid_width is " + std::to_string(*pass.grid_width) +
             ", the fullest row of tiles has " + std::to_string(needed);
    });
  }
  if (pass.width && *pass.width < needed) {
    Note(Invariant::kGridWidth, [&] {
      return name + ": the tables have " + std::to_string(*pass.width) +
             " steps, the fullest row of tiles has " + std::to_string(needed);
    });
  }
}

void PlanChecker::CheckTypes(const TracedPass& pass, const std::string& name,
                             bool transposed) {
  Tile most;  // relative to the shard, as the tables have it
  for (int64_t h = 0; h < mask_.heads(); ++h) {
    for (int64_t o = pass.outer_begin; o < pass.outer_end; ++o) {
      for (int64_t i = pass.inner_begin; i < pass.inner_end; ++i) {
        if (Visible(h, TileAt({transposed, h, {}}, o, i)) == 0) continue;
        most.row = std::max(most.row, o - pass.outer_begin);
        most.col = std::max(most.col, i - pass.inner_begin);
      }
    }
  }
  const struct {
    const char* what;
    int bytes;
    int64_t needed;
  } kRows[] = {{"outer tile", pass.outer_bytes, most.row},
               {"inner tile", pass.inner_bytes, most.col},
               {"block", pass.block_bytes, pass.pool.size() - 1}};
  for (const auto& row : kRows) {
    if (row.needed <= LargestIndex(row.bytes)) continue;
    Note(Invariant::kIndexFitsType, [&] {
      return name + ": " + row.what + " " + std::to_string(row.needed) +
             " does not fit " + std::to_string(8 * row.bytes) + " bits";
    });
  }
}

void PlanChecker::CheckPadding(const Side& side, const TracedPass& pass) {
  const TracedHead& head = pass.heads[static_cast<size_t>(side.head)];
  for (const PaddingCell& cell : head.padding) {
    const bool block = trace_.computed || pass.pool.size() == 0 ||
                       (cell.block >= 0 && cell.block < pass.pool.size());
    if (cell.state == 0 && block && cell.inner >= pass.inner_begin &&
        cell.inner < pass.inner_end) {
      continue;
    }
    Note(Invariant::kPaddingIsInert, [&] {
      return side.name + ": padding of output tile " +
             std::to_string(cell.outer) + " has state " +
             std::to_string(cell.state) + ", tile " +
             std::to_string(cell.inner) + ", block " +
             std::to_string(cell.block);
    });
  }
}

// The visits that can be followed; notes the others.
PlanChecker::WorkList PlanChecker::InRange(const Side& side,
                                           const TracedPass& pass,
                                           const optimized::BlockPool* pool) {
  WorkList work;
  const TracedHead& head = pass.heads[static_cast<size_t>(side.head)];
  for (const TileVisit& visit : head.visits) {
    const bool outer =
        visit.outer >= pass.outer_begin && visit.outer < pass.outer_end;
    const bool inner =
        visit.inner >= pass.inner_begin && visit.inner < pass.inner_end;
    // Every step of the grid fetches a block, whether it needs one or not; -1
    // stands for none.
    const bool fetched =
        trace_.computed || (visit.block >= 0 && visit.block < pass.pool.size());
    const bool none =
        visit.state != 1 && (visit.block == -1 || pass.pool.size() == 0);
    const bool block = fetched || none;
    const bool state = visit.state >= 0 && visit.state <= 2;
    if (outer && inner && block && state) {
      if (visit.state != 0) {
        work.push_back({TileAt(side, visit.outer, visit.inner), &visit, pool});
      }
      continue;
    }
    Note(Invariant::kIndexInRange, [&] {
      return side.name + ": a visit of output tile " +
             std::to_string(visit.outer) + ", tile " +
             std::to_string(visit.inner) + ", state " +
             std::to_string(visit.state) + ", block " +
             std::to_string(visit.block);
    });
  }
  return work;
}

void PlanChecker::CheckOrder(const Side& side, const TracedPass& pass) {
  std::set<std::pair<int64_t, int64_t>> seen;
  std::set<int64_t> left;  // output tiles that the grid has moved on from
  const TileVisit* before = nullptr;
  for (const TileVisit& visit :
       pass.heads[static_cast<size_t>(side.head)].visits) {
    const bool same = before && before->outer == visit.outer;
    if (before && !same) left.insert(before->outer);
    const auto where = [&] {
      return Where(side, TileAt(side, visit.outer, visit.inner));
    };
    if (left.contains(visit.outer)) {
      Note(Invariant::kVisitsTogether,
           [&] { return where() + " comes after other output tiles"; });
    }
    if (visit.state != 0 && !seen.insert({visit.outer, visit.inner}).second) {
      Note(Invariant::kVisitedOnce,
           [&] { return where() + " is visited twice"; });
    } else if (same && pass.ascending && visit.inner <= before->inner) {
      Note(Invariant::kVisitedOnce,
           [&] { return where() + " is out of order"; });
    }
    before = &visit;
  }
}

void PlanChecker::CheckStored(const Side& side, const TracedPass& pass) {
  std::map<int64_t, int64_t> times;
  for (const int64_t outer :
       pass.heads[static_cast<size_t>(side.head)].stored) {
    ++times[outer];
  }
  for (int64_t o = pass.outer_begin; o < pass.outer_end; ++o) {
    if (times[o] == 1) continue;
    Note(times[o] == 0 ? Invariant::kEveryTileStored
                       : Invariant::kVisitsTogether,
         [&] {
           return side.name + ": output tile " + std::to_string(o) +
                  " is written " + std::to_string(times[o]) + " times";
         });
  }
}

void PlanChecker::CheckDirection(const std::vector<TracedPass>& passes,
                                 bool transposed) {
  std::vector<WorkList>& all = transposed ? transposed_work_ : forward_work_;
  all.resize(static_cast<size_t>(mask_.heads()));
  const std::string direction = transposed ? "transposed" : "forward";
  for (size_t p = 0; p < passes.size(); ++p) {
    const TracedPass& pass = passes[p];
    const std::string name =
        direction + (passes.size() > 1 ? ", shard " + std::to_string(p) : "");
    CheckShared(pass, name);
    CheckWidth(pass, name, transposed);
    CheckTypes(pass, name, transposed);
    const optimized::BlockPool* pool = ByQuery(pass, transposed);
    for (int64_t h = 0; h < mask_.heads(); ++h) {
      const Side side{transposed, h, name + ", head " + std::to_string(h)};
      CheckPadding(side, pass);
      CheckOrder(side, pass);
      CheckStored(side, pass);
      const WorkList work = InRange(side, pass, pool);
      CheckTiles(side, pass, work);
      WorkList& list = all[static_cast<size_t>(h)];
      list.insert(list.end(), work.begin(), work.end());
    }
  }
  for (int64_t h = 0; h < mask_.heads(); ++h) {
    CheckEffective({transposed, h, direction + ", head " + std::to_string(h)},
                   all[static_cast<size_t>(h)]);
  }
}

std::vector<Violation> PlanChecker::Run() {
  CheckDirection(trace_.forward, false);
  if (!trace_.transposed.empty()) {
    CheckDirection(trace_.transposed, true);
    for (int64_t h = 0; h < mask_.heads(); ++h) CheckTranspose(h);
  }
  std::vector<Violation> violations;
  for (auto& [invariant, violation] : found_) violations.push_back(violation);
  return violations;
}

std::span<const InvariantInfo> Invariants() { return kInvariants; }

const InvariantInfo& InfoOf(Invariant invariant) {
  return kInvariants[static_cast<size_t>(invariant) - 1];
}

std::vector<Violation> CheckPlan(const PlanTrace& trace,
                                 const IntendedMask& mask) {
  return PlanChecker(trace, mask).Run();
}

}  // namespace lockstep::verify
