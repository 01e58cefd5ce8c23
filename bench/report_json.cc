// The format of Google Benchmark, so that its tools compare our files.
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>

#include "bench/cache_size.h"
#include "bench/report.h"
#include "optimized/attention_tuning.h"
#include "verify/run/environment.h"

namespace lockstep::bench {
namespace {

using verify::Json;

constexpr double kMilli = 1e3;  // times are in ms
constexpr double kGiga = 1e-9;

Json CachesJson() {
  Json caches = Json::array();
  for (const int level : {1, 2, 3}) {
    const size_t bytes = CacheBytes(level);
    if (bytes == 0) continue;
    caches.push_back({{"type", level == 1 ? "Data" : "Unified"},
                      {"level", level},
                      {"size", bytes},
                      {"num_sharing", 0}});
  }
  return caches;
}

Json ContextJson(const Report& report) {
  const verify::Environment machine = verify::ReadEnvironment();
  std::array<char, 256> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::array<double, 3> load = {};
  const int loads = getloadavg(load.data(), 3);
  Json averages = Json::array();
  for (int n = 0; n < loads; ++n) {
    averages.push_back(load[static_cast<size_t>(n)]);
  }
  const unsigned cpus = std::thread::hardware_concurrency();
  Json context = {{"date", report.time},
                  {"host_name", host.data()},
                  {"executable", "lockstep bench"},
                  {"num_cpus", cpus},
                  {"mhz_per_cpu", 0},
                  {"cpu_scaling_enabled", false},
                  {"caches", CachesJson()},
                  {"load_avg", std::move(averages)},
                  {"library_build_type",
                   machine.build_type == "Debug" ? "debug" : "release"}};
  context["cpu_model"] = optimized::CpuModel();
  context["lockstep_version"] = machine.version;
  context["lockstep_commit"] =
      machine.commit + (machine.dirty ? " with changes" : "");
  context["compiler"] = machine.compiler;
  context["target"] = machine.used;
  context["measuring_seconds"] = report.table.seconds;
  for (const Peak& peak : PeaksOf(report.table)) {
    context["peak_gflops"][peak.name] = peak.flops * kGiga;
  }
  for (const ReadLevel& level : report.table.levels) {
    context["read_bandwidth"][level.name] = level.bytes_per_second;
  }
  return context;
}

std::string NameOf(const Row& row) {
  const auto& goal = row.ask().goal;
  return row.scene().line + " / " + row.spec() +
         (goal ? " / " + goal->name : "");
}

Json RunJson(const Row& row, size_t index, const std::string& suffix) {
  const std::string name = NameOf(row);
  return {{"name", name + suffix},
          {"family_index", index},
          {"per_family_instance_index", 0},
          {"run_name", name},
          {"run_type", suffix.empty() ? "iteration" : "aggregate"},
          {"repetitions", row.samples().size()}};
}

// What is known of the row besides its times, of its median sample.
void AddCounters(const Row& row, const Summary& summary, Json* run) {
  (*run)["samples"] = row.samples().size();
  (*run)["interval_low"] = summary.interval.low * kMilli;
  (*run)["interval_high"] = summary.interval.high * kMilli;
  (*run)["wall_time"] = summary.wall * kMilli;
  (*run)["bytes_per_second"] = summary.bytes_per_second;
  if (summary.limit > 0) {
    (*run)["gflops"] = summary.flops * kGiga;
    (*run)["peak_gflops"] = summary.limit * kGiga;
    (*run)["fraction"] = summary.fraction;
    (*run)["best"] = summary.best_fraction;
    if (summary.cpu_fraction) (*run)["cpu_fraction"] = *summary.cpu_fraction;
    (*run)["of_roof"] = summary.of_roof;
    (*run)[row.scene().work->unit] = row.scene().work->units;
  }
  if (summary.of_instruction) {
    (*run)["of_instruction"] = *summary.of_instruction;
    (*run)["instruction_gflops"] = *summary.instruction_limit * kGiga;
  }
  if (summary.of_matrix) (*run)["of_amx"] = *summary.of_matrix;
  for (const verify::Counter& counter : row.execution().counters) {
    (*run)[counter.name] = counter.value;
  }
}

// For programs that compare files, and for readers who ask where a figure is
// from.
void AddWords(const Row& row, const Summary& summary, Json* run) {
  (*run)["case"] = row.scene().line;
  (*run)["candidate"] = row.spec();
  (*run)["verdict"] = row.verdict();
  (*run)["tensor_bytes"] = row.scene().bytes;
  if (!row.told().empty()) (*run)["told_times"] = row.told();
  if (!row.execution().target.empty()) {
    (*run)["label"] = row.execution().target;
  }
  if (!row.execution().plan.empty()) (*run)["plan"] = row.execution().plan;
  if (summary.limit > 0) {
    (*run)["limit"] = summary.limit_name;
    (*run)["roof"] = summary.roof_name;
  }
  if (row.used()) (*run)["instruction"] = row.engines()[*row.used()].Name();
}

void AddGoal(const GoalResult& result, Json* run) {
  (*run)["goal"] = result.goal.name;
  (*run)["metric"] = MetricName(result.goal.metric);
  (*run)["target"] = result.goal.value;
  (*run)["target_is"] = result.goal.at_least ? "at_least" : "at_most";
  if (result.measured) {
    (*run)["measured"] = *result.measured;
    (*run)["met"] = result.met() ? 1 : 0;
  } else {
    (*run)["not_measured"] = result.why_not;
    (*run)["met"] = 0;
  }
}

// Mean, median, standard deviation, coefficient of variation of all samples.
void AddAggregates(const Row& row, size_t index, const Summary& summary,
                   const GoalResult* goal, Json* runs) {
  double mean = 0, cpu = 0, square = 0, cpu_square = 0;
  const auto n = static_cast<double>(row.samples().size());
  for (const Sample& sample : row.samples()) {
    mean += sample.seconds / n;
    cpu += sample.cpu / n;
  }
  for (const Sample& sample : row.samples()) {
    square += std::pow(sample.seconds - mean, 2) / std::max(n - 1, 1.0);
    cpu_square += std::pow(sample.cpu - cpu, 2) / std::max(n - 1, 1.0);
  }
  const double deviation = std::sqrt(square),
               cpu_deviation = std::sqrt(cpu_square);
  struct Aggregate {
    const char* name;
    double real, cpu;
  };
  for (const Aggregate& a :
       {Aggregate{"mean", mean * kMilli, cpu * kMilli},
        Aggregate{"median", summary.seconds * kMilli, summary.cpu * kMilli},
        Aggregate{"stddev", deviation * kMilli, cpu_deviation * kMilli},
        Aggregate{"cv", deviation / mean, cpu > 0 ? cpu_deviation / cpu : 0}}) {
    const bool ratio = std::string(a.name) == "cv";
    Json run = RunJson(row, index, std::string("_") + a.name);
    run["threads"] = row.threads();
    run["aggregate_name"] = a.name;
    run["aggregate_unit"] = ratio ? "percentage" : "time";
    run["iterations"] = row.samples().size();
    run["real_time"] = a.real;
    run["cpu_time"] = a.cpu;
    run["time_unit"] = "ms";
    if (std::string(a.name) == "median") {
      AddWords(row, summary, &run);
      AddCounters(row, summary, &run);
      if (goal != nullptr) AddGoal(*goal, &run);
    }
    runs->push_back(std::move(run));
  }
}

void AddRow(const Report& report, size_t index, const GoalResult* goal,
            Json* runs) {
  const Row& row = report.table.rows[index];
  if (!row.refused().empty() || row.samples().empty()) {
    Json run = RunJson(row, index, "");
    run["error_occurred"] = true;
    run["error_message"] =
        row.refused().empty() ? "interrupted" : row.refused();
    run["repetition_index"] = 0;
    run["threads"] = 1;
    run["iterations"] = 0;
    run["real_time"] = 0;
    run["cpu_time"] = 0;
    run["time_unit"] = "ms";
    run["case"] = row.scene().line;
    run["candidate"] = row.spec();
    run["verdict"] = row.verdict();  // empty: it broke before it had one
    if (goal != nullptr) AddGoal(*goal, &run);
    runs->push_back(std::move(run));
    return;
  }
  const Summary summary = Summarise(row, report.table.levels);
  for (size_t n = 0; n < row.samples().size(); ++n) {
    const Sample& sample = row.samples()[n];
    Json run = RunJson(row, index, "");
    run["repetition_index"] = n;
    run["threads"] = row.threads();
    run["iterations"] = sample.calls;
    run["real_time"] = sample.seconds * kMilli;
    run["cpu_time"] = sample.cpu * kMilli;
    run["time_unit"] = "ms";
    run["round"] = sample.round;
    runs->push_back(std::move(run));
  }
  AddAggregates(row, index, summary, goal, runs);
}

Json SweepJson(const Report& report, const SweepResult& sweep) {
  Json points = Json::array();
  for (const size_t n : sweep.rows) {
    const Row& row = report.table.rows[n];
    const Summary summary = Summarise(row, report.table.levels);
    points.push_back({{"point", row.ask().point},
                      {"candidate", row.spec()},
                      {"ms", summary.seconds * kMilli},
                      {"fraction", summary.fraction}});
  }
  return {{"axis", AxisName(sweep.axis)},
          {"case", sweep.line},
          {"best", report.table.rows[sweep.best].ask().point},
          {"margin", sweep.margin},
          {"told", sweep.told},
          {"near", sweep.near},
          {"points", std::move(points)}};
}

}  // namespace

Json ReportJson(const Report& report) {
  Json runs = Json::array();
  size_t next = 0;
  for (size_t n = 0; n < report.table.rows.size(); ++n) {
    const bool has_goal = report.table.rows[n].ask().goal.has_value();
    const GoalResult* goal = has_goal && next < report.goals.size()
                                 ? &report.goals[next++]
                                 : nullptr;
    AddRow(report, n, goal, &runs);
  }
  Json json = {{"context", ContextJson(report)},
               {"benchmarks", std::move(runs)}};
  for (const GoalResult& result : report.goals) {
    Json goal = Json::object();
    if (!result.line.empty()) goal["case"] = result.line;
    AddGoal(result, &goal);
    json["goals"].push_back(std::move(goal));
  }
  for (const SweepResult& sweep : report.sweeps) {
    json["sweeps"].push_back(SweepJson(report, sweep));
  }
  return json;
}

}  // namespace lockstep::bench
