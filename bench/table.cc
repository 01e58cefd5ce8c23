#include "bench/table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "bench/measure.h"

namespace lockstep::bench {
namespace {

constexpr size_t kMostLevelBytes = size_t{128} << 20;
constexpr double kLevelSeconds = 0.01;
// Rounds between two looks at the memory.
constexpr int64_t kLevelRounds = 8;

bool Stopped(const TableOptions& options) {
  return options.stop != nullptr && *options.stop;
}

double Best(const std::vector<double>& bursts, size_t count) {
  double best = 0;
  for (size_t n = 0; n < count; ++n) best = std::max(best, bursts[n]);
  return best;
}

std::vector<double> SecondsOfRow(const Row& row) {
  std::vector<double> seconds;
  for (const Sample& sample : row.samples()) seconds.push_back(sample.seconds);
  return seconds;
}

bool Measured(const Row& row, double precision) {
  const auto count = static_cast<int64_t>(row.samples().size());
  if (!row.refused().empty() || count >= kMostSamples) return true;
  if (count < 2 * kLeastSamples) return false;
  const std::vector<double> seconds = SecondsOfRow(row);
  const double median = MedianOf(seconds);
  const Interval interval = MedianInterval(seconds, kConfidence);
  return interval.low >= median * (1 - precision) &&
         interval.high <= median * (1 + precision);
}

// The median over samples of what `of` makes of each.
template <typename Of>
double MedianOver(const Row& row, const Of& of) {
  std::vector<double> values;
  for (const Sample& sample : row.samples()) values.push_back(of(sample));
  return MedianOf(std::move(values));
}

void AddInstruction(const Row& row, double flop, Summary* summary) {
  const auto fraction = [&](size_t engine) {
    return MedianOver(row, [&](const Sample& s) {
      return flop / s.seconds / s.bursts[engine];
    });
  };
  if (row.used()) {
    const size_t used = *row.used();
    summary->of_instruction = fraction(used);
    summary->instruction_limit =
        MedianOver(row, [&](const Sample& s) { return s.bursts[used]; });
  }
  for (size_t n = 0; n < row.engines().size(); ++n) {
    if (row.engines()[n].instruction == Instruction::kMatrix) {
      summary->of_matrix = fraction(n);
    }
  }
}

void AddFractions(const Row& row, const std::vector<ReadLevel>& levels,
                  Summary* summary) {
  const double flop = row.scene().work->flop;
  const size_t limits = row.limits();
  summary->flops = flop / summary->seconds;
  summary->limit =
      MedianOver(row, [&](const Sample& s) { return Best(s.bursts, limits); });
  double fastest = 0;
  for (size_t n = 0; n < limits; ++n) {
    const double rate =
        MedianOver(row, [&](const Sample& s) { return s.bursts[n]; });
    if (rate <= fastest) continue;
    fastest = rate;
    summary->limit_name = row.engines()[n].Name();
  }
  summary->fraction = MedianOver(row, [&](const Sample& s) {
    return flop / s.seconds / Best(s.bursts, limits);
  });
  for (const Sample& s : row.samples()) {
    if (s.seconds > summary->best) continue;
    summary->best_fraction = flop / s.seconds / Best(s.bursts, limits);
  }
  // For a process of its own it is not known here.
  if (!row.apart()) {
    summary->cpu_fraction = MedianOver(row, [&](const Sample& s) {
      return flop / s.cpu / (Best(s.bursts, limits) / row.threads());
    });
  }
  AddInstruction(row, flop, summary);
  summary->roof = summary->limit;
  summary->roof_name = summary->limit_name;
  if (!levels.empty()) {
    const double bytes = row.scene().bytes;
    const ReadLevel& level = LevelOf(levels, bytes);
    const double roof = row.threads() * level.bytes_per_second * flop / bytes;
    if (roof < summary->roof) {
      summary->roof = roof;
      summary->roof_name = level.name;
    }
  }
  summary->of_roof = summary->flops / summary->roof;
}

// Judges every row. The sample that each takes at once is what an interrupt
// leaves; rounds, whose samples are compared, begin without it.
void VerifyRows(const TableOptions& options, Table* table) {
  for (Row& row : table->rows) {
    if (Stopped(options)) return;
    row.LetRead(options.held);
    row.Verify();
    if (row.refused().empty() && !Stopped(options)) row.TakeSample(0);
  }
  if (Stopped(options)) return;
  for (Row& row : table->rows) row.DropSamples();
  if (EnginesFor(verify::WorkLane::kF32).empty()) return;
  table->levels = ReadLevels(kMostLevelBytes);
  for (ReadLevel& level : table->levels) MeasureLevel(kLevelSeconds, &level);
}

}  // namespace

void Measure(const TableOptions& options, Table* table) {
  std::unique_lock<std::mutex> lock;
  if (options.held != nullptr) lock = std::unique_lock(*options.held);
  const auto total = static_cast<int64_t>(table->rows.size());
  VerifyRows(options, table);
  Dice dice(options.seed);
  const double start = Now();
  size_t next_level = 0;
  for (int64_t round = 0; !Stopped(options); ++round) {
    int64_t done = 0;
    for (const size_t n : dice.Order(table->rows.size())) {
      Row& row = table->rows[n];
      if (Measured(row, options.precision)) {
        ++done;
      } else if (!Stopped(options)) {
        row.TakeSample(round);
      }
    }
    if (round > 0 && round % kLevelRounds == 0 && !table->levels.empty()) {
      MeasureLevel(kLevelSeconds,
                   &table->levels[next_level++ % table->levels.size()]);
    }
    if (options.progress) options.progress(done, total);
    const bool spent = Now() - start > options.seconds;
    if (done == total || (spent && round + 1 >= kLeastSamples)) break;
  }
  for (Row& row : table->rows) {
    row.SettleClock();
    row.LetRead(nullptr);
  }
  table->seconds = Now() - start;
  table->interrupted = Stopped(options);
}

void CloseRows(Table* table) {
  for (Row& row : table->rows) row.Close();
}

Summary Summarise(const Row& row, const std::vector<ReadLevel>& levels) {
  const std::vector<double> seconds = SecondsOfRow(row);
  Summary summary;
  summary.seconds = MedianOf(seconds);
  summary.cpu = MedianOver(row, [](const Sample& s) { return s.cpu; });
  summary.wall = MedianOver(row, [](const Sample& s) { return s.wall; });
  summary.interval = MedianInterval(seconds, kConfidence);
  summary.best = *std::min_element(seconds.begin(), seconds.end());
  summary.bytes_per_second = row.scene().bytes / summary.seconds;
  if (row.scene().work && row.limits() > 0) AddFractions(row, levels, &summary);
  return summary;
}

std::vector<Peak> PeaksOf(const Table& table) {
  std::map<std::string, std::vector<double>> bursts;
  for (const Row& row : table.rows) {
    for (const Sample& sample : row.samples()) {
      for (size_t n = 0; n < sample.bursts.size(); ++n) {
        bursts[row.engines()[n].Name()].push_back(sample.bursts[n] /
                                                  row.threads());
      }
    }
  }
  std::vector<Peak> peaks;
  for (auto& [name, rates] : bursts) {
    peaks.push_back({name, MedianOf(std::move(rates))});
  }
  return peaks;
}

int64_t ActiveTiles(const verify::Execution& execution) {
  return execution.Count("tiles_full") + execution.Count("tiles_partial");
}

}  // namespace lockstep::bench
