#include "bench/goals.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "bench/cycles.h"
#include "bench/measure.h"
#include "verify/base/io/json.h"
#include "verify/base/status_macros.h"
#include "verify/base/text.h"
#include "verify/judge/rows.h"
#include "verify/judge/truth.h"
#include "verify/ops/envelopes.h"
#include "verify/report/block_plan.h"

namespace lockstep::bench {
namespace {

constexpr const char* kFuzzSeconds = "5s";

Status NotMeasured(const std::string& why) { return Status::Error(why); }

const Row* FindRow(const Table& table, const std::string& name) {
  for (const Row& row : table.rows) {
    if (row.ask().goal && row.ask().goal->name == name) return &row;
  }
  return nullptr;
}

Result<double> PlanningMs(const verify::Job& job) {
  verify::MaterialiseOptions options;
  options.max_bytes = verify::DefaultMemoryBudget();
  verify::PlanRequest request;
  request.tiles.blocks = false;
  ASSIGN_OR_RETURN(const verify::PlanReport report,
                   verify::ReportPlan(job.sequence[0], options, request));
  return report.planning_ms;
}

// Against the row that the goal names.
Result<double> AgainstOther(const Row& row, const Table& table) {
  const Goal& goal = *row.ask().goal;
  const Row* other = FindRow(table, goal.against);
  if (other == nullptr || other->samples().empty()) {
    return NotMeasured("the row '" + goal.against + "' has no times");
  }
  const double own = Summarise(row, table.levels).seconds;
  const double theirs = Summarise(*other, table.levels).seconds;
  if (goal.metric == Metric::kSpeedup) return theirs / own;
  const int64_t tiles = ActiveTiles(row.execution());
  const int64_t their_tiles = ActiveTiles(other->execution());
  if (tiles == 0 || their_tiles == 0) {
    return NotMeasured("a run does not say how many tiles it visited");
  }
  return own / static_cast<double>(tiles) /
         (theirs / static_cast<double>(their_tiles));
}

// The answer held against what a profile allows, all rows of it: by the fp64
// truth of a sample and by the first witness, on one thread.
Result<double> JudgingSeconds(const Row& row) {
  const verify::Trial& trial = *row.scene().trial;
  constexpr const char* kNames[] = {"cpu-f32", "flash-bf16", "flash-f16"};
  const auto lane = static_cast<size_t>(trial.outputs()[0].lane);
  ASSIGN_OR_RETURN(const verify::NumericProfile profile,
                   verify::LoadProfile(kNames[lane]));
  const std::string why = trial.envelopes().WhyUndeclared(profile);
  if (!why.empty()) return NotMeasured(why);
  const verify::OutputSet& produced = row.scene().outputs;
  verify::Truth sample;
  sample.rows = verify::RowsToCompare(trial, false);
  verify::CaseResult result;
  const double start = Now();
  const auto allowed = trial.envelopes().Envelope(profile, sample.rows, 1);
  if (allowed == nullptr) return NotMeasured("the op has no envelope");
  (void)allowed->Judge(produced);
  const verify::OtherRows others = {&trial, &sample, &produced, nullptr, 0};
  verify::RangeOtherRows(others, profile, &result);
  verify::WitnessOtherRows(others, profile, 1, 0, &result);
  const double seconds = Now() - start;
  if (result.rows_ranged > 0) {
    return NotMeasured(std::to_string(result.rows_ranged) +
                       " rows have no witness");
  }
  return seconds;
}

Result<double> ExtraMemory(Row* row) {
  const std::optional<double> extra = row->MeasureMemory();
  if (!extra) return NotMeasured("the memory of a call is not known");
  return *extra / row->scene().bytes;
}

Result<double> MeasuredOf(Row* row, const Table& table) {
  if (!row->refused().empty()) return NotMeasured(row->refused());
  if (row->samples().empty()) return NotMeasured("interrupted");
  const Summary summary = Summarise(*row, table.levels);
  switch (row->ask().goal->metric) {
    case Metric::kFraction:
      if (summary.limit > 0) return summary.fraction;
      return NotMeasured("no work is counted for this op");
    case Metric::kOfRoof:
      if (summary.limit > 0) return summary.of_roof;
      return NotMeasured("no work is counted for this op");
    case Metric::kOfInstruction:
      if (summary.of_instruction) return *summary.of_instruction;
      return NotMeasured("which instruction ran is not known");
    case Metric::kSpeedup:
    case Metric::kTileCost:
      return AgainstOther(*row, table);
    case Metric::kPlanningShare: {
      ASSIGN_OR_RETURN(const double ms, PlanningMs(row->ask().job));
      return ms * 1e-3 / summary.seconds;
    }
    case Metric::kJudgingRatio: {
      ASSIGN_OR_RETURN(const double seconds, JudgingSeconds(*row));
      return seconds / summary.seconds;
    }
    case Metric::kExtraBytes:
      return ExtraMemory(row);
    case Metric::kPlanningMs:
    case Metric::kCycles:
    case Metric::kCasesPerSecond:
      break;
  }
  return NotMeasured("this goal needs no row");
}

GoalResult ResultOf(const Goal& goal, const std::string& line,
                    const Result<double>& measured) {
  GoalResult result = {goal, line, std::nullopt, ""};
  if (measured.ok()) {
    result.measured = measured.value();
  } else {
    result.why_not = measured.message();
  }
  return result;
}

// What the fuzzer's own summary says.
Result<double> FuzzRate() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string program = (self.parent_path() / "lockstep-fuzz").string();
  if (error || !std::filesystem::exists(program, error)) {
    return NotMeasured("the program lockstep-fuzz is not beside this one");
  }
  const std::string command = verify::ShellQuote(program) + " fuzz --budget " +
                              kFuzzSeconds + " --json - 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"),
                                                   pclose);
  if (pipe == nullptr) return NotMeasured("lockstep-fuzz cannot be started");
  std::string text, line;
  std::array<char, 4096> block;
  while (std::fgets(block.data(), block.size(), pipe.get()) != nullptr) {
    text += block.data();
  }
  const size_t end = text.find_last_not_of('\n');
  if (end == text.npos) return NotMeasured("lockstep-fuzz said nothing");
  const size_t begin = text.rfind('\n', end);
  const verify::Json json = verify::ParseJson(
      std::string_view(text).substr(begin == text.npos ? 0 : begin + 1));
  if (!json.is_object() || !json.contains("cases_per_second")) {
    return NotMeasured("lockstep-fuzz did not say cases_per_second");
  }
  return json["cases_per_second"].get<double>();
}

}  // namespace

bool NeedsNoRow(const Goal& goal) { return goal.metric == Metric::kPlanningMs; }

std::vector<GoalResult> CheckGoals(Table* table) {
  std::vector<GoalResult> results;
  for (Row& row : table->rows) {
    if (!row.ask().goal) continue;
    results.push_back(
        ResultOf(*row.ask().goal, row.scene().line, MeasuredOf(&row, *table)));
  }
  return results;
}

GoalResult CheckPlanning(const Ask& ask) {
  return ResultOf(*ask.goal, verify::MinimalLine(ask.job.sequence[0]),
                  PlanningMs(ask.job));
}

GoalResult CheckAlone(const Goal& goal) {
  if (goal.metric == Metric::kCasesPerSecond) {
    return ResultOf(goal, "", FuzzRate());
  }
  const double cycles = CyclesOf(goal.what);
  return ResultOf(goal, "",
                  cycles > 0 ? Result<double>(cycles)
                             : NotMeasured("no compiled target runs here"));
}

}  // namespace lockstep::bench
