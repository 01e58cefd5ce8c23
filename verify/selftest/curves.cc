#include "verify/selftest/curves.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "verify/candidate/candidate.h"
#include "verify/case/case.h"
#include "verify/registry/ops.h"
#include "verify/selftest/pool.h"
#include "verify/selftest/stages.h"

namespace lockstep::verify {
namespace {

constexpr const char* kBase = "flash";
constexpr int64_t kCounts[] = {4096, 1024, 256, 64, 16, 4, 2, 1};
constexpr int64_t kBits[] = {1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22};

// What became of one setting on one case.
struct Seen {
  bool changed = false;  // a bit of the answer to the case's own inputs
  bool own = false;
  bool probed = false;
};

Result<Seen> Look(const MutantInfo& info, int64_t setting, Stages* stages) {
  auto candidate = ParseCandidate(std::string("mutant:") + info.name + "@" +
                                  std::to_string(setting) + ",base=" + kBase);
  if (!candidate.ok()) return candidate.status();
  Seen seen;
  for (size_t s = 0; s < stages->size(); ++s) {
    Stage& stage = (*stages)[s];
    const Status open = stage.Open();
    if (!open.ok()) return open;
    const auto outputs = stage.Run(candidate.value().get());
    if (!outputs.ok()) return outputs.status();
    const bool found = !stage.Allows(outputs.value());
    if (s == 0) {
      seen.changed = stage.DifferenceOf(outputs.value()) != Difference::kNone;
      seen.own = found;
    }
    seen.probed = seen.probed || found;
    if (seen.probed) break;
  }
  return seen;
}

// The case with that seed.
Result<std::string> WithSeed(const std::string& line, uint64_t seed) {
  Result<std::vector<Case>> sequence = ParseCaseSequence(line, Ops());
  if (!sequence.ok()) return sequence.status();
  if (sequence->size() != 1) {
    return Status::Error("curves are of single cases, not of '" + line + "'");
  }
  sequence.value()[0].seed = seed;
  return MinimalLine(sequence.value()[0]);
}

Status Add(DialCurve* curve, Stages* stages) {
  std::vector<Seen> all;
  for (const CurvePoint& point : curve->points) {
    const Result<Seen> seen = Look(*curve->info, point.setting, stages);
    if (!seen.ok()) return seen.status();
    all.push_back(seen.value());
    // What changes nothing at its most severe has no place in these inputs.
    if (!all.front().changed) return {};
  }
  for (size_t n = 0; n < all.size(); ++n) {
    CurvePoint& point = curve->points[n];
    ++point.own.total;
    ++point.probed.total;
    point.own.hits += all[n].own ? 1 : 0;
    point.probed.hits += all[n].probed ? 1 : 0;
  }
  return {};
}

}  // namespace

bool MoreIsMilder(const MutantInfo& info) {
  const std::string_view dial = info.dial;
  return dial == "bits" || dial == "N";
}

Result<std::vector<DialCurve>> MeasureCurves(
    const std::vector<std::string>& lines, int64_t draws, int threads) {
  std::vector<DialCurve> curves;
  for (const MutantInfo& info : Mutants()) {
    if (!info.attention() || info.dial == nullptr) continue;
    DialCurve& curve = curves.emplace_back();
    curve.info = &info;
    const std::span<const int64_t> settings =
        MoreIsMilder(info) ? std::span<const int64_t>(kBits)
                           : std::span<const int64_t>(kCounts);
    for (const int64_t setting : settings) {
      curve.points.push_back({setting, {}, {}});
    }
  }
  for (int64_t draw = 0; draw < draws; ++draw) {
    for (const std::string& line : lines) {
      const Result<std::string> drawn =
          WithSeed(line, static_cast<uint64_t>(draw));
      if (!drawn.ok()) return drawn.status();
      auto stages = Stages::Make(drawn.value(), kBase, {});
      if (!stages.ok()) return stages.status();
      std::vector<Status> statuses(curves.size());
      ForEach(static_cast<int64_t>(curves.size()), threads, [&](int64_t n) {
        const auto at = static_cast<size_t>(n);
        statuses[at] = Add(&curves[at], stages.value().get());
      });
      for (const Status& status : statuses) {
        if (!status.ok()) return status;
      }
    }
  }
  return curves;
}

std::string CurvesText(const std::vector<DialCurve>& curves) {
  std::string text;
  for (const DialCurve& curve : curves) {
    text += std::string("curve ") + curve.info->name + ", " + curve.info->dial +
            " found/own/of:";
    for (const CurvePoint& point : curve.points) {
      text += " " + std::to_string(point.setting) + " " +
              std::to_string(point.probed.hits) + "/" +
              std::to_string(point.own.hits) + "/" +
              std::to_string(point.own.total);
    }
    text += "\n";
  }
  return text;
}

}  // namespace lockstep::verify
