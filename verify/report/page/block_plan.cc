#include "verify/report/page/block_plan.h"

#include <string>

#include "verify/base/format.h"
#include "verify/report/markup/html.h"

namespace lockstep::verify {

// Full, partial and empty differ in lightness in either scheme, so that they
// are told apart without colour.
const char* const kPlanFigureStyle = R"(
:root { --full: #1f5a91; --partial: #f0a33c; --empty: #f2f2f2;
  --seg: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --full: #8fc1f0;
  --partial: #9a6212; --empty: #22262d; --seg: #ff8b7e; } }
svg.plan { max-width: 40rem; }
svg.plan .full, .key.full { fill: var(--full); background: var(--full); }
svg.plan .partial, .key.partial { fill: var(--partial);
  background: var(--partial); }
svg.plan .empty, .key.empty { fill: var(--empty); background: var(--empty); }
svg.plan .segments, svg.plan .segments line { stroke: var(--seg);
  vector-effect: non-scaling-stroke; }
svg.plan .axes { stroke: var(--soft); }
svg.plan .band { fill: none; stroke: var(--ink); stroke-width: 2.5;
  stroke-dasharray: 5 3; vector-effect: non-scaling-stroke; }
svg.plan .tile { fill: none; stroke: var(--bad); stroke-width: 2.5;
  vector-effect: non-scaling-stroke; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .4rem 0; }
.key { display: inline-block; width: .9em; height: .9em; margin-right: .4em;
  vertical-align: -.1em; border: 1px solid var(--soft); }
.key.segment { width: 0; border: 0; border-left: 3px solid var(--seg); }
.key.guilty { border: 2px dashed var(--ink); }
)";

std::string PlanLegend(bool marked) {
  std::string text = "<div class=\"legend\">";
  const auto add = [&](const char* kind, const char* word) {
    text += std::string("<span><span class=\"key ") + kind + "\"></span>" +
            word + "</span>";
  };
  add("full", "full");
  add("partial", "partial");
  add("empty", "empty");
  add("segment", "a segment begins");
  if (marked) add("guilty", "holds wrong rows");
  return text + "</div>\n";
}

namespace {

// Buttons of the zoom: the picture grows inside a box that scrolls. Radio
// buttons and rules do it, so that it works without a script.
constexpr int kZooms[] = {1, 2, 4, 8, 16};

constexpr const char* kZoomStyle = R"(
.zoom > input { margin: 0 .2rem 0 .8rem; }
.zoom > div { overflow: auto; max-height: 85vh; margin-top: .6rem;
  border: 1px solid var(--line); }
.zoom svg.plan { max-width: none; }
#z1:checked ~ div svg { max-width: 40rem; }
)";

std::string ZoomStyle() {
  std::string style = kZoomStyle;
  for (const int zoom : kZooms) {
    style +=
        Format("#z%d:checked ~ div svg { width: %d%%; }\n", zoom, 100 * zoom);
  }
  return style;
}

std::string Zoomed(const std::string& figure) {
  std::string text = "<div class=\"zoom\">\n<span>Zoom</span>";
  for (const int zoom : kZooms) {
    text += Format(
        "<input type=\"radio\" name=\"zoom\" id=\"z%d\"%s/>"
        "<label for=\"z%d\">%d&#215;</label>\n",
        zoom, zoom == 1 ? " checked=\"checked\"" : "", zoom, zoom);
  }
  return text + "<div tabindex=\"0\">\n" + figure + "</div>\n</div>\n";
}

}  // namespace

std::string PlanPage(const PlanReport& report, const PlanView& view) {
  const std::string what = Format(
      "map of the mask, queries down, keys across: %.2f %% of the tiles "
      "are active",
      100 * report.density());
  const std::string text = PlanText(report, view);
  auto facts = PlanFacts(report);
  facts.emplace_back("drawn", "row " + std::to_string(view.batch) + ", head " +
                                  std::to_string(view.head));
  const std::string body =
      "<h1>lockstep plan</h1>\n<p class=\"case\">" + HtmlText(report.line) +
      "</p>\n" + HtmlFacts(facts) + "<h2>Map</h2>\n" + PlanLegend(false) +
      Zoomed(PlanFigure(report, view, {}, what)) +
      "<h2>The same as text</h2>\n<div class=\"wide\"><pre class=\"map\">" +
      HtmlText(text.substr(text.find("\n\n") + 2)) + "</pre></div>\n";
  return HtmlPage("lockstep plan", kPlanFigureStyle + ZoomStyle(), body);
}

}  // namespace lockstep::verify
