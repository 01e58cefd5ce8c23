// What the gate says: for people, for programs.
#include <string>

#include "bench/gate.h"
#include "bench/report.h"
#include "verify/base/format.h"

namespace lockstep::bench {
namespace {

using verify::Json;

constexpr const char* kSides[] = {"baseline", "candidate"};

std::string IntervalText(const Told& told) {
  return PercentText(told.interval.low) + " to " +
         PercentText(told.interval.high);
}

std::string EvidenceText(const Shape& shape, bool paired) {
  const std::string chance = verify::Format("chance %.1g", shape.told.chance);
  if (!paired) {
    return std::to_string(shape.told.pairs) + " samples, " + chance;
  }
  const char* const clock = shape.clock == Clock::kProcessor
                                ? "processor time"
                                : "by the wall clock, other programs included";
  std::string text = verify::Format(
      "%zu bouts, %zu rounds, %zu %s, %s; %s", shape.told.pairs, shape.rounds,
      shape.starts, shape.starts == 1 ? "start" : "starts", chance.c_str(),
      clock);
  for (const size_t side : {0, 1}) {
    if (shape.told_times[side].empty()) continue;
    text += std::string("; times of the ") + kSides[side] + ": " +
            shape.told_times[side];
  }
  return text;
}

std::string ShapeText(const Shape& shape, bool paired) {
  std::string text = shape.line + "\n  verdict   " + shape.verdict +
                     (shape.reason.empty() ? "" : ": " + shape.reason) + "\n";
  if (!shape.compared) return text + "  time      not compared\n";
  text += "  time      " + TimeText(shape.baseline_seconds) + " -> " +
          TimeText(shape.candidate_seconds) + ", " +
          PercentText(shape.told.change) + " (" + IntervalText(shape.told) +
          "): " + ClaimName(shape.told.claim) + "\n";
  if (paired) {
    text += "  first     " + TimeText(shape.baseline_cold_seconds) + " -> " +
            TimeText(shape.cold_seconds) + ", of the first call\n";
  }
  return text + "  evidence  " + EvidenceText(shape, paired) + "\n";
}

Json NumberOrNull(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json StructureJson(const Structure& structure) {
  return {{"scores_visited", NumberOrNull(structure.visited)},
          {"rows_redone", NumberOrNull(structure.redone)},
          {"extra_bytes", NumberOrNull(structure.bytes)}};
}

Json ShapeJson(const Shape& shape) {
  Json json = {{"case", shape.line}, {"verdict", shape.verdict}};
  if (!shape.reason.empty()) json["reason"] = shape.reason;
  json["compared"] = shape.compared;
  json["claim"] = ClaimName(shape.told.claim);
  json["change"] = shape.told.change;
  json["interval"] = {shape.told.interval.low, shape.told.interval.high};
  json["chance"] = shape.told.chance;
  json["pairs"] = shape.told.pairs;
  json["clock"] = ClockName(shape.clock);
  json["starts"] = shape.starts;
  json["rounds"] = shape.rounds;
  json["baseline_seconds"] = shape.baseline_seconds;
  json["candidate_seconds"] = shape.candidate_seconds;
  json["cold_seconds"] = shape.cold_seconds;
  json["baseline_cold_seconds"] = shape.baseline_cold_seconds;
  for (const size_t side : {0, 1}) {
    if (shape.told_times[side].empty()) continue;
    json["told_times"][kSides[side]] = shape.told_times[side];
  }
  json["baseline"] = StructureJson(shape.baseline);
  json["candidate"] = StructureJson(shape.candidate);
  return json;
}

}  // namespace

std::string GateText(const GateReport& report) {
  std::string text =
      "baseline  " + report.baseline + "\ncandidate " + report.candidate + "\n";
  if (!report.paired) {
    text +=
        "note      two files were not measured in turns: only large "
        "differences count\n";
  }
  for (const Shape& shape : report.shapes) {
    text += "\n" + ShapeText(shape, report.paired);
  }
  text += "\ndecision  " +
          std::string(DecisionName(report.judgement.decision)) + ": " +
          report.judgement.reason + "\n";
  if (!report.judgement.because.empty()) {
    text += "because   " + report.judgement.because + "\n";
  }
  return text;
}

Json GateJson(const GateReport& report) {
  Json json = {{"kind", "gate"},
               {"baseline", report.baseline},
               {"candidate", report.candidate},
               {"paired", report.paired},
               {"decision", DecisionName(report.judgement.decision)},
               {"reason", report.judgement.reason},
               {"because", report.judgement.because},
               {"facts", Json::object()},
               {"shapes", Json::array()}};
  for (const auto& [name, value] : report.facts) json["facts"][name] = value;
  for (const Shape& shape : report.shapes) {
    json["shapes"].push_back(ShapeJson(shape));
  }
  json["exit"] = ExitCodeOf(report.judgement.decision);
  return json;
}

}  // namespace lockstep::bench
