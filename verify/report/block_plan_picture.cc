// The map of a plan as SVG. Everything is in pixels: strokes that a renderer
// would scale with the tiles vanish at 131072 positions.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "optimized/tile_plan.h"
#include "verify/base/format.h"
#include "verify/report/block_plan.h"
#include "verify/report/junit.h"

namespace lockstep::verify {
namespace {

using optimized::TileClass;
using optimized::TileGrid;
using optimized::TileList;
using optimized::TilePlan;

constexpr double kSide = 720;  // of the map's longer side
constexpr double kLeast = 24;  // of its shorter one
constexpr double kLeft = 64;   // room for the numbers of the queries
constexpr double kTop = 44;    // and of the keys
constexpr double kRight = 28;
constexpr double kBottom = 96;  // for the caption
constexpr int64_t kMostTicks = 8;
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

// Hundredths of a pixel are enough, and the same text everywhere.
std::string Pixels(double x) { return Format("%.2f", x); }

// Positions to pixels.
struct Scene {
  const PlanReport& report;
  const PlanView& view;
  const TilePlan& plan;
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

Scene MakeScene(const PlanReport& report, const PlanView& view) {
  Scene scene{report, view, report.plans[static_cast<size_t>(view.batch)]};
  const auto queries = static_cast<double>(scene.grid().q_len);
  const auto keys = static_cast<double>(scene.grid().kv_len);
  const double longer = std::max(queries, keys);
  scene.width = std::max(kLeast, kSide * keys / longer);
  scene.height = std::max(kLeast, kSide * queries / longer);
  return scene;
}

std::string Rect(double x, double y, double right, double bottom,
                 const char* colour) {
  return "<rect x=\"" + Pixels(x) + "\" y=\"" + Pixels(y) + "\" width=\"" +
         Pixels(right - x) + "\" height=\"" + Pixels(bottom - y) +
         "\" fill=\"" + colour + "\"/>\n";
}

std::string Line(double x1, double y1, double x2, double y2) {
  return "<line x1=\"" + Pixels(x1) + "\" y1=\"" + Pixels(y1) + "\" x2=\"" +
         Pixels(x2) + "\" y2=\"" + Pixels(y2) + "\"/>\n";
}

std::string Label(double x, double y, const char* anchor,
                  const std::string& text) {
  return "<text x=\"" + Pixels(x) + "\" y=\"" + Pixels(y) +
         "\" text-anchor=\"" + anchor + "\">" + XmlEscape(text) + "</text>\n";
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
      svg += Rect(
          scene.X(list.inner[n] * g.tile_k), top, scene.X(right), bottom,
          list.classes[n] == TileClass::kFull ? kFullColour : kPartialColour);
      n = last + 1;
    }
  }
  return svg;
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

std::string SegmentBorders(const Scene& scene) {
  const AttentionForwardData& data = scene.report.payload;
  if (!data.problem.segments) return "";
  const TileGrid& g = scene.grid();
  const auto step = static_cast<int64_t>(
      static_cast<double>(std::max(g.q_len, g.kv_len)) / kSide);
  std::string svg = "<g class=\"segments\" stroke=\"" +
                    std::string(kBorderColour) + "\" stroke-width=\"1\">\n";
  const int64_t batch = scene.view.batch;
  for (const int64_t i : Borders(data.inputs.q_seg, batch, g.q_len, step)) {
    svg += Line(scene.X(0), scene.Y(i), scene.X(g.kv_len), scene.Y(i));
  }
  for (const int64_t j : Borders(data.inputs.kv_seg, batch, g.kv_len, step)) {
    svg += Line(scene.X(j), scene.Y(0), scene.X(j), scene.Y(g.q_len));
  }
  return svg + "</g>\n";
}

// 0, the multiples of a round number, and the end; a power of two where the
// length is a multiple of it.
std::vector<int64_t> Ticks(int64_t length, double pixels) {
  const int64_t most =
      std::clamp<int64_t>(static_cast<int64_t>(pixels / 60), 1, kMostTicks);
  int64_t step = 1;
  if (length % 8 == 0) {
    while (length / step > most) step *= 2;
  } else {
    for (int64_t factor = 0; length / step > most; ++factor) {
      step = factor % 3 == 1 ? step / 2 * 5 : step * 2;  // 1 2 5 10 20 50
    }
  }
  std::vector<int64_t> ticks;
  for (int64_t t = 0; t + step / 2 < length; t += step) ticks.push_back(t);
  ticks.push_back(length);
  return ticks;
}

std::string Axes(const Scene& scene) {
  const TileGrid& g = scene.grid();
  std::string lines = "<g class=\"axes\" stroke=\"#444444\">\n";
  std::string labels;
  for (const int64_t j : Ticks(g.kv_len, scene.width)) {
    lines += Line(scene.X(j), kTop - 5, scene.X(j), kTop);
    labels += Label(scene.X(j), kTop - 9, "middle", std::to_string(j));
  }
  for (const int64_t i : Ticks(g.q_len, scene.height)) {
    lines += Line(kLeft - 5, scene.Y(i), kLeft, scene.Y(i));
    labels += Label(kLeft - 9, scene.Y(i) + 4, "end", std::to_string(i));
  }
  labels += Label(kLeft + scene.width / 2, 16, "middle", "keys");
  const std::string middle = Pixels(kTop + scene.height / 2);
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
  std::string svg = Label(kLeft, y + 24, "start", CaseText(scene.report.line));
  svg +=
      Label(kLeft, y + 44, "start",
            "row " + number(scene.view.batch) + ", head " +
                number(scene.view.head) + ": " + number(g.rows()) + " x " +
                number(g.cols()) + " tiles of " + number(g.tile_q) + " x " +
                number(g.tile_k) + ", " + number(active) + " active (density " +
                Pixels(100 * static_cast<double>(active) /
                       static_cast<double>(g.tiles())) +
                " %), " + number(list.Count(TileClass::kFull)) + " full");
  double x = kLeft;
  for (const auto& [name, colour] : kLegend) {
    svg += Rect(x, y + 56, x + 12, y + 68, colour);
    svg += Label(x + 18, y + 67, "start", name);
    x += 90;
  }
  return svg;
}

}  // namespace

std::string PlanSvg(const PlanReport& report, const PlanView& view) {
  const Scene scene = MakeScene(report, view);
  const TileGrid& g = scene.grid();
  // The caption is wider than the map of few keys.
  const double width = kLeft + std::max(scene.width, kSide) + kRight;
  const double height = kTop + scene.height + kBottom;
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + Pixels(width) +
         "\" height=\"" + Pixels(height) + "\" viewBox=\"0 0 " + Pixels(width) +
         " " + Pixels(height) +
         "\">\n<style>text{font:12px sans-serif}</style>\n" +
         Rect(0, 0, width, height, "#ffffff") +
         "<g class=\"tiles\" shape-rendering=\"crispEdges\">\n" +
         Rect(scene.X(0), scene.Y(0), scene.X(g.kv_len), scene.Y(g.q_len),
              kEmptyColour) +
         Tiles(scene) + "</g>\n" + SegmentBorders(scene) + Axes(scene) +
         Caption(scene) + "</svg>\n";
}

}  // namespace lockstep::verify
