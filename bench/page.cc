#include "bench/page.h"

#include "optimized/attention_tuning.h"
#include "verify/base/format.h"

namespace lockstep::bench {
namespace {

// A heat map mixes the accent into the background. Charts shrink with the
// screen: on a narrow one their text is made larger, to be readable.
constexpr const char* kStyle = R"(
td.spec { font-family: ui-monospace, monospace; white-space: normal;
  overflow-wrap: anywhere; min-width: 12rem; }
table.heat th, table.heat td { text-align: center; padding: .3rem .35rem; }
table.heat td { border: 2px solid var(--paper);
  background: color-mix(in srgb, var(--accent) var(--heat), var(--paper)); }
table.heat td.best { outline: 3px solid var(--good); outline-offset: -3px; }
table.heat td.default { text-decoration: underline; font-weight: 600; }
svg .roof { stroke: var(--soft); }
svg .bar, svg .dot { fill: var(--accent); }
svg .ideal { stroke: var(--soft); stroke-dasharray: 4 4; fill: none; }
@media (max-width: 600px) { svg text { font-size: 20px; } }
)";

using verify::Format;
using verify::HtmlText;

std::string Cell(const std::string& text, const char* kind = "") {
  return verify::HtmlCell(text, kind);
}

std::string MachineHtml(const Report& report) {
  std::string text = "<p>" + HtmlText(optimized::CpuModel()) + ", " +
                     HtmlText(report.time) + ". One thread: ";
  for (const Peak& peak : PeaksOf(report.table)) {
    text += HtmlText(peak.name) + Format(" %.0f GFLOP/s, ", peak.flops * 1e-9);
  }
  for (const ReadLevel& level : report.table.levels) {
    text += "reads from " + level.name +
            Format(" %.0f GB/s", level.bytes_per_second * 1e-9) +
            (&level == &report.table.levels.back() ? ".</p>\n" : ", ");
  }
  if (report.table.levels.empty()) text += "no compiled target.</p>\n";
  return text;
}

std::string RowHtml(const Report& report, const Row& row) {
  std::string text = "<tr>" + Cell(HtmlText(row.spec()), "spec");
  if (!row.refused().empty() || row.samples().empty()) {
    const std::string why =
        row.refused().empty() ? "interrupted" : row.refused();
    return text + "<td colspan=\"6\" class=\"bad\">" + HtmlText(why) +
           "</td></tr>\n";
  }
  const Summary s = Summarise(row, report.table.levels);
  const double wide =
      std::max(s.interval.high / s.seconds - 1, 1 - s.interval.low / s.seconds);
  const std::string told = row.told().empty() ? "" : " (" + row.told() + ")";
  text += Cell(TimeText(s.seconds) + told) +
          Cell(Format("&plusmn;%.1f %%", 100 * wide));
  if (s.limit <= 0) return text + "<td colspan=\"4\"></td></tr>\n";
  text += Cell(Format("%.1f", s.flops * 1e-9)) +
          Cell(Format("%.1f %%", 100 * s.fraction));
  text += Cell(s.of_instruction ? Format("%.1f %%", 100 * *s.of_instruction)
                                : "not known",
               s.of_instruction ? "" : "soft");
  return text + Cell(Format("%.1f %%", 100 * s.best_fraction)) + "</tr>\n";
}

// Rows of no sweep, a table for each case.
std::string RowsHtml(const Report& report) {
  std::string text, line;
  for (const Row& row : report.table.rows) {
    if (row.ask().sweep) continue;
    if (row.scene().line != line) {
      text += (line.empty() ? "" : "</table></div>\n") +
              std::string("<p class=\"case\">") + HtmlText(row.scene().line) +
              "</p>\n<div class=\"wide\"><table>\n<tr><th>kernel</th>"
              "<th>median</th><th></th><th>GFLOP/s</th><th>of the limit</th>"
              "<th>of its instruction</th><th>best</th></tr>\n";
      line = row.scene().line;
    }
    text += RowHtml(report, row);
  }
  if (line.empty()) return "";
  return "<h2>Rows</h2>\n" + text + "</table></div>\n";
}

std::string SweepHtml(const Report& report, const SweepResult& sweep) {
  const Row& best = report.table.rows[sweep.best];
  std::string text = "<h2>Sweep of " + std::string(AxisName(sweep.axis)) +
                     "</h2>\n<p class=\"case\">" + HtmlText(sweep.line) +
                     "</p>\n<p>";
  if (best.ask().point == kDefaultPoint) {
    text += "No plan is faster than the default one. ";
  } else if (sweep.told) {
    text += "<b class=\"good\">" + HtmlText(best.ask().point) +
            "</b> is best: " +
            Format("the default takes %.1f %% longer. ", 100 * sweep.margin);
  } else {
    text +=
        "No plan differs from the default one by 2 % or more. Fastest was " +
        HtmlText(best.ask().point) +
        Format(": the default took %.1f %% longer, which may be noise. ",
               100 * sweep.margin);
  }
  text += Format("%zu of %zu plans lie within 2 %% of the best.</p>\n",
                 sweep.near, sweep.rows.size());
  return text + (sweep.axis == Axis::kTile ? HeatMap(report, sweep)
                                           : Bars(report, sweep));
}

std::string GoalsHtml(const Report& report) {
  if (report.goals.empty()) return "";
  std::string text =
      "<h2>Goals</h2>\n<div class=\"wide\"><table>\n<tr><th>goal</th>"
      "<th>metric</th><th>target</th><th>measured</th><th></th></tr>\n";
  for (const GoalResult& result : report.goals) {
    const Goal& goal = result.goal;
    text +=
        "<tr>" + Cell(HtmlText(goal.name)) + Cell(MetricName(goal.metric)) +
        Cell(Format("%s %g", goal.at_least ? "&ge;" : "&le;", goal.value)) +
        Cell(result.measured ? Format("%.3g", *result.measured)
                             : HtmlText(result.why_not)) +
        Cell(result.met() ? "met" : "missed", result.met() ? "good" : "bad") +
        "</tr>\n";
  }
  return text + "</table></div>\n";
}

}  // namespace

std::string ReportPage(const Report& report) {
  std::string text = "<h1>lockstep bench</h1>\n";
  text += MachineHtml(report) + RowsHtml(report);
  for (const SweepResult& sweep : report.sweeps) {
    text += SweepHtml(report, sweep);
  }
  const std::string roofline = Roofline(report);
  if (!roofline.empty()) text += "<h2>Roofline</h2>\n" + roofline;
  return verify::HtmlPage("lockstep bench", kStyle, text + GoalsHtml(report));
}

}  // namespace lockstep::bench
