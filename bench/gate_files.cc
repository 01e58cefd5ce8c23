// Two results of `lockstep bench --json`, held against each other.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/gate.h"
#include "verify/base/status_macros.h"
#include "verify/base/text.h"

namespace lockstep::bench {
namespace {

using verify::Json;

// What a file says of one case.
struct Recorded {
  std::string candidate;
  std::string verdict;
  std::string reason;  // why there are no times
  std::vector<double> seconds;
  verify::Execution execution;
};
using Records = std::map<std::string, Recorded>;

double NumberOf(const Json& run, const char* name) {
  const auto found = run.find(name);
  return found != run.end() && found->is_number() ? found->get<double>() : 0;
}

std::string WordOf(const Json& run, const char* name) {
  const auto found = run.find(name);
  return found != run.end() && found->is_string() ? found->get<std::string>()
                                                  : "";
}

// The row that says what a case is; its samples have the same run_name.
Status TakeMedian(const Json& run, SameBy same, Records* records,
                  std::map<std::string, std::string>* case_of) {
  const std::string line =
      WordOf(run, same == SameBy::kCase ? "case" : "run_name");
  const std::string candidate = WordOf(run, "candidate");
  if (line.empty() || candidate.empty()) return {};
  Recorded& record = (*records)[line];
  if (!record.candidate.empty() && record.candidate != candidate) {
    return Status::Error("has two candidates on '" + line +
                         "': " + record.candidate + " and " + candidate +
                         "; want one file for each candidate");
  }
  record.candidate = candidate;
  record.verdict = WordOf(run, "verdict");
  record.reason = WordOf(run, "error_message");
  if (record.verdict.empty()) record.verdict = "error";
  record.execution.plan = WordOf(run, "plan");
  for (const char* name : {"tiles_full", "tiles_partial", "rows_redone"}) {
    if (!run.contains(name)) continue;
    record.execution.counters.push_back(
        {name, static_cast<int64_t>(NumberOf(run, name))});
  }
  case_of->emplace(WordOf(run, "run_name"), line);
  return {};
}

Result<Records> RecordsOf(const Json& json, SameBy same) {
  RETURN_IF_ERROR(CheckResult(json));
  Records records;
  std::map<std::string, std::string> case_of;
  for (const Json& run : json["benchmarks"]) {
    if (!run.is_object()) continue;
    RETURN_IF_ERROR(TakeMedian(run, same, &records, &case_of));
  }
  for (const Json& run : json["benchmarks"]) {
    if (!run.is_object() || WordOf(run, "run_type") != "iteration") continue;
    const auto line = case_of.find(WordOf(run, "run_name"));
    const double ms = NumberOf(run, "real_time");
    if (line == case_of.end() || !(ms > 0)) continue;
    records[line->second].seconds.push_back(ms * 1e-3);
  }
  if (records.empty()) {
    return Status::Error("names no case; want a result of lockstep bench");
  }
  return records;
}

}  // namespace

Status CheckResult(const Json& json) {
  if (json.is_object() && json.contains("benchmarks") &&
      json["benchmarks"].is_array()) {
    return {};
  }
  return Status::Error("is no result of lockstep bench --json");
}

Result<std::vector<Shape>> CompareFiles(const Json& baseline,
                                        const Json& candidate, SameBy same,
                                        const Thresholds& thresholds) {
  const Result<Records> before = RecordsOf(baseline, same);
  if (!before.ok()) return Status::Error("BASELINE " + before.message());
  const Result<Records> after = RecordsOf(candidate, same);
  if (!after.ok()) return Status::Error("CANDIDATE " + after.message());
  std::vector<Shape> shapes;
  for (const auto& [line, own] : after.value()) {
    const auto found = before->find(line);
    if (found == before->end()) continue;
    const Recorded& other = found->second;
    Shape shape;
    shape.line = line;
    shape.verdict = own.verdict;
    shape.reason = own.reason;
    shape.compared = !own.seconds.empty() && !other.seconds.empty();
    if (shape.compared) {
      shape.told = TellApart(other.seconds, own.seconds, thresholds);
      shape.baseline_seconds = MedianOf(other.seconds);
      shape.candidate_seconds = MedianOf(own.seconds);
      shape.cold_seconds = shape.candidate_seconds;
      shape.baseline_cold_seconds = shape.baseline_seconds;
    }
    shape.baseline = StructureOf(other.execution, std::nullopt);
    shape.candidate = StructureOf(own.execution, std::nullopt);
    shapes.push_back(std::move(shape));
  }
  if (shapes.empty()) {
    return Status::Error("the two files share no case");
  }
  return shapes;
}

}  // namespace lockstep::bench
