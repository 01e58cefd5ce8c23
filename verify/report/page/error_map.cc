#include "verify/report/page/error_map.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "verify/base/format.h"
#include "verify/report/markup/html.h"
#include "verify/report/markup/svg.h"
#include "verify/report/page/error_levels.h"

namespace lockstep::verify {

// What is wrong has a colour, and more of it the further off it is; what is
// right is pale ink. So order shows without colour in either scheme. What has
// no distance is crossed, what was not judged is hatched.
const char* const kErrorMapStyle = R"(
svg.errors .e, .key.e { stroke: none; }
svg.errors .e1, svg .e1 { fill: var(--ink); fill-opacity: .03; }
svg .e2 { fill: var(--ink); fill-opacity: .13; }
svg .e3 { fill: var(--bad); fill-opacity: .42; }
svg .e4 { fill: var(--bad); fill-opacity: .6; }
svg .e5 { fill: var(--bad); fill-opacity: .8; }
svg .e6 { fill: var(--bad); fill-opacity: 1; }
svg .e0 { fill: url(#unjudged); } svg .e7 { fill: url(#nodistance); }
svg.errors .frame { fill: none; stroke: var(--soft); }
svg.errors .seg { stroke: var(--ink); stroke-width: 2; }
svg.errors .halo { stroke: var(--paper); stroke-width: 2.5; }
svg.errors .edge { stroke: var(--accent); stroke-dasharray: 3 3; }
svg.errors .axes { stroke: var(--soft); }
svg.swatch { display: inline-block; width: 1.1em; height: 1.1em;
  vertical-align: -.2em; margin-right: .4em; border: 1px solid var(--soft); }
svg.none { position: absolute; width: 0; height: 0; }
pre.map { font-size: 11px; }
)";

namespace {

constexpr double kLeft = 52;
constexpr double kTop = 34;
constexpr double kRight = 14;
constexpr double kBottom = 8;
constexpr double kWidth = 384;  // of cells, at most; and their height
constexpr double kHeight = 384;
// Tile edges nearer than so many pixels are a grey surface.
constexpr double kLeastEdge = 5;

const char* AxisOr(const char* name, const char* instead) {
  return name == nullptr ? instead : name;
}

// One map, in pixels.
struct Canvas {
  const ErrorPicture& picture;
  const ErrorMap& map;
  ErrorLevels levels;
  double cell_width;
  double cell_height;

  Canvas(const ErrorPicture& from, const ErrorMap& drawn)
      : picture(from),
        map(drawn),
        levels(from),
        cell_width(
            std::clamp(std::floor(kWidth / static_cast<double>(drawn.columns)),
                       6.0, 28.0)),
        cell_height(std::clamp(
            std::floor(kHeight / static_cast<double>(drawn.rows)), 6.0, 20.0)) {
  }

  int64_t lines() const { return picture.output.shape[picture.output.down]; }
  int64_t channels() const { return picture.output.shape[3]; }
  double right() const {
    return kLeft + cell_width * static_cast<double>(map.columns);
  }
  double bottom() const {
    return kTop + cell_height * static_cast<double>(map.rows);
  }
  double Y(int64_t line) const {
    return std::min(bottom(), kTop + cell_height * static_cast<double>(line) /
                                         static_cast<double>(map.row_step));
  }
  double X(int64_t channel) const {
    return std::min(right(), kLeft + cell_width * static_cast<double>(channel) /
                                         static_cast<double>(map.channel_step));
  }
  int LevelOf(int64_t row, int64_t column) const {
    return levels.Of(
        map.cells[static_cast<size_t>(row * map.columns + column)]);
  }
};

// A path a level; neighbours of a row in one piece.
std::string Cells(const Canvas& canvas) {
  std::vector<std::string> paths(kErrorLevels);
  for (int64_t row = 0; row < canvas.map.rows; ++row) {
    for (int64_t column = 0; column < canvas.map.columns;) {
      const int level = canvas.LevelOf(row, column);
      int64_t end = column + 1;
      while (end < canvas.map.columns && canvas.LevelOf(row, end) == level) {
        ++end;
      }
      const double width =
          canvas.cell_width * static_cast<double>(end - column);
      paths[static_cast<size_t>(level)] +=
          Format("M%.0f %.0fh%.0fv%.0fh-%.0fz",
                 kLeft + canvas.cell_width * static_cast<double>(column),
                 kTop + canvas.cell_height * static_cast<double>(row), width,
                 canvas.cell_height, width);
      column = end;
    }
  }
  std::string svg;
  for (size_t level = 0; level < paths.size(); ++level) {
    if (paths[level].empty()) continue;
    svg += Format("<path class=\"e e%zu\" d=\"%s\"/>\n", level,
                  paths[level].c_str());
  }
  return svg;
}

// Lines of tiles and of segments; which of them could not be drawn.
std::string Borders(const Canvas& canvas, int64_t tile, std::string* note) {
  std::string svg;
  if (tile > 0 && canvas.Y(tile) - canvas.Y(0) < kLeastEdge &&
      tile < canvas.lines()) {
    *note += " Tile edges, every " + std::to_string(tile) +
             " rows, are too near one another to be drawn.";
  } else if (tile > 0) {
    for (int64_t at = tile; at < canvas.lines(); at += tile) {
      for (const char* const kind : {"class=\"halo\"", "class=\"edge\""}) {
        svg += SvgLine(kLeft, canvas.Y(at), canvas.right(), canvas.Y(at), kind);
      }
    }
  }
  double last = 0;
  for (const int64_t at : canvas.map.segments) {
    const double y = canvas.Y(at);
    if (y - last < 2) continue;  // one line on the picture
    svg += SvgLine(kLeft - 6, y, canvas.right() + 6, y, "class=\"seg\"");
    last = y;
  }
  return svg;
}

std::string Axes(const Canvas& canvas) {
  const OutputSpec& output = canvas.picture.output;
  std::string lines = "<g class=\"axes\">\n", labels;
  for (const int64_t i : SvgTicks(canvas.lines(), canvas.bottom() - kTop)) {
    lines += SvgLine(kLeft - 4, canvas.Y(i), kLeft, canvas.Y(i));
    labels += SvgLabel(kLeft - 7, canvas.Y(i) + 4, "end", std::to_string(i));
  }
  for (const int64_t c : SvgTicks(canvas.channels(), canvas.right() - kLeft)) {
    lines += SvgLine(canvas.X(c), kTop - 4, canvas.X(c), kTop);
    labels += SvgLabel(canvas.X(c), kTop - 7, "middle", std::to_string(c));
  }
  labels +=
      SvgLabel(4, 13, "start",
               std::string(AxisOr(output.axes[output.down], "row")) +
                   " down, " + AxisOr(output.axes[3], "value") + " across");
  return lines + "</g>\n" + labels;
}

std::string Svg(const Canvas& canvas, int64_t tile, const std::string& what,
                std::string* note) {
  const double width = std::max(canvas.right() + kRight, 200.0);
  // Text of a map of few channels shall not be larger than that of others.
  return Format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"errors\" "
             "role=\"img\" style=\"max-width: %.0fpx\" viewBox=\"0 0 %.0f "
             "%.0f\" aria-label=\"",
             1.2 * width, width, canvas.bottom() + kBottom) +
         HtmlText(what) + "\">\n" + Cells(canvas) +
         SvgRect(kLeft, kTop, canvas.right(), canvas.bottom(),
                 "class=\"frame\"") +
         Borders(canvas, tile, note) + Axes(canvas) + "</svg>\n";
}

// The map in characters, for readers without the picture.
std::string TextMap(const Canvas& canvas) {
  std::string text;
  for (int64_t row = 0; row < canvas.map.rows; ++row) {
    const int64_t first = row * canvas.map.row_step;
    text += Format("%8lld  ", static_cast<long long>(first));
    for (int64_t column = 0; column < canvas.map.columns; ++column) {
      text += ErrorLevels::Letter(canvas.LevelOf(row, column));
    }
    text += "\n";
  }
  return "<details><summary>the same as text</summary><div class=\"wide\">"
         "<pre class=\"map\">" +
         HtmlText(text) + "</pre></div></details>\n";
}

// Levels that occur in the maps.
std::string Legend(const ErrorPicture& picture) {
  const ErrorLevels levels(picture);
  std::vector<bool> seen(kErrorLevels);
  for (const ErrorMap& map : picture.maps) {
    for (const ErrorCell& cell : map.cells) {
      seen[static_cast<size_t>(levels.Of(cell))] = true;
    }
  }
  std::string text = "<div class=\"legend\">";
  for (int level = 0; level < kErrorLevels; ++level) {
    if (!seen[static_cast<size_t>(level)]) continue;
    text += Format(
                "<span><svg class=\"swatch\" viewBox=\"0 0 16 16\" "
                "aria-hidden=\"true\"><rect class=\"e%d\" width=\"16\" "
                "height=\"16\"/></svg>%c ",
                level, ErrorLevels::Letter(level)) +
            HtmlText(levels.Words(level)) + "</span>";
  }
  return text + "</div>\n";
}

std::string MapHtml(const ErrorPicture& picture, const ErrorMap& map,
                    int64_t tile) {
  const Canvas canvas(picture, map);
  const std::string where = PlaceText(picture.output, map.at, false);
  const std::string what = "Error of " + picture.output.name +
                           (where.empty() ? "" : ", " + where) + ": " +
                           std::to_string(map.outside) + " of " +
                           std::to_string(map.judged) + " elements wrong";
  std::string note;
  const std::string svg = Svg(canvas, tile, what, &note);
  std::string text = "<figure><figcaption>" + HtmlText(what) + ". A cell is " +
                     std::to_string(map.row_step) + " x " +
                     std::to_string(map.channel_step) +
                     (map.row_step * map.channel_step > 1
                          ? " elements and shows the largest error among them."
                          : " element.");
  if (!map.segments.empty()) text += " Thick lines: a segment begins.";
  if (tile > 0 && note.empty() && tile < canvas.lines()) {
    text += " Dashed: edges of the kernel's tiles.";
  }
  return text + HtmlText(note) + "</figcaption>\n" + svg + TextMap(canvas) +
         "</figure>\n";
}

std::string Number(double x) { return Format("%.9g", x); }

std::string SetText(const ValueSet& set) {
  std::string text;
  if (set.lo == set.hi) text = Number(set.lo);
  if (set.lo < set.hi) text = Number(set.lo) + " .. " + Number(set.hi);
  if (set.nan) text += text.empty() ? "NaN" : " or NaN";
  return text;
}

std::string ElementsHtml(const ErrorPicture& picture) {
  const ErrorLevels levels(picture);
  std::vector<std::vector<std::string>> rows;
  for (const ErrorElement& element : picture.elements) {
    rows.push_back({PlaceText(picture.output, element.index, true),
                    Number(element.produced), SetText(element.allowed),
                    levels.Size(element.size)});
  }
  return "<p>The elements that are furthest off" +
         std::string(picture.outside > static_cast<int64_t>(rows.size())
                         ? ", " + std::to_string(rows.size()) + " of " +
                               std::to_string(picture.outside)
                         : "") +
         ":</p>\n" +
         HtmlTable({picture.output.name, "produced", "allowed", "error"}, rows);
}

}  // namespace

std::string PlaceText(const OutputSpec& output,
                      const std::array<int64_t, 4>& at, bool element) {
  std::string text;
  for (size_t axis = 0; axis < 4; ++axis) {
    if (output.axes[axis] == nullptr) continue;
    if (!element && (axis == output.down || axis == 3)) continue;
    text += std::string(text.empty() ? "" : ", ") + output.axes[axis] + " " +
            std::to_string(at[axis]);
  }
  return text;
}

std::string ErrorPatterns() {
  return "<svg class=\"none\" aria-hidden=\"true\"><defs>\n"
         "<pattern id=\"unjudged\" width=\"6\" height=\"6\" "
         "patternUnits=\"userSpaceOnUse\"><path d=\"M0 6L6 0\" "
         "stroke=\"#888\" stroke-width=\".7\"/></pattern>\n"
         "<pattern id=\"nodistance\" width=\"6\" height=\"6\" "
         "patternUnits=\"userSpaceOnUse\"><path d=\"M0 6L6 0M0 0L6 6\" "
         "stroke=\"#b42318\" stroke-width=\"1.6\"/></pattern>\n"
         "</defs></svg>\n";
}

std::optional<Tile> TileOf(const std::string& plan) {
  for (const char* const word : {"tile=", "tile "}) {
    const size_t at = plan.find(word);
    if (at == std::string::npos || (at > 0 && plan[at - 1] != ' ')) continue;
    char* end = nullptr;
    const int64_t queries = std::strtoll(plan.c_str() + at + 5, &end, 10);
    const int64_t keys = *end == 'x' ? std::strtoll(end + 1, nullptr, 10) : 0;
    if (queries > 0 && keys > 0) return Tile{queries, keys};
  }
  return std::nullopt;
}

std::string ErrorPictureHtml(const ErrorPicture& picture,
                             const std::optional<Tile>& tile) {
  const OutputSpec& output = picture.output;
  const std::string axis = AxisOr(output.axes[output.down], "");
  // Rows are queries or keys of an attention, and no tiles are known of scans.
  const int64_t edge = !tile         ? 0
                       : axis == "i" ? tile->first
                       : axis == "j" ? tile->second
                                     : 0;
  std::string text = "<p>" + std::to_string(picture.outside) + " of " +
                     std::to_string(picture.judged) + " elements of " +
                     HtmlText(output.name) +
                     " that were compared with the truth are wrong";
  if (picture.parts > 1) {
    text += ", in " + std::to_string(picture.wrong_parts) + " of " +
            std::to_string(picture.parts) + " parts";
  }
  text += ".";
  const auto left_out =
      picture.wrong_parts - static_cast<int64_t>(picture.maps.size());
  if (left_out > 0) {
    text += " Drawn: the " + std::to_string(picture.maps.size()) +
            " that are furthest off; " + std::to_string(left_out) +
            (left_out == 1 ? " more is left out." : " more are left out.");
  }
  text += "</p>\n" + Legend(picture);
  for (const ErrorMap& map : picture.maps) text += MapHtml(picture, map, edge);
  return text + ElementsHtml(picture);
}

}  // namespace lockstep::verify
