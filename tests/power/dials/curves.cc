#include "tests/power/dials/curves.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tests/power/stages.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/case/case.h"
#include "verify/registry/ops.h"
#include "verify/selftest/pool.h"

namespace lockstep::verify {
namespace {

constexpr const char* kCurveBase = "flash";
constexpr int64_t kCounts[] = {4096, 1024, 256, 64, 16, 4, 2, 1};
constexpr int64_t kBits[] = {1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22};

// What became of one setting on one case.
struct Seen {
  bool changed = false;  // a bit of the answer to the case's own inputs
  bool own = false;
  bool probed = false;
};

Result<std::unique_ptr<Candidate>> Kernel(const MutantInfo& info,
                                          int64_t setting) {
  return ParseCandidate(std::string("mutant:") + info.name + "@" +
                        std::to_string(setting) + ",base=" + kCurveBase);
}

// The answer to one set of inputs: whether it is found, and differs.
Status Ask(const MutantInfo& info, int64_t setting, Stage* stage, bool* found,
           bool* changed) {
  ASSIGN_OR_RETURN(auto candidate, Kernel(info, setting));
  RETURN_IF_ERROR(stage->Open());
  ASSIGN_OR_RETURN(const auto outputs, stage->Run(candidate.get()));
  *found = !stage->Allows(outputs);
  *changed = stage->DifferenceOf(outputs) != Difference::kNone;
  return {};
}

// The case with that seed.
Result<std::string> WithSeed(const std::string& line, uint64_t seed) {
  ASSIGN_OR_RETURN(std::vector<Case> sequence, ParseCaseSequence(line, Ops()));
  if (sequence.size() != 1) {
    return Status::Error("curves are of single cases, not of '" + line + "'");
  }
  sequence[0].seed = seed;
  return MinimalLine(sequence[0]);
}

// All settings on one case: its own inputs first; those of its probes only
// where the bug has a place in the case, and was not found before.
Status Add(DialCurve* curve, Stages* stages) {
  std::vector<Seen> all(curve->points.size());
  bool shows = false;
  for (size_t n = 0; n < all.size(); ++n) {
    Seen& seen = all[n];
    RETURN_IF_ERROR(Ask(*curve->info, curve->points[n].setting, &(*stages)[0],
                        &seen.own, &seen.changed));
    seen.probed = seen.own;
    shows = shows || seen.changed;
  }
  if (!shows) return {};
  for (size_t n = 0; n < all.size(); ++n) {
    CurvePoint& point = curve->points[n];
    for (size_t s = 1; s < stages->size() && !all[n].probed; ++s) {
      bool changed = false;
      RETURN_IF_ERROR(Ask(*curve->info, point.setting, &(*stages)[s],
                          &all[n].probed, &changed));
    }
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
  if (draws == 0) return curves;
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
      ASSIGN_OR_RETURN(const std::string drawn,
                       WithSeed(line, static_cast<uint64_t>(draw)));
      ASSIGN_OR_RETURN(auto stages, Stages::Make(drawn, kCurveBase, {}));
      std::vector<Status> statuses(curves.size());
      ForEach(static_cast<int64_t>(curves.size()), threads, [&](int64_t n) {
        const auto at = static_cast<size_t>(n);
        statuses[at] = Add(&curves[at], stages.get());
      });
      for (const Status& status : statuses) {
        if (!status.ok()) return status;
      }
    }
  }
  return curves;
}

Json CurvesJson(const std::vector<DialCurve>& curves) {
  Json all = Json::array();
  for (const DialCurve& curve : curves) {
    Json points = Json::array();
    for (const CurvePoint& point : curve.points) {
      points.push_back({{"setting", point.setting},
                        {"cases", point.own.total},
                        {"found_on_own_inputs", point.own.hits},
                        {"found", point.probed.hits}});
    }
    all.push_back({{"mutant", curve.info->name},
                   {"dial", curve.info->dial},
                   {"points", points}});
  }
  return all;
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
