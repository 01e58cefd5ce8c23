// What `lockstep plan` says about a case: tiles, worklists, bytes, key, digest,
// as numbers, as a text map and as a picture.
#ifndef LOCKSTEP_VERIFY_REPORT_BLOCK_PLAN_H_
#define LOCKSTEP_VERIFY_REPORT_BLOCK_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "optimized/tile_plan.h"
#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/inputs/attention_forward.h"

namespace lockstep::verify {

struct PlanRequest {
  optimized::TileOptions tiles;
  // Steps the tables have room for; 0: as many as needed.
  int64_t width = 0;
  int64_t width_t = 0;
};

struct PlanReport {
  std::string line;  // the case, minimal
  AttentionForwardData payload;
  std::vector<optimized::TilePlan> plans;  // of each batch row
  // Over batch rows and patterns.
  int64_t patterns = 0;
  // The stages: segments of queries and of keys, over batch rows alone; queries
  // that see a key, and pairs that see each other; classes of tiles.
  int64_t segments_q = 0;
  int64_t segments_k = 0;
  int64_t queries = 0;
  int64_t pairs = 0;
  int64_t tiles = 0;
  int64_t full = 0;
  int64_t partial = 0;
  int64_t blocks = 0;  // different element masks; 0 where none are stored
  int64_t coo_bytes = 0;
  int64_t coo_bytes_at_tenth = 0;  // if 10 % of the tiles were active
  int64_t metadata_bytes = 0;
  // Steps needed by the fullest row of tiles of all.
  int64_t grid_width = 1;
  int64_t grid_width_t = 1;
  double planning_ms = 0;  // all batch rows on one thread, fastest of three
  std::string key;         // PlanKey in words
  std::string digest;      // of everything planned

  int64_t active() const { return full + partial; }
  // What grids of these widths launch, padding included.
  int64_t steps() const { return patterns * plans[0].grid.rows() * grid_width; }
  int64_t steps_t() const {
    return patterns * plans[0].grid.cols() * grid_width_t;
  }
  double density() const {
    return static_cast<double>(active()) / static_cast<double>(tiles);
  }
};

// Values of q, k and v are not made. A block_plan case says itself what is
// asked, and `asked` is not looked at. Errors: the case (files included), the
// request, a width too small for the mask.
Result<PlanReport> ReportPlan(const Case& c, const MaterialiseOptions& options,
                              const PlanRequest& asked);

// Which map is drawn. Requires: in range.
struct PlanView {
  int64_t batch = 0;
  int64_t head = 0;
};

// Queries and keys of a case that has a mask; none of another.
std::optional<std::pair<int64_t, int64_t>> MaskLengths(const Case& c);

// Where on the map something is wrong.
struct PlanMarks {
  // First and last position of stretches, ascending.
  std::vector<std::pair<int64_t, int64_t>> queries;
  std::vector<std::pair<int64_t, int64_t>> keys;
  // The query and the key between which it is known to happen.
  std::optional<std::pair<int64_t, int64_t>> pair;
  bool Any() const { return !queries.empty() || !keys.empty() || pair; }
};

// Where segments begin in row `batch` of ids [batch, length], but for the
// first.
std::vector<int64_t> SegmentBorders(const TensorView<const int32_t, 2>& ids,
                                    int64_t batch);

// The numbers by name: the stages, then bytes, time, key and digest.
std::vector<std::pair<std::string, std::string>> PlanFacts(
    const PlanReport& report);

// The numbers, then a map of at most 64 x 32 characters: '#' only full tiles,
// '.' only empty ones, '+' anything else; '<' behind lines and '^' below
// columns where a segment begins.
std::string PlanText(const PlanReport& report, const PlanView& view);

// All numbers, one object; keys as in docs/plans.md.
std::string PlanJson(const PlanReport& report);

// The map as SVG: full and partial tiles, segment borders as lines, axes with
// ticks; case, row, head and density in the caption. Well-formed XML whatever
// bytes the case's file names have.
std::string PlanSvg(const PlanReport& report, const PlanView& view);
// The map alone, to stand on a page in the page's colours (kPlanFigureStyle).
// `what`: in words, for readers who do not see it.
std::string PlanFigure(const PlanReport& report, const PlanView& view,
                       const PlanMarks& marks, const std::string& what);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_BLOCK_PLAN_H_
