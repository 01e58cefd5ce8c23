// The gate: a candidate against a baseline on some shapes, and what to do with
// it.
#ifndef LOCKSTEP_BENCH_GATE_H_
#define LOCKSTEP_BENCH_GATE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/duel.h"
#include "bench/row.h"
#include "bench/rules.h"
#include "verify/base/io/json.h"

namespace lockstep::bench {

// What a kernel does for a shape, whatever it takes to do it; each where the
// kernel says it.
struct Structure {
  std::optional<double> visited;  // scores of the tiles that it worked on
  std::optional<double> redone;   // rows of which it made a second pass
  std::optional<double> bytes;    // beside the tensors
};
Structure StructureOf(const verify::Execution& execution,
                      std::optional<double> bytes);

// One shape.
struct Shape {
  std::string line;
  std::string verdict;  // of the judge on the candidate
  std::string reason;   // of another verdict, or why it was not timed
  bool compared = false;
  Told told;
  double baseline_seconds = 0;
  double candidate_seconds = 0;
  Clock clock = Clock::kWall;
  size_t starts = 0;  // of both kernels to be timed, and turns of each
  size_t rounds = 0;
  double cold_seconds = 0;                // of the candidate's first call
  double baseline_cold_seconds = 0;       // of the baseline's
  std::array<std::string, 2> told_times;  // Duel::told
  Structure baseline, candidate;
};

struct GateReport {
  std::string baseline, candidate;  // specs, or files
  bool paired = true;
  std::vector<Shape> shapes;
  Facts facts;
  Judgement judgement;
};

// -1 where the candidate does less of something and more of nothing, 1 where it
// does more of something, else 0. A change of less than 1 % counts as none.
int CompareStructure(const Structure& baseline, const Structure& candidate);

// Requires: shapes.
Facts FactsOf(const std::vector<Shape>& shapes);

struct GateOptions {
  // For one shape; the judge and first calls have half of it at most.
  double seconds = 20;
  uint64_t seed = 1;
  std::string profile;  // of foreign kernels; empty: none
  Thresholds thresholds;
  const std::atomic<bool>* stop = nullptr;  // may be null
};

// One case: the candidate before the judge, with everything that it tries, then
// both against each other. Errors: usage.
Result<Shape> CompareOn(const verify::Job& job, const std::string& baseline,
                        const std::string& candidate,
                        const GateOptions& options, Dice* dice);

// Whether it is a result of `lockstep bench --json`. Errors: "is no ...".
Status CheckResult(const verify::Json& json);

// What rows of two files have in common, and are shapes by.
enum class SameBy : uint8_t {
  kCase,  // the file has one kernel
  kRow,   // case, kernel and goal
};
// The shapes that two results of `lockstep bench --json` share. Errors: a file
// is no such result, has two candidates on one case, or they share nothing.
Result<std::vector<Shape>> CompareFiles(const verify::Json& baseline,
                                        const verify::Json& candidate,
                                        SameBy same,
                                        const Thresholds& thresholds);

std::string GateText(const GateReport& report);
verify::Json GateJson(const GateReport& report);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_GATE_H_
