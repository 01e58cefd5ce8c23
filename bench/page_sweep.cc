// Sweeps on the page: tiles as a heat map, everything else as bars.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "bench/page.h"
#include "verify/base/format.h"

namespace lockstep::bench {
namespace {

using verify::Format;

struct Tile {
  long rows = 0;
  long keys = 0;
  friend auto operator<=>(const Tile&, const Tile&) = default;
};

// Of "48x256", or of "... tile=48x256 ..." of a plan.
Tile TileOf(const Row& row) {
  std::string text = row.ask().point;
  if (text == kDefaultPoint) {
    const std::string& plan = row.execution().plan;
    const size_t at = plan.find("tile=");
    if (at == plan.npos) return {};
    text = plan.substr(at + 5);
  }
  char* end = nullptr;
  const long rows = std::strtol(text.c_str(), &end, 10);
  return {rows, *end == 'x' ? std::strtol(end + 1, nullptr, 10) : 0};
}

struct Spot {
  double seconds = 0;
  bool best = false;
  bool is_default = false;
};

}  // namespace

std::string HeatMap(const Report& report, const SweepResult& sweep) {
  const Table& table = report.table;
  std::map<Tile, Spot> spots;
  std::set<long> rows, keys;
  double least = 0, most = 0;
  // The default comes first. A point of the sweep that is the same plan stays
  // behind it, so that the map shows the time that the verdict is about.
  for (const size_t n : sweep.rows) {
    const Row& row = table.rows[n];
    const Tile tile = TileOf(row);
    const double seconds = Summarise(row, table.levels).seconds;
    Spot& spot = spots[tile];
    if (!spot.is_default) spot.seconds = seconds;
    spot.best |= n == sweep.best;
    spot.is_default |= row.ask().point == kDefaultPoint;
    rows.insert(tile.rows);
    keys.insert(tile.keys);
    least = least == 0 ? seconds : std::min(least, seconds);
    most = std::max(most, seconds);
  }
  std::string text =
      "<p class=\"soft\">Time relative to that of the best tile, minus 1; "
      "queries down, keys across. Green: best. Underlined: the default "
      "plan's.</p>\n<div class=\"wide\"><table class=\"heat\">\n<tr><th></th>";
  for (const long key : keys) text += "<th>" + std::to_string(key) + "</th>";
  text += "</tr>\n";
  for (const long row : rows) {
    text += "<tr><th>" + std::to_string(row) + "</th>";
    for (const long key : keys) {
      const auto spot = spots.find({row, key});
      if (spot == spots.end()) {
        text += "<td style=\"--heat: 0%\"></td>";
        continue;
      }
      const Spot& at = spot->second;
      const double heat =
          most > least ? 70 * (at.seconds - least) / (most - least) : 0;
      const std::string kind = std::string(at.best ? "best " : "") +
                               (at.is_default ? "default" : "");
      text += Format("<td class=\"%s\" style=\"--heat: %.0f%%\">%+.0f %%</td>",
                     kind.c_str(), heat, 100 * (at.seconds / least - 1));
    }
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string Bars(const Report& report, const SweepResult& sweep) {
  constexpr double kRowLeft = 110, kRowWidth = 520, kStep = 30, kBar = 20;
  const Table& table = report.table;
  double most = 0, one = 0;
  for (const size_t n : sweep.rows) {
    const double rate = 1 / Summarise(table.rows[n], table.levels).seconds;
    most = std::max(most, rate);
    if (table.rows[n].ask().point == "1") one = rate;
  }
  // With threads the ideal may lie beyond the best.
  const auto ideal = [&](const std::string& point) {
    return sweep.axis == Axis::kThreads ? one * std::atof(point.c_str()) : 0.0;
  };
  for (const size_t n : sweep.rows) {
    most = std::max(most, ideal(table.rows[n].ask().point));
  }
  const double height = kStep * static_cast<double>(sweep.rows.size()) + 10;
  std::string text = Format(
      "<svg viewBox=\"0 0 760 %.0f\" role=\"img\" "
      "aria-label=\"calls a second, by plan\">\n",
      height);
  double y = 5;
  for (const size_t n : sweep.rows) {
    const Row& row = table.rows[n];
    const double seconds = Summarise(row, table.levels).seconds;
    const double width = kRowWidth / seconds / most;
    text += Format("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>",
                   kRowLeft - 10, y + 15, row.ask().point.c_str());
    text += Format(
        "<rect class=\"bar\" x=\"%.0f\" y=\"%.0f\" width=\"%.1f\" "
        "height=\"%.0f\"/>",
        kRowLeft, y, width, kBar);
    text += Format("<text x=\"%.1f\" y=\"%.0f\">%s</text>\n",
                   kRowLeft + width + 8, y + 15, TimeText(seconds).c_str());
    const double most_of = ideal(row.ask().point) / most * kRowWidth;
    if (most_of > 0) {
      text += Format("<path class=\"ideal\" d=\"M%.1f %.0fv%.0f\"/>\n",
                     kRowLeft + most_of, y - 3, kBar + 6);
    }
    y += kStep;
  }
  text += "</svg>\n";
  if (sweep.axis == Axis::kThreads && one > 0) {
    text +=
        "<p class=\"soft\">Calls per second. Dashed: perfect scaling from one "
        "thread.</p>\n";
  } else {
    text += "<p class=\"soft\">Calls a second.</p>\n";
  }
  return text;
}

}  // namespace lockstep::bench
