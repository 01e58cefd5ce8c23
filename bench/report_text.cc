// The table as people read it.
#include <string>

#include "bench/report.h"
#include "optimized/attention_tuning.h"
#include "verify/base/format.h"

namespace lockstep::bench {
namespace {

using verify::Format;

std::string RateText(double flops) {
  return flops >= 1e12 ? Format("%.2f TFLOP/s", flops * 1e-12)
                       : Format("%.1f GFLOP/s", flops * 1e-9);
}

std::string MachineText(const Report& report) {
  std::string text = "machine   " + optimized::CpuModel() + "\n";
  std::string peaks;
  for (const Peak& peak : PeaksOf(report.table)) {
    peaks +=
        (peaks.empty() ? "" : ", ") + peak.name + " " + RateText(peak.flops);
  }
  if (!peaks.empty()) text += "peaks     " + peaks + " (a thread)\n";
  std::string reads;
  for (const ReadLevel& level : report.table.levels) {
    reads += (reads.empty() ? "" : ", ") + level.name + " " +
             Format("%.0f GB/s", level.bytes_per_second * 1e-9);
  }
  if (!reads.empty()) text += "reads     " + reads + " (a thread)\n";
  return text;
}

// "  12.3 ms +-0.8 %".
std::string TimesText(const Summary& s) {
  const double wide =
      std::max(s.interval.high / s.seconds - 1, 1 - s.interval.low / s.seconds);
  return Format("%10s  +-%.1f %%", TimeText(s.seconds).c_str(), 100 * wide);
}

std::string FractionsText(const Row& row, const Summary& s) {
  if (s.limit <= 0) return "";
  const std::string own = row.used() ? row.engines()[*row.used()].Name() : "";
  const bool same = own == s.limit_name;
  std::string text = Format(
      "  %s  limit%s %s %.1f %%", RateText(s.flops).c_str(),
      same ? " and instruction" : "", s.limit_name.c_str(), 100 * s.fraction);
  if (s.of_instruction && !same) {
    text += Format("  instruction %s %.1f %%", own.c_str(),
                   100 * *s.of_instruction);
  }
  const bool amx_is_limit =
      s.limit_name == InstructionName(Instruction::kMatrix);
  if (s.of_matrix && !amx_is_limit) {
    text += Format("  amx %.1f %%", 100 * *s.of_matrix);
  }
  if (s.roof < s.limit) {
    text +=
        Format("  reads from %s %.1f %%", s.roof_name.c_str(), 100 * s.of_roof);
  }
  if (s.cpu_fraction) text += Format("  cpu %.1f %%", 100 * *s.cpu_fraction);
  return text + Format("  best %.1f %%", 100 * s.best_fraction);
}

std::string RowText(const Report& report, const Row& row) {
  const std::string name =
      row.ask().point.empty() ? row.spec() : row.ask().point;
  std::string text = Format("  %-34s", name.c_str());
  if (name.size() > 34) text = "  " + name;
  if (!row.refused().empty()) return text + "  " + row.refused() + "\n";
  if (row.samples().empty()) return text + "  interrupted\n";
  const Summary summary = Summarise(row, report.table.levels);
  if (!row.told().empty()) text += "  (" + row.told() + ")";
  return text + TimesText(summary) + FractionsText(row, summary) + "\n";
}

std::string GoalText(const GoalResult& result) {
  const Goal& goal = result.goal;
  std::string text =
      Format("  %-34s  %s %s %g", goal.name.c_str(), MetricName(goal.metric),
             goal.at_least ? ">=" : "<=", goal.value);
  if (!goal.against.empty()) text += " against " + goal.against;
  if (!result.measured)
    return text + "  not measured: " + result.why_not + "\n";
  return text + Format("  measured %.3g  %s\n", *result.measured,
                       result.met() ? "met" : "missed");
}

std::string SweepText(const Report& report, const SweepResult& sweep) {
  const Row& best = report.table.rows[sweep.best];
  std::string text = "sweep     " + std::string(AxisName(sweep.axis)) + " of " +
                     sweep.line + "\n";
  if (!sweep.told) {
    return text +
           "  no plan differs from the default one by 2 % or more; fastest " +
           best.ask().point +
           Format(", %+.1f %%; %zu of %zu plans within 2 %% of it\n",
                  100 * sweep.margin, sweep.near, sweep.rows.size());
  }
  return text + "  best " + best.ask().point +
         Format(
             ": the default takes %.1f %% longer; %zu of %zu plans within "
             "2 %% of the best\n",
             100 * sweep.margin, sweep.near, sweep.rows.size());
}

}  // namespace

std::string TimeText(double seconds) {
  if (seconds < 1e-3) return Format("%.3g us", seconds * 1e6);
  if (seconds < 1) return Format("%.4g ms", seconds * 1e3);
  return Format("%.4g s", seconds);
}

std::string PercentText(double ratio) {
  return Format("%+.1f %%", 100 * ratio);
}

std::string ReportText(const Report& report) {
  std::string text = MachineText(report);
  std::string line;
  for (const Row& row : report.table.rows) {
    if (row.scene().line != line) text += "\n" + row.scene().line + "\n";
    line = row.scene().line;
    text += RowText(report, row);
  }
  for (const SweepResult& sweep : report.sweeps) {
    text += "\n" + SweepText(report, sweep);
  }
  if (!report.goals.empty()) text += "\ngoals\n";
  for (const GoalResult& goal : report.goals) text += GoalText(goal);
  return text;
}

}  // namespace lockstep::bench
