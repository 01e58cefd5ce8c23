// The roofline on the page.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bench/page.h"
#include "verify/base/format.h"

namespace lockstep::bench {
namespace {

constexpr double kLeft = 70, kRight = 700, kTop = 20, kBottom = 380;

using verify::Format;

struct Dot {
  double intensity = 0;  // flop a byte
  double flops = 0;      // a second, a thread
  std::string name;
  std::string label;  // short
};

// Both axes in decades.
class Axes {
 public:
  Axes(const std::vector<Dot>& dots, double limit) {
    left_ = 0;
    right_ = 1;
    bottom_ = std::floor(std::log10(limit)) - 1;
    for (const Dot& dot : dots) {
      left_ = std::min(left_, std::floor(std::log10(dot.intensity)));
      right_ = std::max(right_, std::ceil(std::log10(dot.intensity)));
      bottom_ = std::min(bottom_, std::floor(std::log10(dot.flops)));
    }
    top_ = std::ceil(std::log10(limit));
  }

  double X(double intensity) const {
    return kLeft + (kRight - kLeft) * (std::log10(intensity) - left_) /
                       (right_ - left_);
  }
  double Y(double flops) const {
    return kBottom -
           (kBottom - kTop) * (std::log10(flops) - bottom_) / (top_ - bottom_);
  }
  double least_x() const { return std::pow(10, left_); }
  double most_x() const { return std::pow(10, right_); }
  double least_y() const { return std::pow(10, bottom_); }

  std::string Grid() const {
    std::string text;
    for (double e = left_; e <= right_; ++e) {
      const double x = X(std::pow(10, e));
      text += Format("<path class=\"axis\" d=\"M%.1f %.0fV%.0f\"/>", x, kTop,
                     kBottom);
      text += Format(
          "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%g"
          "</text>\n",
          x, kBottom + 18, std::pow(10, e));
    }
    for (double e = bottom_; e <= top_; ++e) {
      const double y = Y(std::pow(10, e));
      text += Format("<path class=\"axis\" d=\"M%.0f %.1fH%.0f\"/>", kLeft, y,
                     kRight);
      text += Format(
          "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%g"
          "</text>\n",
          kLeft - 8, y + 4, std::pow(10, e - 9));
    }
    return text;
  }

 private:
  double left_, right_, bottom_, top_;
};

// "threads=2", "default"; of a row of no sweep its kernel.
std::string LabelOf(const Report& report, size_t n) {
  const Row& row = report.table.rows[n];
  const std::string& point = row.ask().point;
  for (const SweepResult& sweep : report.sweeps) {
    const auto& rows = sweep.rows;
    if (std::find(rows.begin(), rows.end(), n) == rows.end()) continue;
    return point == kDefaultPoint ? point
                                  : AxisName(sweep.axis) + ("=" + point);
  }
  return row.spec();
}

// Rows with counted work. Of a sweep the default and the best one: thirty
// points in one place say nothing.
std::vector<Dot> DotsOf(const Report& report, double* limit) {
  std::vector<Dot> dots;
  const Table& table = report.table;
  for (size_t n = 0; n < table.rows.size(); ++n) {
    const Row& row = table.rows[n];
    const bool best =
        std::any_of(report.sweeps.begin(), report.sweeps.end(),
                    [&](const SweepResult& sweep) { return sweep.best == n; });
    if (row.ask().sweep && !best && row.ask().point != kDefaultPoint) continue;
    if (!row.scene().work || row.samples().empty()) continue;
    const Summary summary = Summarise(row, table.levels);
    if (summary.limit <= 0) continue;
    *limit = std::max(*limit, summary.limit / row.threads());
    dots.push_back({row.scene().work->flop / row.scene().bytes,
                    summary.flops / row.threads(),
                    row.scene().line + ", " + row.spec(), LabelOf(report, n)});
  }
  return dots;
}

// From the left edge to where it meets the limit.
std::string Slope(const Axes& axes, const ReadLevel& level, double limit) {
  const double rate = level.bytes_per_second;
  const double from = std::max(axes.least_x(), axes.least_y() / rate);
  const double to = std::min(axes.most_x(), limit / rate);
  if (!(rate > 0) || from >= to) return "";
  std::string text =
      Format("<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1f\"/>", axes.X(from),
             axes.Y(from * rate), axes.X(to), axes.Y(to * rate));
  // In the middle of it, above the line; a short one has no room.
  if (to < 3 * from) return text;
  const double middle = std::sqrt(from * to);
  return text + Format(
                    "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s"
                    "</text>\n",
                    axes.X(middle) - 6, axes.Y(middle * rate) - 4,
                    level.name.c_str());
}

// The dots, each with its name when it is pointed at, and with its label where
// that meets no other one: on the side that has more room.
std::string DotsText(const Axes& axes, std::vector<Dot> dots) {
  constexpr double kWide = 200, kHigh = 20;  // what a label takes
  std::sort(dots.begin(), dots.end(), [](const Dot& a, const Dot& b) {
    return std::pair(a.intensity, a.flops) < std::pair(b.intensity, b.flops);
  });
  std::string text;
  double labelled = 0, at_x = 0;
  for (const Dot& dot : dots) {
    const double x = axes.X(dot.intensity), y = axes.Y(dot.flops);
    text +=
        Format("<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\">", x, y) +
        "<title>" + verify::HtmlText(dot.name) + "</title></circle>\n";
    if (std::abs(x - at_x) < kWide && std::abs(y - labelled) < kHigh) continue;
    const bool left = x > (kLeft + kRight) / 2;
    text += Format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
                   left ? x - 10 : x + 10, y + 5, left ? "end" : "start",
                   verify::HtmlText(dot.label).c_str());
    at_x = x;
    labelled = y;
  }
  return text;
}

}  // namespace

std::string Roofline(const Report& report) {
  double limit = 0;
  const std::vector<Dot> dots = DotsOf(report, &limit);
  if (dots.empty()) return "";
  const Axes axes(dots, limit);
  std::string text =
      "<svg viewBox=\"0 0 760 430\" role=\"img\" aria-label=\"roofline\">\n" +
      axes.Grid();
  for (const ReadLevel& level : report.table.levels) {
    text += Slope(axes, level, limit);
  }
  const double y = axes.Y(limit);
  text +=
      Format("<path class=\"roof\" d=\"M%.0f %.1fH%.0f\"/>", kLeft, y, kRight);
  text += Format(
      "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%.0f "
      "GFLOP/s</text>\n",
      kRight, y - 5, limit * 1e-9);
  return text + DotsText(axes, dots) +
         Format(
             "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">flop a "
             "byte</text></svg>\n",
             (kLeft + kRight) / 2, kBottom + 40) +
         "<p class=\"soft\">GFLOP/s of a thread against flop a byte of the "
         "tensors, both in decades. Of a sweep the default and the best "
         "plan.</p>\n";
}

}  // namespace lockstep::bench
