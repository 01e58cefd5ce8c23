#include "bench/targets.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <utility>

#include "verify/base/nearest_name.h"
#include "verify/base/status_macros.h"
#include "verify/base/text.h"

namespace lockstep::bench {
namespace {

struct MetricRow {
  Metric metric;
  const char* name;
  bool case_needed;
  bool other_row;
};
constexpr MetricRow kMetrics[] = {
    {Metric::kFraction, "fraction", true, false},
    {Metric::kOfInstruction, "of_instruction", true, false},
    {Metric::kOfRoof, "of_roof", true, false},
    {Metric::kSpeedup, "speedup", true, true},
    {Metric::kTileCost, "tile_cost", true, true},
    {Metric::kPlanningMs, "planning_ms", true, false},
    {Metric::kPlanningShare, "planning_share", true, false},
    {Metric::kJudgingRatio, "judging_ratio", true, false},
    {Metric::kExtraBytes, "extra_bytes", true, false},
    {Metric::kCycles, "cycles", false, false},
    {Metric::kCasesPerSecond, "cases_per_second", false, false},
};

const MetricRow* FindMetric(std::string_view name) {
  for (const MetricRow& row : kMetrics) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

const MetricRow& RowOf(Metric metric) {
  return kMetrics[static_cast<size_t>(metric)];
}

// What follows NAME METRIC OP VALUE.
Status ParseRest(std::istringstream* words, const std::string& where,
                 Goal* goal) {
  std::string key, value;
  while (*words >> key) {
    if (!(*words >> value)) {
      return Status::Error(where + ": '" + key + "' says nothing more");
    }
    if (key == "against") {
      goal->against = value;
    } else if (key == "with") {
      goal->spec = value;
    } else if (key == "of" && goal->metric == Metric::kCycles) {
      goal->what = value;
    } else {
      return Status::Error(where + ": unknown word '" + key +
                           "'; want against NAME, with SPEC or, of cycles, of "
                           "FUNCTION");
    }
  }
  if (goal->metric == Metric::kCycles && goal->what != "exp2" &&
      goal->what != "tanh") {
    return Status::Error(where + ": cycles want 'of exp2' or 'of tanh'");
  }
  if (RowOf(goal->metric).other_row == goal->against.empty()) {
    return Status::Error(where + ": " + MetricName(goal->metric) +
                         (goal->against.empty()
                              ? " wants 'against NAME', another row"
                              : " is compared with no other row"));
  }
  return {};
}

}  // namespace

const char* MetricName(Metric metric) { return RowOf(metric).name; }

Result<Goal> ParseGoal(std::string_view text, const std::string& where) {
  std::istringstream words{std::string(text)};
  Goal goal;
  std::string metric, comparison, value;
  if (!(words >> goal.name >> metric >> comparison >> value)) {
    return Status::Error(where + ": want '#: NAME METRIC >= VALUE'");
  }
  const MetricRow* row = FindMetric(metric);
  if (row == nullptr) {
    return Status::Error(
        where + ": unknown metric " + verify::Quote(metric) + "; " +
        verify::NearestIs(metric, kMetrics, [](auto& m) { return m.name; }));
  }
  goal.metric = row->metric;
  if (comparison != ">=" && comparison != "<=") {
    return Status::Error(where + ": " + verify::Quote(comparison) +
                         " is not a comparison; want >= or <=");
  }
  goal.at_least = comparison == ">=";
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, goal.value);
  if (error != std::errc{} || stop != end || !(goal.value > 0)) {
    return Status::Error(where + ": " + verify::Quote(value) +
                         " is not a goal; want a number above 0");
  }
  RETURN_IF_ERROR(ParseRest(&words, where, &goal));
  return goal;
}

Result<Goals> ParseGoals(std::string_view text, const std::string& path) {
  constexpr std::string_view kMark = "#:";
  Goals goals;
  std::vector<Goal> waiting;
  std::set<std::string> names;
  std::vector<std::pair<std::string, std::string>> others;
  int64_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string where = path + ":" + std::to_string(number);
    if (line.starts_with(kMark)) {
      ASSIGN_OR_RETURN(Goal goal, ParseGoal(line.substr(kMark.size()), where));
      if (!names.insert(goal.name).second) {
        return Status::Error(where + ": a second goal '" + goal.name + "'");
      }
      if (!goal.against.empty()) others.push_back({where, goal.against});
      (RowOf(goal.metric).case_needed ? waiting : goals.alone)
          .push_back(std::move(goal));
      continue;
    }
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == line.npos || line[first] == '#' || waiting.empty()) continue;
    goals.of_line[number] = std::exchange(waiting, {});
  }
  if (!waiting.empty()) {
    return Status::Error(path + ": goal '" + waiting.front().name +
                         "' has no case after it");
  }
  for (const auto& [where, name] : others) {
    if (names.count(name) == 0) {
      return Status::Error(where + ": there is no row '" + name +
                           "' to be held against");
    }
  }
  return goals;
}

}  // namespace lockstep::bench
