#include "verify/judge/statistics/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "verify/base/binary64.h"
#include "verify/base/format.h"

namespace lockstep::verify {
namespace {

// Parts of the rate.
constexpr double kWholePart = 0.5;
constexpr double kGroupPart = 0.25;
constexpr double kPoolPart = 0.25;

// A bias of R rows cannot be less probable than if all had one sign and size.
double LeastLog(int64_t rows) {
  return LogBiasBound(std::sqrt(static_cast<double>(rows)));
}

// Rows of a group with their sums.
struct BiasSum {
  double along = 0, drift = 0, squares = 0;
  int64_t rows = 0;

  void Add(double x, double d) {
    along += x;
    drift += d;
    const double most = std::fabs(x) + d;
    squares += most * most;
    rows += most > 0 ? 1 : 0;
  }
  // What is left of the sum if all drifts pull one way.
  double Left() const {
    const double left = std::fabs(along) - drift;
    if (!(left > 0) || !(squares > 0)) return 0;
    return std::copysign(left / std::sqrt(squares), along);
  }
};

struct SizeSum {
  double squares = 0;
  int64_t rows = 0;
};

// Rows of one draw and group as one, their mean: what they share is counted
// once.
std::vector<RowErrors> OnePerDraw(const ErrorSample& sample,
                                  int64_t (*group)(const RowErrors&)) {
  std::map<std::pair<int64_t, int64_t>, std::vector<const RowErrors*>> draws;
  for (const RowErrors& row : sample.rows) {
    draws[{group(row), row.draw}].push_back(&row);
  }
  std::vector<RowErrors> means;
  for (const auto& [place, rows] : draws) {
    RowErrors mean = *rows[0];
    for (size_t n = 1; n < rows.size(); ++n) {
      for (size_t t = 0; t < mean.squares.size(); ++t) {
        mean.squares[t] += rows[n]->squares[t];
      }
      for (size_t d = 0; d < kErrorDirections; ++d) {
        mean.along[d] += rows[n]->along[d];
        mean.drift[d] += rows[n]->drift[d];
      }
    }
    const auto count = static_cast<double>(rows.size());
    for (double& x : mean.squares) x /= count;
    for (double& x : mean.along) x /= count;
    for (double& x : mean.drift) x /= count;
    means.push_back(std::move(mean));
  }
  return means;
}

int64_t WholeOf(const RowErrors&) { return 0; }
int64_t HeadOf(const RowErrors& row) { return row.head; }
int64_t BlockOf(const RowErrors& row) { return row.block; }

Statistic BiasOf(const std::string& name, const std::string& where,
                 const BiasSum& sum) {
  const double left = sum.Left();
  return {name, where, left, sum.rows, LogBiasBound(std::fabs(left)), 0};
}

Statistic SizeOf(const std::string& where, const SizeSum& sum) {
  const double mean =
      sum.rows > 0 ? sum.squares / static_cast<double>(sum.rows) : 0;
  return {"rms", where, std::sqrt(mean), sum.rows, LogSizeBound(mean, sum.rows),
          0};
}

// Statistics that share one part of the rate.
class Family {
 public:
  void Add(Statistic statistic) { statistics_.push_back(std::move(statistic)); }

  // Of biases only those that can alarm at all take a share.
  void Settle(double part, StatisticsResult* result) {
    const double log_part = LogDouble(part);
    const auto limit = [&](size_t count) {
      return log_part - LogDouble(std::max(static_cast<double>(count), 1.0));
    };
    size_t count = statistics_.size();
    for (size_t before = count + 1; count < before;) {
      before = count;
      const double most = limit(count);
      std::erase_if(statistics_, [&](const Statistic& s) {
        return s.name != "rms" && !(LeastLog(s.rows) < most);
      });
      count = statistics_.size();
    }
    result->tests += static_cast<int64_t>(count);
    for (Statistic& s : statistics_) {
      s.limit = limit(count);
      const double apart = s.log_p - s.limit;
      const Statistic& best = result->strongest;
      if (best.name.empty() || apart < best.log_p - best.limit) {
        result->strongest = s;
      }
      if (s.Alarms()) result->alarms.push_back(s);
    }
  }

 private:
  std::vector<Statistic> statistics_;
};

std::string Channels(const ErrorSample& sample, size_t tile) {
  const int64_t first = static_cast<int64_t>(tile) * sample.column_tile;
  const int64_t end = std::min(first + sample.column_tile, sample.columns);
  return "channels " + std::to_string(first) + " .. " + std::to_string(end - 1);
}

Family Whole(const ErrorSample& sample, const std::vector<RowErrors>& draws) {
  std::array<BiasSum, kErrorDirections> biases;
  SizeSum size;
  for (const RowErrors& row : draws) {
    double squares = 0;
    for (const double tile : row.squares) squares += tile;
    size.squares += squares / static_cast<double>(sample.columns);
    ++size.rows;
    for (size_t d = 0; d < kErrorDirections; ++d) {
      biases[d].Add(row.along[d], row.drift[d]);
    }
  }
  Family family;
  family.Add(SizeOf("", size));
  for (size_t d = 0; d < kErrorDirections; ++d) {
    family.Add(BiasOf(ErrorDirectionName(static_cast<ErrorDirection>(d)), "",
                      biases[d]));
  }
  return family;
}

Family Groups(const ErrorSample& sample, const std::vector<RowErrors>& draws) {
  std::map<int64_t, std::array<BiasSum, kErrorDirections>> heads;
  std::map<int64_t, SizeSum> blocks;
  std::vector<SizeSum> tiles;
  for (const RowErrors& row : draws) {
    tiles.resize(std::max(tiles.size(), row.squares.size()));
    for (size_t t = 0; t < row.squares.size(); ++t) {
      const int64_t first = static_cast<int64_t>(t) * sample.column_tile;
      const int64_t width =
          std::min(sample.column_tile, sample.columns - first);
      tiles[t].squares += row.squares[t] / static_cast<double>(width);
      ++tiles[t].rows;
    }
  }
  for (const RowErrors& row : OnePerDraw(sample, &BlockOf)) {
    SizeSum& block = blocks[row.block];
    for (const double squares : row.squares) {
      block.squares += squares / static_cast<double>(sample.columns);
    }
    ++block.rows;
  }
  for (const RowErrors& row : OnePerDraw(sample, &HeadOf)) {
    for (size_t d = 0; d < kErrorDirections; ++d) {
      heads[row.head][d].Add(row.along[d], row.drift[d]);
    }
  }
  Family family;
  for (size_t t = 0; t < tiles.size(); ++t) {
    family.Add(SizeOf(Channels(sample, t), tiles[t]));
  }
  for (const auto& [block, sum] : blocks) {
    family.Add(SizeOf("block " + std::to_string(block) + " of rows", sum));
  }
  for (const auto& [head, biases] : heads) {
    for (size_t d = 0; d < kErrorDirections; ++d) {
      family.Add(BiasOf(ErrorDirectionName(static_cast<ErrorDirection>(d)),
                        "head " + std::to_string(head), biases[d]));
    }
  }
  return family;
}

// Keys alone are thousands: names are made of those that may tell something.
Family Places(const ErrorSample& sample) {
  Family family;
  for (const ErrorPool& pool : sample.pools) {
    for (size_t at = 0; at < pool.places.size(); ++at) {
      const SignedSum& place = pool.places[at];
      if (!(place.squares > 0)) continue;
      const double x = place.sum / std::sqrt(place.squares);
      family.Add({pool.what,
                  pool.what + " " +
                      std::to_string(pool.first + static_cast<int64_t>(at)),
                  x, place.rows, LogBiasBound(std::fabs(x)), 0});
    }
  }
  return family;
}

}  // namespace

const char* ErrorDirectionName(ErrorDirection direction) {
  constexpr const char* kNames[] = {"away_from_zero", "gain", "up", "scale",
                                    "cap"};
  return kNames[static_cast<size_t>(direction)];
}

double LogBiasBound(double x) {
  return std::min(LogDouble(2) - x * x / 2, 0.0);
}

double LogSizeBound(double mean_square, int64_t rows) {
  if (!(mean_square > 1)) return 0;
  return -static_cast<double>(rows) / 2 *
         (mean_square - 1 - LogDouble(mean_square));
}

StatisticsResult JudgeErrors(const ErrorSample& sample, double rate) {
  StatisticsResult result;
  result.tensor = sample.tensor;
  result.why_not = sample.why_not;
  result.judged = sample.judged;
  if (!result.why_not.empty()) return result;
  const std::vector<RowErrors> draws = OnePerDraw(sample, &WholeOf);
  result.rows = static_cast<int64_t>(draws.size());
  // Fewer rows cannot differ from chance in the statistics of the whole.
  const double least = LogDouble(rate * kWholePart / (kErrorDirections + 1));
  if (!(LeastLog(result.rows) < least)) {
    result.why_not = "too few rows whose roundings are like chance";
    return result;
  }
  result.pools = !sample.pools.empty();
  Whole(sample, draws).Settle(rate * kWholePart, &result);
  Groups(sample, draws).Settle(rate * kGroupPart, &result);
  if (result.pools) Places(sample).Settle(rate * kPoolPart, &result);
  std::stable_sort(result.alarms.begin(), result.alarms.end(),
                   [](const Statistic& a, const Statistic& b) {
                     return a.log_p - a.limit < b.log_p - b.limit;
                   });
  return result;
}

double LogBoundAgain(const Statistic& first, const ErrorSample& again) {
  if (!again.why_not.empty()) return 0;
  // With a limit above every logarithm all statistics alarm, and are kept.
  const StatisticsResult all = JudgeErrors(again, 1e300);
  for (const Statistic& s : all.alarms) {
    if (s.Same(first)) return s.log_p;
  }
  return 0;
}

std::string DescribeStatistic(const Statistic& s) {
  const std::string where = s.where.empty() ? "" : " of " + s.where;
  if (s.name == "rms") {
    return Format("rms%s %.3g times what roundings explain, in %lld rows",
                  where.c_str(), s.value, static_cast<long long>(s.rows));
  }
  const bool place = s.where.starts_with(s.name);
  const std::string what = place ? s.where : s.name + where;
  return Format("%s %+.1f in %lld rows", what.c_str(), s.value,
                static_cast<long long>(s.rows));
}

}  // namespace lockstep::verify
