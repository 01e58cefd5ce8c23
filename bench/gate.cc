#include "bench/gate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "bench/judge_job.h"
#include "bench/measure.h"
#include "verify/base/status_macros.h"

namespace lockstep::bench {
namespace {

// What has changed by less has not changed.
constexpr double kSame = 0.01;

// Rows x keys of the tiles of a plan: "tile=48x256", or a host's "tile 48x256".
std::optional<double> TileArea(const std::string& plan) {
  const size_t at = plan.find("tile");
  if (at == plan.npos || at + 5 > plan.size()) return std::nullopt;
  const char* text = plan.c_str() + at + 5;
  char* end = nullptr;
  const double rows = static_cast<double>(std::strtoll(text, &end, 10));
  if (*end != 'x') return std::nullopt;
  const double keys = static_cast<double>(std::strtoll(end + 1, &end, 10));
  if (!(rows > 0 && keys > 0)) return std::nullopt;
  return rows * keys;
}

std::optional<double> CountOf(const verify::Execution& execution,
                              const std::string& name) {
  for (const verify::Counter& counter : execution.counters) {
    if (counter.name == name) return static_cast<double>(counter.value);
  }
  return std::nullopt;
}

// Where both say it: -1, 0, 1.
int CompareCount(const std::optional<double>& baseline,
                 const std::optional<double>& candidate) {
  if (!baseline || !candidate) return 0;
  if (*candidate < *baseline * (1 - kSame)) return -1;
  return *candidate > *baseline * (1 + kSame) ? 1 : 0;
}

// All that `lockstep verify` does with the case.
Status JudgeCandidate(const verify::Job& job, const std::string& spec,
                      const GateOptions& options, Shape* shape) {
  ASSIGN_OR_RETURN(const auto candidate, verify::ParseCandidate(spec));
  verify::RunOptions run;
  run.judge.stop = options.stop;
  ASSIGN_OR_RETURN(
      const verify::CaseResult result,
      JudgeJob(job, spec, candidate->traits().ours ? "" : options.profile,
               run));
  shape->verdict = verify::VerdictName(result.verdict);
  shape->reason = result.reason;
  return {};
}

void TakeDuel(const Duel& duel, const Thresholds& thresholds, Shape* shape) {
  if (!duel.broken.empty()) {
    shape->verdict = "error";
    shape->reason = duel.broken;
  }
  shape->compared = duel.broken.empty() && !duel.logarithms.empty();
  shape->told = Tell(duel.logarithms, thresholds);
  if (!duel.checks.empty()) {
    const Told check = Tell(duel.checks, {thresholds.chance, kCheckFloor});
    shape->told.claim = ClaimOfTold(shape->told.claim, check.claim);
  }
  shape->told_times = duel.told;
  shape->clock = duel.clock;
  shape->starts = duel.starts;
  shape->rounds = duel.rounds;
  shape->baseline_seconds = duel.baseline_seconds;
  shape->candidate_seconds = duel.candidate_seconds;
}

// What a first call takes beyond those that follow, by two kernels compared.
double PreparesLonger(const Shape& shape) {
  const auto prepares = [](double cold, double warm) {
    return std::max(cold - warm, 0.0);
  };
  return prepares(shape.cold_seconds, shape.candidate_seconds) -
         prepares(shape.baseline_cold_seconds, shape.baseline_seconds);
}

// Kinds of verdicts, the worst first (kWords of rules.cc).
double VerdictFact(const Shape& shape) {
  if (shape.verdict == "fail") return 0;
  if (shape.verdict == "error") return 1;
  if (shape.verdict != "pass") return 2;
  return shape.compared ? 4 : 3;
}

}  // namespace

Structure StructureOf(const verify::Execution& execution,
                      std::optional<double> bytes) {
  Structure structure;
  const auto full = CountOf(execution, "tiles_full");
  const auto partial = CountOf(execution, "tiles_partial");
  const auto area = TileArea(execution.plan);
  if (full && partial && area) structure.visited = (*full + *partial) * *area;
  structure.redone = CountOf(execution, "rows_redone");
  structure.bytes = bytes;
  return structure;
}

int CompareStructure(const Structure& baseline, const Structure& candidate) {
  const int counts[] = {CompareCount(baseline.visited, candidate.visited),
                        CompareCount(baseline.redone, candidate.redone),
                        CompareCount(baseline.bytes, candidate.bytes)};
  const int most = *std::max_element(std::begin(counts), std::end(counts));
  return most > 0 ? 1 : *std::min_element(std::begin(counts), std::end(counts));
}

Facts FactsOf(const std::vector<Shape>& shapes) {
  Facts facts;
  for (const FactName& name : FactNames()) facts[name.name] = 0;
  facts["verdict"] = 4;
  double logarithms = 0, compared = 0;
  int less = 0, more = 0;
  for (const Shape& shape : shapes) {
    facts["verdict"] = std::min(facts["verdict"], VerdictFact(shape));
    if (!shape.compared) continue;
    ++compared;
    logarithms += std::log1p(shape.told.change);
    facts["wins"] += shape.told.claim == Claim::kFaster ? 1 : 0;
    facts["losses"] += shape.told.claim == Claim::kSlower ? 1 : 0;
    facts["ties"] += shape.told.claim == Claim::kTie ? 1 : 0;
    facts["undecided"] += shape.told.claim == Claim::kUndecided ? 1 : 0;
    facts["cold_seconds"] =
        std::max(facts["cold_seconds"], PreparesLonger(shape));
    const int structure = CompareStructure(shape.baseline, shape.candidate);
    less += structure < 0 ? 1 : 0;
    more += structure > 0 ? 1 : 0;
  }
  facts["shapes"] = static_cast<double>(shapes.size());
  facts["share"] = facts["wins"] / std::max(facts["shapes"], 1.0);
  facts["gain"] = compared > 0 ? -std::expm1(logarithms / compared) : 0;
  facts["structure"] = more > 0 ? 1 : less > 0 ? -1 : 0;
  return facts;
}

Result<Shape> CompareOn(const verify::Job& job, const std::string& baseline,
                        const std::string& candidate,
                        const GateOptions& options, Dice* dice) {
  Shape shape;
  const double start = Now();
  shape.line = verify::MinimalLine(job.sequence[0]);
  RETURN_IF_ERROR(JudgeCandidate(job, candidate, options, &shape));
  ASSIGN_OR_RETURN(const auto scene, OpenScene(job));
  const auto open = [&](const std::string& spec) {
    Ask ask = {job, spec, "", std::nullopt, std::nullopt, ""};
    const auto parsed = verify::ParseCandidate(spec);
    if (parsed.ok() && !parsed.value()->traits().ours)
      ask.profile = options.profile;
    return Row::Open(std::move(ask), scene);
  };
  ASSIGN_OR_RETURN(Row own, open(candidate));
  ASSIGN_OR_RETURN(Row other, open(baseline));
  own.Verify();
  other.Verify();
  if (!other.refused().empty()) {
    return Status::Error("the baseline " + other.spec() + " on '" + shape.line +
                         "': " + other.refused());
  }
  shape.cold_seconds = own.cold_seconds();
  shape.baseline_cold_seconds = other.cold_seconds();
  if (own.refused().empty()) {
    const Ring ring = {
        [&](size_t side) { return open(side == 0 ? baseline : candidate); },
        own.alone() && other.alone(),
        std::max(options.seconds / 2, start + options.seconds - Now()),
        options.stop};
    const Duel duel = Fight(ring, dice);
    if (!duel.broken.empty() && duel.broken_by == 0) {
      return Status::Error("the baseline broke while it was timed on '" +
                           shape.line + "': " + duel.broken);
    }
    TakeDuel(duel, options.thresholds, &shape);
    const auto bytes = other.MeasureMemory();
    shape.baseline = StructureOf(other.execution(), bytes);
    const auto own_bytes = own.MeasureMemory();
    shape.candidate = StructureOf(own.execution(), own_bytes);
  } else if (shape.verdict == "pass") {
    shape.verdict = own.verdict().empty() ? "error" : own.verdict();
    shape.reason = own.refused();
  }
  own.Close();
  other.Close();
  return shape;
}

}  // namespace lockstep::bench
