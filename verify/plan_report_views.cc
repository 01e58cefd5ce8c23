#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "optimized/tile_plan.h"
#include "verify/json_text.h"
#include "verify/plan_report.h"

namespace lockstep::verify {
namespace {

using optimized::TileClass;
using optimized::TileGrid;
using optimized::TileList;
using optimized::TilePlan;

constexpr int64_t kMapColumns = 64;
constexpr int64_t kMapRows = 32;
constexpr int64_t kSide = 720;  // of the picture's longer side

std::string Fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
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

std::vector<std::string> Map(const TilePlan& plan, int64_t head) {
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

std::string Rect(int64_t x, int64_t y, int64_t width, int64_t height,
                 const char* colour) {
  return "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) +
         "\" width=\"" + std::to_string(width) + "\" height=\"" +
         std::to_string(height) + "\" fill=\"" + colour + "\"/>\n";
}

constexpr const char* kFullColour = "#1f5a91";
constexpr const char* kPartialColour = "#f0a33c";
constexpr const char* kEmptyColour = "#f2f2f2";
constexpr const char* kBorderColour = "#b3261e";

// Active tiles, in units of pairs; neighbours of one class are one rectangle.
std::string SvgTiles(const TilePlan& plan, int64_t head) {
  const TileGrid& g = plan.grid;
  const TileList& list = plan.pattern(head).by_query;
  std::string svg;
  for (int64_t row = 0; row < g.rows(); ++row) {
    const int64_t y = row * g.tile_q;
    const auto end =
        static_cast<size_t>(list.start[static_cast<size_t>(row) + 1]);
    auto n = static_cast<size_t>(list.start[static_cast<size_t>(row)]);
    while (n < end) {
      size_t last = n;
      while (last + 1 < end && list.inner[last + 1] == list.inner[last] + 1 &&
             list.classes[last + 1] == list.classes[n]) {
        ++last;
      }
      const int64_t x = list.inner[n] * g.tile_k;
      const int64_t right =
          std::min((list.inner[last] + int64_t{1}) * g.tile_k, g.kv_len);
      svg += Rect(
          x, y, right - x, std::min(g.tile_q, g.q_len - y),
          list.classes[n] == TileClass::kFull ? kFullColour : kPartialColour);
      n = last + 1;
    }
  }
  return svg;
}

std::string Line(int64_t x1, int64_t y1, int64_t x2, int64_t y2) {
  return "<line x1=\"" + std::to_string(x1) + "\" y1=\"" + std::to_string(y1) +
         "\" x2=\"" + std::to_string(x2) + "\" y2=\"" + std::to_string(y2) +
         "\"/>\n";
}

// Positions where the id changes, no two nearer than `step`: closer ones would
// be one line on the picture.
std::vector<int64_t> Borders(const TensorView<const int32_t, 2>& ids,
                             int64_t batch, int64_t length, int64_t step) {
  std::vector<int64_t> borders;
  for (int64_t t = 1; t < length; ++t) {
    if (ids(batch, t) == ids(batch, t - 1)) continue;
    if (borders.empty() || t - borders.back() >= step) borders.push_back(t);
  }
  return borders;
}

std::string SvgBorders(const PlanReport& report, int64_t batch) {
  const AttentionForwardData& data = report.payload;
  if (!data.problem.segments) return "";
  const int64_t q_len = data.problem.q_len;
  const int64_t kv_len = data.problem.kv_len;
  const int64_t step = (std::max(q_len, kv_len) + kSide - 1) / kSide;
  std::string svg =
      "<g stroke=\"" + std::string(kBorderColour) + "\" stroke-width=\"1\">\n";
  for (const int64_t i : Borders(data.inputs.q_seg, batch, q_len, step)) {
    svg += Line(0, i, kv_len, i);
  }
  for (const int64_t j : Borders(data.inputs.kv_seg, batch, kv_len, step)) {
    svg += Line(j, 0, j, q_len);
  }
  return svg + "</g>\n";
}

std::string Escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '&'   ? std::string("&amp;")
              : c == '<' ? std::string("&lt;")
              : c == '>' ? std::string("&gt;")
                         : std::string(1, c);
  }
  return result;
}

std::string Label(int64_t x, int64_t y, const std::string& text) {
  return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) +
         "\">" + Escaped(text) + "</text>\n";
}

// What a colour stands for.
constexpr const char* kLegend[][2] = {{"full", kFullColour},
                                      {"partial", kPartialColour},
                                      {"empty", kEmptyColour}};

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
  for (const std::string& row : Map(plan, view.head)) text += row + "\n";
  return text + "\n# full   + partial or mixed   . empty   (row " +
         number(view.batch) + ", head " + number(view.head) + ")\n";
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

std::string PlanSvg(const PlanReport& report, const PlanView& view) {
  const TilePlan& plan = PlanOf(report, view);
  const TileGrid& g = plan.grid;
  const double scale = static_cast<double>(kSide) /
                       static_cast<double>(std::max(g.q_len, g.kv_len));
  const auto height =
      static_cast<int64_t>(static_cast<double>(g.q_len) * scale);
  const std::string box =
      std::to_string(kSide + 40) + " " + std::to_string(height + 100);
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-20 -20 " + box +
      "\">\n<style>text{font:13px sans-serif}"
      "line{vector-effect:non-scaling-stroke}</style>\n" +
      Rect(-20, -20, kSide + 40, height + 100, "#ffffff") +
      "<g transform=\"scale(" + Fixed(scale, 9) +
      ")\" shape-rendering=\"crispEdges\">\n" +
      Rect(0, 0, g.kv_len, g.q_len, kEmptyColour) + SvgTiles(plan, view.head) +
      SvgBorders(report, view.batch) + "</g>\n";
  svg += Label(0, height + 24,
               report.line.size() <= 100 ? report.line
                                         : report.line.substr(0, 97) + "...");
  svg += Label(0, height + 44,
               std::to_string(g.rows()) + " x " + std::to_string(g.cols()) +
                   " tiles of " + std::to_string(g.tile_q) + " x " +
                   std::to_string(g.tile_k) + "; keys to the right, queries " +
                   "downwards; red: segment borders");
  int64_t x = 0;
  for (const auto& [name, colour] : kLegend) {
    svg += Rect(x, height + 54, 12, 12, colour);
    svg += Label(x + 18, height + 65, name);
    x += 80;
  }
  return svg + "</svg>\n";
}

}  // namespace lockstep::verify
