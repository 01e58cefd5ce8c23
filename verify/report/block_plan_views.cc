#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
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

// Where on an axis of the map segments begin, one flag a character.
std::vector<bool> Begins(const TensorView<const int32_t, 2>& ids, int64_t batch,
                         const std::array<int64_t, 3>& axis) {
  const auto [characters, tiles, edge] = axis;
  std::vector<bool> begins(static_cast<size_t>(characters));
  for (const int64_t t : SegmentBorders(ids, batch)) {
    begins[static_cast<size_t>(t / edge * characters / tiles)] = true;
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
        Begins(data.inputs.q_seg, view.batch,
               {std::min(kMapRows, g.rows()), g.rows(), g.tile_q});
    for (size_t row = 0; row < map.size(); ++row) {
      if (rows[row]) map[row] += " <";
    }
    const auto columns =
        Begins(data.inputs.kv_seg, view.batch,
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

std::vector<std::pair<std::string, std::string>> PlanFacts(
    const PlanReport& report) {
  const TilePlan& plan = report.plans[0];
  const TileGrid& g = plan.grid;
  const auto number = [](int64_t n) { return std::to_string(n); };
  return {
      {"tiles", number(g.rows()) + " x " + number(g.cols()) + " of " +
                    number(g.tile_q) + " x " + number(g.tile_k) +
                    "; batch rows " + std::to_string(report.plans.size()) +
                    ", patterns " + number(report.patterns)},
      {"segments", number(report.segments_q) + " of queries, " +
                       number(report.segments_k) + " of keys"},
      {"selection", number(report.pairs) + " of " +
                        number(report.patterns * g.q_len * g.kv_len) +
                        " pairs, by " + number(report.queries) + " of " +
                        number(report.patterns * g.q_len) + " queries"},
      {"classes",
       number(report.full) + " full, " + number(report.partial) + " partial" +
           (plan.options.blocks
                ? " with " + number(report.blocks) + " different masks"
                : "") +
           ", " + number(report.tiles - report.active()) + " empty (" +
           Fixed(100 * report.density(), 2) + " % active)"},
      {"worklists", number(report.active()) + " entries in " +
                        number(report.steps()) + " steps forward (" +
                        number(report.grid_width) + " wide), in " +
                        number(report.steps_t()) + " transposed (" +
                        number(report.grid_width_t) + " wide)"},
      {"bytes", number(report.coo_bytes) + " as coordinates (" +
                    number(report.coo_bytes_at_tenth) + " at 10 % active), " +
                    number(report.metadata_bytes) + " as tables"},
      {"planned", "in " + Fixed(report.planning_ms, 3) + " ms"},
      {"key", report.key},
      {"digest", report.digest}};
}

std::string PlanText(const PlanReport& report, const PlanView& view) {
  const TileGrid& g = PlanOf(report, view).grid;
  const auto number = [](int64_t n) { return std::to_string(n); };
  std::string text;
  for (const auto& [name, fact] : PlanFacts(report)) {
    text += Format("%-10s", name.c_str()) + fact + "\n";
  }
  text += "\n" + MarkedMap(report, view);
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
                     {"segments_q", report.segments_q},
                     {"segments_k", report.segments_k},
                     {"queries", report.queries},
                     {"pairs", report.pairs},
                     {"tiles", report.tiles},
                     {"active", report.active()},
                     {"full", report.full},
                     {"partial", report.partial},
                     {"empty", report.tiles - report.active()},
                     {"blocks", report.blocks},
                     {"density", report.density()},
                     {"grid_width", report.grid_width},
                     {"grid_width_t", report.grid_width_t},
                     {"steps", report.steps()},
                     {"steps_t", report.steps_t()},
                     {"coo_bytes", report.coo_bytes},
                     {"coo_bytes_at_tenth", report.coo_bytes_at_tenth},
                     {"metadata_bytes", report.metadata_bytes},
                     {"planning_ms", report.planning_ms},
                     {"key", report.key},
                     {"digest", report.digest}};
  return DumpJson(json, 2) + "\n";
}

}  // namespace lockstep::verify
