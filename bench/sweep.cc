#include "bench/sweep.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "optimized/mamba3_scan.h"
#include "optimized/plan.h"
#include "verify/base/io/files.h"
#include "verify/base/nearest_name.h"
#include "verify/base/status_macros.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::bench {
namespace {

constexpr int64_t kTileRows[] = {8, 16, 24, 48, 96, 192, 384};
constexpr int64_t kTileKeys[] = {64, 128, 256, 512, 1024};
constexpr int64_t kChunks[] = {8, 16, 32, 64, 128, 256};
constexpr const char* kSwept = "builtin:optimized";
constexpr size_t kMostTuningBytes = size_t{1} << 24;

Status NoAxis(Axis axis, const Scene& scene, const std::string& why) {
  return Status::Error("--sweep " + std::string(AxisName(axis)) + ": '" +
                       scene.line + "' " + why);
}

optimized::Caps CapsOf(const verify::Variation& how) {
  optimized::Caps caps;
  caps.target = how.target.value_or("");
  caps.threads = how.threads.value_or(0);
  caps.native_dot = how.native_dot;
  if (how.tile) {
    caps.tile_rows = how.tile->first;
    caps.tile_keys = how.tile->second;
  }
  return caps;
}

const AttentionForwardProblem* ProblemOf(const Scene& scene) {
  const auto* trial =
      dynamic_cast<const verify::AttentionForwardTrial*>(scene.trial.get());
  return trial == nullptr ? nullptr : &trial->data().problem;
}

using Variations = std::vector<std::pair<std::string, verify::Variation>>;

Result<Variations> Tiles(const Scene& scene, const verify::Variation& fixed) {
  const AttentionForwardProblem* problem = ProblemOf(scene);
  if (problem == nullptr) {
    return NoAxis(Axis::kTile, scene,
                  "has no tiles; want attention_forward, or --sweep threads, "
                  "target or chunk");
  }
  Variations all;
  std::set<std::pair<int64_t, int64_t>> seen;
  for (const int64_t rows : kTileRows) {
    for (const int64_t keys : kTileKeys) {
      verify::Variation how = fixed;
      how.tile = {rows, keys};
      ASSIGN_OR_RETURN(const auto plan,
                       optimized::MakePlan(*problem, CapsOf(how)));
      if (!seen.insert({plan.tile_rows, plan.tile_keys}).second) continue;
      how.tile = {plan.tile_rows, plan.tile_keys};
      all.push_back({std::to_string(plan.tile_rows) + "x" +
                         std::to_string(plan.tile_keys),
                     how});
    }
  }
  return all;
}

Result<Variations> Others(Axis axis, const Scene& scene,
                          const verify::Variation& fixed) {
  Variations all;
  if (axis == Axis::kThreads) {
    const int most =
        static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    for (int threads = 1; threads <= most; ++threads) {
      // Every number up to 8, then doubling, and the last one.
      const bool power = (threads & (threads - 1)) == 0;
      if (threads > 8 && !power && threads != most) continue;
      verify::Variation how = fixed;
      how.threads = threads;
      all.push_back({std::to_string(threads), how});
    }
  } else if (axis == Axis::kTarget) {
    for (const optimized::Target& target : optimized::Targets()) {
      if (!target.supported) continue;
      verify::Variation how = fixed;
      how.target = target.name;
      all.push_back({target.name, how});
    }
  } else if (const std::string op = scene.trial->Inputs().op;
             op != "mamba3_scan" && op != "ssd_scan") {
    return NoAxis(axis, scene,
                  "is no scan in chunks; want mamba3_scan or ssd_scan");
  } else {
    for (const int64_t chunk : kChunks) {
      verify::Variation how = fixed;
      how.chunk = chunk;
      all.push_back({std::to_string(chunk), how});
    }
  }
  return all;
}

// The rows of sweep n that have times, in their order.
std::vector<size_t> TimedRows(const Table& table, size_t n) {
  std::vector<size_t> rows;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const Row& row = table.rows[r];
    if (row.ask().sweep == n && row.refused().empty() &&
        !row.samples().empty()) {
      rows.push_back(r);
    }
  }
  return rows;
}

double SecondsOf(const Table& table, size_t row) {
  return Summarise(table.rows[row], table.levels).seconds;
}

}  // namespace

const char* AxisName(Axis axis) {
  return kAxisNames[static_cast<size_t>(axis)];
}

Result<Axis> ParseAxis(const std::string& name) {
  for (size_t n = 0; n < std::size(kAxisNames); ++n) {
    if (name == kAxisNames[n]) return static_cast<Axis>(n);
  }
  return Status::Error(
      "--sweep '" + name + "': want tile, threads, target or chunk; " +
      verify::NearestIs(name, kAxisNames, [](auto* axis) { return axis; }));
}

Result<std::vector<Point>> PointsOf(Axis axis, const Scene& scene,
                                    const std::string& spec) {
  ASSIGN_OR_RETURN(const std::unique_ptr<verify::Candidate> candidate,
                   verify::ParseCandidate(spec));
  if (!spec.starts_with(kSwept)) {
    return NoAxis(axis, scene,
                  "with candidate '" + spec +
                      "': only builtin:optimized has plans to choose from");
  }
  const verify::Variation& fixed = candidate->traits().fixed;
  ASSIGN_OR_RETURN(const Variations all, axis == Axis::kTile
                                             ? Tiles(scene, fixed)
                                             : Others(axis, scene, fixed));
  std::vector<Point> points = {{kDefaultPoint, candidate->Spec()}};
  for (const auto& [name, how] : all) {
    points.push_back({name, candidate->Spec(how)});
  }
  return points;
}

std::vector<double> PairRounds(const Row& a, const Row& b) {
  std::vector<double> logarithms;
  auto other = b.samples().begin();
  for (const Sample& sample : a.samples()) {
    while (other != b.samples().end() && other->round < sample.round) ++other;
    if (other == b.samples().end()) break;
    if (other->round != sample.round) continue;
    logarithms.push_back(std::log(other->seconds / sample.seconds));
  }
  return logarithms;
}

std::vector<SweepResult> JudgeSweeps(const Table& table,
                                     const std::vector<Axis>& axes) {
  std::vector<SweepResult> results;
  for (size_t n = 0; n < axes.size(); ++n) {
    SweepResult result;
    result.axis = axes[n];
    result.rows = TimedRows(table, n);
    if (result.rows.empty() ||
        table.rows[result.rows[0]].ask().point != kDefaultPoint) {
      continue;
    }
    const size_t start = result.rows[0];
    result.line = table.rows[start].scene().line;
    result.best = start;
    for (const size_t row : result.rows) {
      if (SecondsOf(table, row) < SecondsOf(table, result.best)) {
        result.best = row;
      }
    }
    const double best = SecondsOf(table, result.best);
    result.margin = SecondsOf(table, start) / best - 1;
    for (const size_t row : result.rows) {
      if (SecondsOf(table, row) <= best * (1 + kSweepFloor)) ++result.near;
    }
    const std::vector<double> pairs =
        PairRounds(table.rows[result.best], table.rows[start]);
    result.told = result.margin >= kSweepFloor && !pairs.empty() &&
                  SignedRank(pairs) * static_cast<double>(result.rows.size()) <
                      kSweepChance;
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<optimized::TuningEntry> TuningOf(
    const Table& table, const std::vector<SweepResult>& sweeps) {
  std::vector<optimized::TuningEntry> entries;
  for (const SweepResult& sweep : sweeps) {
    const Row& best = table.rows[sweep.best];
    const AttentionForwardProblem* problem = ProblemOf(best.scene());
    if (sweep.axis != Axis::kTile || !sweep.told || problem == nullptr) {
      continue;
    }
    const Result<std::unique_ptr<verify::Candidate>> candidate =
        verify::ParseCandidate(best.ask().spec);
    if (!candidate.ok()) continue;
    const auto plan = optimized::MakePlan(
        *problem, CapsOf(candidate.value()->traits().fixed));
    if (!plan.ok()) continue;
    entries.push_back({optimized::CpuModel(), plan->target,
                       optimized::TuningKey(*problem, plan->threads),
                       plan->tile_rows, plan->tile_keys});
  }
  return entries;
}

Status AddToTuning(const std::string& path,
                   const std::vector<optimized::TuningEntry>& entries) {
  optimized::Tuning tuning;
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    ASSIGN_OR_RETURN(const auto bytes,
                     verify::ReadWholeFile(path, kMostTuningBytes));
    ASSIGN_OR_RETURN(
        optimized::Tuning known,
        optimized::ParseTuning(
            std::string_view(reinterpret_cast<const char*>(bytes.data()),
                             bytes.size()),
            path));
    tuning = std::move(known);
  }
  for (const optimized::TuningEntry& entry : entries) tuning.Set(entry);
  return verify::WriteFileAtomically(path, optimized::TuningText(tuning));
}

}  // namespace lockstep::bench
