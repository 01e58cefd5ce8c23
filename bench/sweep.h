// Sweeps: one case under every plan of a space, and which of them is best.
#ifndef LOCKSTEP_BENCH_SWEEP_H_
#define LOCKSTEP_BENCH_SWEEP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/table.h"
#include "optimized/attention_tuning.h"
#include "reference/contract/status.h"

namespace lockstep::bench {

enum class Axis : uint8_t { kTile, kThreads, kTarget, kChunk };
inline constexpr const char* kAxisNames[] = {"tile", "threads", "target",
                                             "chunk"};
const char* AxisName(Axis axis);
// Errors: no such axis.
Result<Axis> ParseAxis(const std::string& name);

inline constexpr const char* kDefaultPoint = "default";

// A point of a sweep.
struct Point {
  std::string name;  // "48x256", "2", "AVX2", "exact"; kDefaultPoint
  std::string spec;
};
// The plans that differ on this case, the default one first: tiles as MakePlan
// cuts them, threads up to the machine's, targets that it supports, chunks of a
// scan. Errors: a candidate other than builtin:optimized, or a case, that does
// not have the axis.
Result<std::vector<Point>> PointsOf(Axis axis, const Scene& scene,
                                    const std::string& spec);

// What a sweep says.
struct SweepResult {
  Axis axis = Axis::kTile;
  std::string line;
  std::vector<size_t> rows;  // of the table, the default first; timed ones only
  size_t best = 0;           // of the table
  double margin = 0;         // time of the default over that of the best, - 1
  // Whether rounds tell the best one from the default (SignedRank, for as many
  // tries as there are points), by at least kSweepFloor.
  bool told = false;
  size_t near = 0;  // points within kSweepFloor of the best, itself included
};
inline constexpr double kSweepFloor = 0.02;
inline constexpr double kSweepChance = 0.01;

// Requires: Measure(table). None of a sweep whose default was not timed.
std::vector<SweepResult> JudgeSweeps(const Table& table,
                                     const std::vector<Axis>& axes);

// Pairs of samples of one round, as the logarithm of `b` over `a`.
std::vector<double> PairRounds(const Row& a, const Row& b);

// Entries for the sweeps of tiles whose best plan is told from the default.
// Requires: the sweeps of the table.
std::vector<optimized::TuningEntry> TuningOf(
    const Table& table, const std::vector<SweepResult>& sweeps);
// Adds them to what the file has, if there is one. Errors: it cannot be read or
// written, or is no tuning file.
Status AddToTuning(const std::string& path,
                   const std::vector<optimized::TuningEntry>& entries);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_SWEEP_H_
