// The map of a plan as SVG. Everything is in pixels: strokes that a renderer
// would scale with the tiles vanish at 131072 positions.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "optimized/tile_plan.h"
#include "verify/base/format.h"
#include "verify/report/block_plan.h"
#include "verify/report/junit.h"
#include "verify/report/markup/svg.h"

namespace lockstep::verify {
namespace {

using optimized::TileClass;
using optimized::TileGrid;
using optimized::TileList;
using optimized::TilePlan;

constexpr double kSide = 720;      // of the map's longer side
constexpr double kPageSide = 420;  // on a page, which may be narrow
// On a page a picture may be looked at so many times as large.
constexpr double kPageZoom = 16;
constexpr double kLeast = 24;  // of its shorter one
constexpr double kLeft = 64;   // room for the numbers of the queries
constexpr double kTop = 44;    // and of the keys
constexpr double kRight = 28;
constexpr double kBottom = 96;  // for the caption
constexpr double kPageBottom = 12;
constexpr size_t kMostCaption = 96;  // characters of a case in the caption

constexpr const char* kFullColour = "#1f5a91";
constexpr const char* kPartialColour = "#f0a33c";
constexpr const char* kEmptyColour = "#f2f2f2";
constexpr const char* kBorderColour = "#b3261e";

// What a colour stands for.
constexpr const char* kLegend[][2] = {{"full", kFullColour},
                                      {"partial", kPartialColour},
                                      {"empty", kEmptyColour},
                                      {"segment begins", kBorderColour}};

// Colours are attributes, so that a file shows them wherever it is opened; a
// page has its own, by class.
std::string Fill(const char* kind, const char* colour) {
  return std::string("class=\"") + kind + "\" fill=\"" + colour + "\"";
}

// Positions to pixels.
struct Scene {
  const PlanReport& report;
  const PlanView& view;
  const TilePlan& plan;
  bool on_page = false;
  double width = 0;  // of the map
  double height = 0;

  const TileGrid& grid() const { return plan.grid; }
  double X(int64_t key) const {
    return kLeft + width * static_cast<double>(key) /
                       static_cast<double>(grid().kv_len);
  }
  double Y(int64_t query) const {
    return kTop + height * static_cast<double>(query) /
                      static_cast<double>(grid().q_len);
  }
};

Scene MakeScene(const PlanReport& report, const PlanView& view, bool on_page) {
  Scene scene{report, view, report.plans[static_cast<size_t>(view.batch)],
              on_page};
  const double side = on_page ? kPageSide : kSide;
  const auto queries = static_cast<double>(scene.grid().q_len);
  const auto keys = static_cast<double>(scene.grid().kv_len);
  const double longer = std::max(queries, keys);
  scene.width = std::max(kLeast, side * keys / longer);
  scene.height = std::max(kLeast, side * queries / longer);
  return scene;
}

// Active tiles; neighbours of one class are one rectangle.
std::string Tiles(const Scene& scene) {
  const TileGrid& g = scene.grid();
  const TileList& list = scene.plan.pattern(scene.view.head).by_query;
  std::string svg;
  for (int64_t row = 0; row < g.rows(); ++row) {
    const double top = scene.Y(row * g.tile_q);
    const double bottom = scene.Y(std::min((row + 1) * g.tile_q, g.q_len));
    const auto end =
        static_cast<size_t>(list.start[static_cast<size_t>(row) + 1]);
    auto n = static_cast<size_t>(list.start[static_cast<size_t>(row)]);
    while (n < end) {
      size_t last = n;
      while (last + 1 < end && list.inner[last + 1] == list.inner[last] + 1 &&
             list.classes[last + 1] == list.classes[n]) {
        ++last;
      }
      const int64_t right =
          std::min((list.inner[last] + int64_t{1}) * g.tile_k, g.kv_len);
      svg += SvgRect(scene.X(list.inner[n] * g.tile_k), top, scene.X(right),
                     bottom,
                     list.classes[n] == TileClass::kFull
                         ? Fill("full", kFullColour)
                         : Fill("partial", kPartialColour));
      n = last + 1;
    }
  }
  return svg;
}

// Borders of segments, no two nearer than `step`: closer ones would be one line
// on the picture.
std::vector<int64_t> Borders(const TensorView<const int32_t, 2>& ids,
                             int64_t batch, int64_t step) {
  std::vector<int64_t> borders;
  for (const int64_t t : SegmentBorders(ids, batch)) {
    if (borders.empty() || t - borders.back() >= step) borders.push_back(t);
  }
  return borders;
}

std::string BorderLines(const Scene& scene) {
  const AttentionForwardData& data = scene.report.payload;
  if (!data.problem.segments) return "";
  const TileGrid& g = scene.grid();
  const auto step =
      static_cast<int64_t>(static_cast<double>(std::max(g.q_len, g.kv_len)) /
                           (scene.on_page ? kPageSide * kPageZoom : kSide));
  std::string svg = "<g class=\"segments\" stroke=\"" +
                    std::string(kBorderColour) + "\" stroke-width=\"1\">\n";
  const int64_t batch = scene.view.batch;
  for (const int64_t i : Borders(data.inputs.q_seg, batch, step)) {
    svg += SvgLine(scene.X(0), scene.Y(i), scene.X(g.kv_len), scene.Y(i));
  }
  for (const int64_t j : Borders(data.inputs.kv_seg, batch, step)) {
    svg += SvgLine(scene.X(j), scene.Y(0), scene.X(j), scene.Y(g.q_len));
  }
  return svg + "</g>\n";
}

std::string Axes(const Scene& scene) {
  const TileGrid& g = scene.grid();
  std::string lines = "<g class=\"axes\" stroke=\"#444444\">\n";
  std::string labels;
  for (const int64_t j : SvgTicks(g.kv_len, scene.width)) {
    lines += SvgLine(scene.X(j), kTop - 5, scene.X(j), kTop);
    labels += SvgLabel(scene.X(j), kTop - 9, "middle", std::to_string(j));
  }
  for (const int64_t i : SvgTicks(g.q_len, scene.height)) {
    lines += SvgLine(kLeft - 5, scene.Y(i), kLeft, scene.Y(i));
    labels += SvgLabel(kLeft - 9, scene.Y(i) + 4, "end", std::to_string(i));
  }
  labels += SvgLabel(kLeft + scene.width / 2, 16, "middle", "keys");
  const std::string middle = SvgPixels(kTop + scene.height / 2);
  labels += "<text transform=\"translate(12 " + middle +
            ") rotate(-90)\" text-anchor=\"middle\">queries</text>\n";
  return lines + "</g>\n" + labels;
}

// The case, cut between characters.
std::string CaseText(std::string line) {
  if (line.size() <= kMostCaption) return line;
  line.resize(kMostCaption - 3);
  while (!line.empty() && (line.back() & 0x80) != 0) line.pop_back();
  return line + "...";
}

std::string Caption(const Scene& scene) {
  const TileGrid& g = scene.grid();
  const auto number = [](int64_t n) { return std::to_string(n); };
  const TileList& list = scene.plan.pattern(scene.view.head).by_query;
  const int64_t active =
      list.Count(TileClass::kFull) + list.Count(TileClass::kPartial);
  const double y = kTop + scene.height;
  std::string svg =
      SvgLabel(kLeft, y + 24, "start", CaseText(scene.report.line));
  svg += SvgLabel(kLeft, y + 44, "start",
                  "row " + number(scene.view.batch) + ", head " +
                      number(scene.view.head) + ": " + number(g.rows()) +
                      " x " + number(g.cols()) + " tiles of " +
                      number(g.tile_q) + " x " + number(g.tile_k) + ", " +
                      number(active) + " active (density " +
                      SvgPixels(100 * static_cast<double>(active) /
                                static_cast<double>(g.tiles())) +
                      " %), " + number(list.Count(TileClass::kFull)) + " full");
  double x = kLeft;
  for (const auto& [name, colour] : kLegend) {
    svg += SvgRect(x, y + 56, x + 12, y + 68, Fill("key", colour));
    svg += SvgLabel(x + 18, y + 67, "start", name);
    x += 90;
  }
  return svg;
}

// The empty map, its tiles, borders and axes.
std::string Map(const Scene& scene) {
  const TileGrid& g = scene.grid();
  return "<g class=\"tiles\" shape-rendering=\"crispEdges\">\n" +
         SvgRect(scene.X(0), scene.Y(0), scene.X(g.kv_len), scene.Y(g.q_len),
                 Fill("empty", kEmptyColour)) +
         Tiles(scene) + "</g>\n" + BorderLines(scene) + Axes(scene);
}

// Stretches of positions, widened to whole tiles and joined where these touch.
std::vector<std::pair<int64_t, int64_t>> TilesOf(
    const std::vector<std::pair<int64_t, int64_t>>& stretches, int64_t tile,
    int64_t length) {
  std::vector<std::pair<int64_t, int64_t>> bands;
  for (const auto& [first, last] : stretches) {
    const int64_t begin = first / tile * tile;
    const int64_t end = std::min((last / tile + 1) * tile, length);
    if (!bands.empty() && begin <= bands.back().second) {
      bands.back().second = std::max(bands.back().second, end);
    } else {
      bands.emplace_back(begin, end);
    }
  }
  return bands;
}

// Bands of guilty tiles are framed, and pointed at from outside; the one tile
// that is known is crossed out.
std::string Marks(const Scene& scene, const PlanMarks& marks) {
  const TileGrid& g = scene.grid();
  std::string svg = "<g class=\"guilty\">\n";
  for (const auto& [begin, end] : TilesOf(marks.queries, g.tile_q, g.q_len)) {
    svg += SvgRect(scene.X(0), scene.Y(begin), scene.X(g.kv_len), scene.Y(end),
                   "class=\"band\"");
    svg +=
        SvgLabel(scene.X(g.kv_len) + 2, (scene.Y(begin) + scene.Y(end)) / 2 + 4,
                 "start", "\xe2\x97\x80");
  }
  for (const auto& [begin, end] : TilesOf(marks.keys, g.tile_k, g.kv_len)) {
    svg += SvgRect(scene.X(begin), scene.Y(0), scene.X(end), scene.Y(g.q_len),
                   "class=\"band\"");
    svg += SvgLabel((scene.X(begin) + scene.X(end)) / 2, scene.Y(g.q_len) + 11,
                    "middle", "\xe2\x96\xb2");
  }
  if (marks.pair) {
    const int64_t row = marks.pair->first / g.tile_q * g.tile_q;
    const int64_t col = marks.pair->second / g.tile_k * g.tile_k;
    const double left = scene.X(col), top = scene.Y(row);
    const double right = scene.X(std::min(col + g.tile_k, g.kv_len));
    const double bottom = scene.Y(std::min(row + g.tile_q, g.q_len));
    svg += SvgRect(left, top, right, bottom, "class=\"tile\"") +
           SvgLine(left, top, right, bottom, "class=\"tile\"") +
           SvgLine(left, bottom, right, top, "class=\"tile\"");
  }
  return svg + "</g>\n";
}

std::string Head(double width, double height, const std::string& attributes) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" " + attributes +
         "viewBox=\"0 0 " + SvgPixels(width) + " " + SvgPixels(height) +
         "\">\n";
}

}  // namespace

std::string PlanSvg(const PlanReport& report, const PlanView& view) {
  const Scene scene = MakeScene(report, view, false);
  // The caption is wider than the map of few keys.
  const double width = kLeft + std::max(scene.width, kSide) + kRight;
  const double height = kTop + scene.height + kBottom;
  return Head(width, height,
              "width=\"" + SvgPixels(width) + "\" height=\"" +
                  SvgPixels(height) + "\" ") +
         "<style>text{font:12px sans-serif}</style>\n" +
         SvgRect(0, 0, width, height, Fill("paper", "#ffffff")) + Map(scene) +
         Caption(scene) + "</svg>\n";
}

std::string PlanFigure(const PlanReport& report, const PlanView& view,
                       const PlanMarks& marks, const std::string& what) {
  const Scene scene = MakeScene(report, view, true);
  return Head(kLeft + scene.width + kRight, kTop + scene.height + kPageBottom,
              "class=\"plan\" role=\"img\" aria-label=\"" + XmlEscape(what) +
                  "\" ") +
         Map(scene) + (marks.Any() ? Marks(scene, marks) : "") + "</svg>\n";
}

}  // namespace lockstep::verify
