// All rows of a run, measured in turns, and what their samples say.
#ifndef LOCKSTEP_BENCH_TABLE_H_
#define LOCKSTEP_BENCH_TABLE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "bench/row.h"
#include "bench/statistics.h"

namespace lockstep::bench {

struct TableOptions {
  double seconds = 0;  // that all rows together may take to be measured
  uint64_t seed = 1;   // of the orders of rounds
  // A row has been measured when the interval of its median is no wider than
  // that to both sides, over the median.
  double precision = 0.01;
  const std::atomic<bool>* stop = nullptr;  // may be null
  // Held while the table changes, free while a kernel or the judge works: then
  // others may read what was measured so far. May be null.
  std::mutex* held = nullptr;
  // Rows that are measured, of those that will be; may be empty.
  std::function<void(int64_t done, int64_t total)> progress;
};

// With a probability of that much the interval holds the median.
inline constexpr double kConfidence = 0.95;
// Samples of a row, whatever the budget; and at most.
inline constexpr int64_t kLeastSamples = 5;
inline constexpr int64_t kMostSamples = 200;

struct Table {
  std::vector<Row> rows;
  std::vector<ReadLevel> levels;  // measured
  double seconds = 0;             // that measuring took
  bool interrupted = false;
};

// Verifies all rows, then rounds: in each every row that is not yet measured
// has its turn, in an order drawn anew, and levels of the memory are read
// between them. A row that was verified has a sample, whenever a run is
// interrupted.
void Measure(const TableOptions& options, Table* table);
// Ends what the candidates have open; a row that breaks then is refused.
void CloseRows(Table* table);

// What the samples of a row say; of a refused row nothing does.
struct Summary {
  double seconds = 0;  // the median
  double cpu = 0;
  double wall = 0;
  Interval interval;  // of the median, seconds
  double best = 0;    // the fastest sample, seconds
  // Of a row with counted work; medians over samples, each of which is held
  // against the bursts right after it.
  double flops = 0;  // a second, of the median
  double limit = 0;  // flop/s of the fastest engine that the contract permits
  std::string limit_name;
  double fraction = 0;       // of that
  double best_fraction = 0;  // of the fastest sample
  // Of processor time instead: what neighbours take is not in it. None where
  // the time is a host's.
  std::optional<double> cpu_fraction;
  std::optional<double> of_instruction;
  std::optional<double> instruction_limit;  // flop/s
  std::optional<double> of_matrix;          // where the machine has the unit
  double roof = 0;  // flop/s: limit, or bandwidth of the level of its tensors
  double of_roof = 0;
  std::string roof_name;  // the limit's, or the level's
  double bytes_per_second = 0;
};
// Requires: at least one sample.
Summary Summarise(const Row& row, const std::vector<ReadLevel>& levels);

// What one thread does with an instruction, flop/s: the median over all bursts
// of all rows, of which each has its threads.
struct Peak {
  std::string name;
  double flops = 0;
};
std::vector<Peak> PeaksOf(const Table& table);

// Tiles that a run worked on; 0 where it does not say.
int64_t ActiveTiles(const verify::Execution& execution);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_TABLE_H_
