#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "optimized/tile_plan.h"
#include "verify/base/format.h"
#include "verify/report/block_plan.h"
#include "verify/report/json_text.h"

namespace lockstep::verify {
namespace {

using optimized::TileClass;
using optimized::TileGrid;
using optimized::TileList;
using optimized::TilePlan;

constexpr int64_t kMapColumns = 64;
constexpr int64_t kMapRows = 32;

std::string Fixed(double value, int digits) {
  return Format("%.*f", digits, value);
}

const TilePlan& PlanOf(const PlanReport& report, const PlanView& view) {
  return report.plans[static_cast<size_t>(view.batch)];
}

// Tiles by class under one character of the map.
struct Cell {
  int64_t tiles = 0;
  int64_t full = 0;
  int64_t active = 0;
  char Letter() const {
    if (active == 0) return '.';
    return full == tiles ? '#' : '+';
  }
};

std::vector<std::string> MapOfHead(const TilePlan& plan, int64_t head) {
  const TileGrid& g = plan.grid;
  const int64_t rows = std::min(kMapRows, g.rows());
  const int64_t cols = std::min(kMapColumns, g.cols());
  std::vector<Cell> cells(static_cast<size_t>(rows * cols));
  const auto cell = [&](int64_t row, int64_t col) -> Cell& {
    return cells[static_cast<size_t>(row * rows / g.rows() * cols +
                                     col * cols / g.cols())];
  };
  const TileList& list = plan.pattern(head).by_query;
  for (int64_t row = 0; row < g.rows(); ++row) {
    for (int64_t col = 0; col < g.cols(); ++col) ++cell(row, col).tiles;
    for (int64_t n = list.start[static_cast<size_t>(row)];
         n < list.start[static_cast<size_t>(row) + 1]; ++n) {
      const auto at = static_cast<size_t>(n);
      Cell& under = cell(row, list.inner[at]);
      ++under.active;
      under.full += list.classes[at] == TileClass::kFull;
    }
  }
  std::vector<std::string> map(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t col = 0; col < cols; ++col) {
      map[static_cast<size_t>(row)] +=
          cells[static_cast<size_t>(row * cols + col)].Letter();
    }
  }
  return map;
}

// Whether a segment begins among the positions [begin, end), the first of all
// not counted.
bool SegmentBegins(const TensorView<const int32_t, 2>& ids, int64_t batch,
                   int64_t begin, int64_t end) {
  for (int64_t t = std::max<int64_t>(begin, 1); t < end; ++t) {
    if (ids(batch, t) != ids(batch, t - 1)) return true;
  }
  return false;
}

// Where on an axis of the map segments begin, one flag a character.
std::vector<bool> Begins(const TensorView<const int32_t, 2>& ids, int64_t batch,
                         int64_t length, const std::array<int64_t, 3>& axis) {
  const auto [characters, tiles, edge] = axis;
  std::vector<bool> begins(static_cast<size_t>(characters));
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const auto at = static_cast<size_t>(tile * characters / tiles);
    begins[at] =
        begins[at] || SegmentBegins(ids, batch, tile * edge,
                                    std::min((tile + 1) * edge, length));
  }
  return begins;
}

// The map with '<' behind rows, and '^' below columns, where a segment begins.
std::string MarkedMap(const PlanReport& report, const PlanView& view) {
  const TilePlan& plan = PlanOf(report, view);
  const TileGrid& g = plan.grid;
  std::vector<std::string> map = MapOfHead(plan, view.head);
  const AttentionForwardData& data = report.payload;
  std::string below;
  if (data.problem.segments) {
    const auto rows =
        Begins(data.inputs.q_seg, view.batch, g.q_len,
               {std::min(kMapRows, g.rows()), g.rows(), g.tile_q});
    for (size_t row = 0; row < map.size(); ++row) {
      if (rows[row]) map[row] += " <";
    }
    const auto columns =
        Begins(data.inputs.kv_seg, view.batch, g.kv_len,
               {std::min(kMapColumns, g.cols()), g.cols(), g.tile_k});
    for (const bool begins : columns) below += begins ? '^' : ' ';
    below.resize(below.find_last_not_of(' ') + 1);
  }
  std::string text;
  for (const std::string& row : map) text += row + "\n";
  return below.empty() ? text : text + below + "\n";
}

// "keys 0..64 to the right, 8 a character"; a share where tiles do not divide.
std::string AxisText(int64_t length, int64_t characters) {
  const double share =
      static_cast<double>(length) / static_cast<double>(characters);
  const bool whole = length % characters == 0;
  return "0.." + std::to_string(length) + ", " + Fixed(share, whole ? 0 : 1);
}

}  // namespace

std::string PlanText(const PlanReport& report, const PlanView& view) {
  const TilePlan& plan = PlanOf(report, view);
  const TileGrid& g = plan.grid;
  const auto number = [](int64_t n) { return std::to_string(n); };
  std::string text =
      "tiles     " + number(g.rows()) + " x " + number(g.cols()) + " of " +
      number(g.tile_q) + " x " + number(g.tile_k) + "; batch rows " +
      number(static_cast<int64_t>(report.plans.size())) + ", patterns " +
      number(report.patterns) + "\n" + "active    " + number(report.active()) +
      " of " + number(report.tiles) + " (" + Fixed(100 * report.density(), 2) +
      " %): " + number(report.full) + " full, " + number(report.partial) +
      " partial";
  if (plan.options.blocks) {
    text += " with " + number(report.blocks) + " different masks";
  }
  text += "\ngrid      " + number(report.grid_width) + " steps forward, " +
          number(report.grid_width_t) + " transposed\n" + "bytes     " +
          number(report.coo_bytes) + " as coordinates (" +
          number(report.coo_bytes_at_tenth) + " at 10 % active), " +
          number(report.metadata_bytes) + " as tables\n" + "planned   in " +
          Fixed(report.planning_ms, 3) + " ms\n" + "key       " + report.key +
          "\n" + "digest    " + report.digest + "\n\n";
  text += MarkedMap(report, view);
  text += "\n# full   + partial or mixed   . empty   (row " +
          number(view.batch) + ", head " + number(view.head) + ")\n";
  text += "keys " + AxisText(g.kv_len, std::min(kMapColumns, g.cols())) +
          " a character; queries " +
          AxisText(g.q_len, std::min(kMapRows, g.rows())) + " a line";
  if (report.payload.problem.segments) text += "; ^ < a segment begins";
  return text + "\n";
}

std::string PlanJson(const PlanReport& report) {
  const TileGrid& g = report.plans[0].grid;
  const Json json = {{"case", report.line},
                     {"tile", {g.tile_q, g.tile_k}},
                     {"grid", {g.rows(), g.cols()}},
                     {"rows", report.plans.size()},
                     {"patterns", report.patterns},
                     {"tiles", report.tiles},
                     {"active", report.active()},
                     {"full", report.full},
                     {"partial", report.partial},
                     {"blocks", report.blocks},
                     {"density", report.density()},
                     {"grid_width", report.grid_width},
                     {"grid_width_t", report.grid_width_t},
                     {"coo_bytes", report.coo_bytes},
                     {"coo_bytes_at_tenth", report.coo_bytes_at_tenth},
                     {"metadata_bytes", report.metadata_bytes},
                     {"planning_ms", report.planning_ms},
                     {"key", report.key},
                     {"digest", report.digest}};
  return DumpJson(json, 2) + "\n";
}

}  // namespace lockstep::verify
