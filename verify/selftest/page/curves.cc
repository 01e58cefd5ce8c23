#include "verify/selftest/page/curves.h"

#include "verify/base/format.h"
#include "verify/report/markup/html.h"
#include "verify/report/markup/svg.h"

namespace lockstep::verify {

const char* const kCurvesStyle = R"(
div.curves { display: grid; gap: 1rem 2rem;
  grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); }
div.curves figure { margin: 0; min-width: 0; }
div.curves figcaption { font: .85em ui-monospace, monospace; }
svg.curve .axes { stroke: var(--line); }
svg.curve .probed { stroke: var(--ink); fill: none; stroke-width: 2; }
svg.curve .own { stroke: var(--accent); fill: none; stroke-width: 2;
  stroke-dasharray: 4 3; }
svg.curve .range { stroke-width: 1; stroke-dasharray: none; }
svg.curve circle.probed { fill: var(--ink); }
svg.curve circle.own { fill: var(--paper); stroke-dasharray: none; }
)";

namespace {

constexpr double kLeft = 50, kTop = 8, kWidth = 230, kHeight = 100;

double Y(double rate) { return kTop + kHeight * (1 - rate); }

// Points in even steps, most severe first: settings are powers, or counts of
// bits.
class Curve {
 public:
  explicit Curve(const DialCurve& of) : of_(of) {}

  std::string Svg(const std::string& what) const {
    std::string svg =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"curve\" "
        "role=\"img\" viewBox=\"0 0 292 134\" aria-label=\"" +
        HtmlText(what) + "\">\n<g class=\"axes\">\n";
    for (const double rate : {0.0, 0.5, 1.0}) {
      svg += SvgLine(kLeft, Y(rate), kLeft + kWidth, Y(rate));
    }
    svg += "</g>\n" + SvgLabel(kLeft - 6, Y(1) + 5, "end", "100 %") +
           SvgLabel(kLeft - 6, Y(0) + 4, "end", "0");
    for (size_t n = 0; n < of_.points.size(); n += 2) {
      svg += SvgLabel(X(n), kTop + kHeight + 17, "middle",
                      std::to_string(of_.points[n].setting));
    }
    return svg + Line("own", &CurvePoint::own, -2) +
           Line("probed", &CurvePoint::probed, 2) + "</svg>\n";
  }

 private:
  double X(size_t n) const {
    return kLeft + 6 +
           (kWidth - 12) * static_cast<double>(n) /
               static_cast<double>(of_.points.size() - 1);
  }

  // `aside`: pixels, so that intervals of two lines do not hide one another.
  std::string Line(const char* kind, Rate CurvePoint::* rate,
                   double aside) const {
    std::string path, marks;
    for (size_t n = 0; n < of_.points.size(); ++n) {
      const Rate& counted = of_.points[n].*rate;
      const auto [low, high] = Wilson(counted);
      const double x = X(n) + aside, y = Y(counted.value());
      path += Format("%s%.1f %.1f", n == 0 ? "M" : "L", x, y);
      marks += SvgLine(x, Y(high), x, Y(low),
                       std::string("class=\"range ") + kind + "\"");
      marks +=
          Format("<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n",
                 kind, x, y);
    }
    return std::string("<path class=\"") + kind + "\" d=\"" + path + "\"/>\n" +
           marks;
  }

  const DialCurve& of_;
};

std::string Percent(const Rate& rate) {
  const auto [low, high] = Wilson(rate);
  return Format("%.0f %% (%.0f to %.0f)", 100 * rate.value(), 100 * low,
                100 * high);
}

}  // namespace

std::string CurvesHtml(const std::vector<DialCurve>& curves) {
  std::string figures, unseen;
  std::vector<std::vector<std::string>> rows;
  for (const DialCurve& curve : curves) {
    const std::string name = curve.info->name;
    if (curve.points.empty() || curve.points[0].own.total == 0) {
      unseen += (unseen.empty() ? "" : ", ") + name;
      continue;
    }
    figures +=
        "<figure><figcaption>" + HtmlText(name) + ", " +
        HtmlText(curve.info->dial) + "; " +
        Count(curve.points[0].own.total, "case") + "</figcaption>\n" +
        Curve(curve).Svg("how often " + name + " is found, by its dial") +
        "</figure>\n";
    for (const CurvePoint& point : curve.points) {
      rows.push_back({name,
                      std::to_string(point.setting) + " " + curve.info->dial,
                      Percent(point.own), Percent(point.probed)});
    }
  }
  if (figures.empty()) return "";
  std::string text =
      "<h2>How likely a bug is found, by how severe it is</h2>\n<p>Left the "
      "most severe setting of each bug's dial, right the mildest. Dashed, with "
      "rings: found by the envelope on the inputs of the ordinary cases. "
      "Solid, with dots: found there or on an exact probe. Upright: Wilson's "
      "95 % interval. A case counts where some setting changes a bit of its "
      "answer; what has no place in it changes nothing, such as an exchange of "
      "more keys than there are.</p>\n<div class=\"curves\">\n" +
      figures + "</div>\n";
  if (!unseen.empty()) {
    text += "<p>Bugs that change no bit of any of these cases: " +
            HtmlText(unseen) + ".</p>\n";
  }
  return text + "<details><summary>the same as a table</summary>\n" +
         HtmlTable({"bug", "setting", "own inputs", "or a probe"}, rows,
                   "points") +
         "</details>\n";
}

}  // namespace lockstep::verify
