#include "bench/cli/plan.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "bench/goals.h"
#include "verify/base/io/files.h"
#include "verify/base/status_macros.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::bench::cli {
namespace {

constexpr const char* kDefaultCandidate = "builtin:optimized";

// Goals of all case files, by file and line.
using FileGoals = std::map<std::string, Goals>;

Result<FileGoals> ReadGoals(const std::vector<std::string>& files) {
  FileGoals all;
  for (const std::string& file : files) {
    if (file == "-") continue;  // read once, as cases
    ASSIGN_OR_RETURN(const auto bytes,
                     verify::ReadWholeFile(file, verify::kMaxCaseFile));
    ASSIGN_OR_RETURN(
        Goals goals,
        ParseGoals(std::string_view(reinterpret_cast<const char*>(bytes.data()),
                                    bytes.size()),
                   file));
    all[file] = std::move(goals);
  }
  return all;
}

// One job a call: a sequence is what a stale cache shows, and no time.
Status CheckJob(const verify::Job& job) {
  if (job.sequence.size() == 1) return {};
  return Status::Error("bench: '" + verify::MinimalLine(job.sequence) +
                       "' is a sequence of calls; time its cases one by one");
}

bool IsTimed(const verify::Job& job) {
  return job.sequence[0].expect == verify::Expect::kPass;
}

// Specs as typed, with every tile as a row more.
Result<std::vector<std::string>> WithTiles(const Arguments& a) {
  std::vector<std::string> specs = a.candidates;
  if (specs.empty()) specs = {kDefaultCandidate};
  const std::vector<std::string> bare = specs;
  for (const std::string& tile : a.tiles) {
    for (const std::string& spec : bare) {
      if (!spec.starts_with(kDefaultCandidate)) {
        return Status::Error("--tile: candidate '" + spec +
                             "' takes no tile; only builtin:optimized does");
      }
      specs.push_back(spec + ",tile=" + tile);
      ASSIGN_OR_RETURN(const auto parsed, verify::ParseCandidate(specs.back()));
    }
  }
  return specs;
}

// Foreign kernels are judged by what they claim.
Status CheckProfile(const Arguments& a, const std::string& spec) {
  ASSIGN_OR_RETURN(const auto candidate, verify::ParseCandidate(spec));
  if (candidate->traits().ours || !a.profile.empty()) return {};
  std::string known;
  for (const verify::NumericProfile& profile : verify::BuiltinProfiles()) {
    known += " " + profile.name;
  }
  return Status::Error("candidate '" + spec +
                       "' needs --profile, the numeric contract it claims; "
                       "built in:" +
                       known + "; or a file (docs/profiles.md)");
}

class Planner {
 public:
  explicit Planner(const Arguments& arguments) : a_(arguments) {}

  Status Add(const verify::Job& job, const std::vector<Goal>& goals) {
    if (goals.empty()) return AddPlain(job);
    for (const Goal& goal : goals) {
      Ask ask = {job, goal.spec, "", goal, std::nullopt, ""};
      if (ask.spec.empty()) ask.spec = specs_[0];
      if (NeedsNoRow(goal)) {
        plan_.planned.push_back(std::move(ask));
        continue;
      }
      RETURN_IF_ERROR(AddRow(std::move(ask)));
    }
    return {};
  }

  Status Start() {
    ASSIGN_OR_RETURN(specs_, WithTiles(a_));
    for (const std::string& spec : specs_) {
      RETURN_IF_ERROR(CheckProfile(a_, spec));
    }
    return {};
  }

  Plan& plan() { return plan_; }

 private:
  Status AddPlain(const verify::Job& job) {
    for (const std::string& spec : specs_) {
      if (!a_.sweeps.empty()) break;
      RETURN_IF_ERROR(AddRow({job, spec, "", std::nullopt, std::nullopt, ""}));
    }
    for (const std::string& name : a_.sweeps) {
      RETURN_IF_ERROR(AddSweep(job, name));
    }
    return {};
  }

  Status AddSweep(const verify::Job& job, const std::string& name) {
    ASSIGN_OR_RETURN(const Axis axis, ParseAxis(name));
    for (const std::string& spec : specs_) {
      ASSIGN_OR_RETURN(const auto scene, SceneOf(job));
      ASSIGN_OR_RETURN(const auto points, PointsOf(axis, *scene, spec));
      const size_t sweep = plan_.axes.size();
      plan_.axes.push_back(axis);
      for (const Point& point : points) {
        RETURN_IF_ERROR(
            AddRow({job, point.spec, "", std::nullopt, sweep, point.name}));
      }
    }
    return {};
  }

  Status AddRow(Ask ask) {
    ASSIGN_OR_RETURN(const auto scene, SceneOf(ask.job));
    const auto candidate = verify::ParseCandidate(ask.spec);
    if (candidate.ok() && !candidate.value()->traits().ours)
      ask.profile = a_.profile;
    ASSIGN_OR_RETURN(Row row, Row::Open(std::move(ask), scene));
    plan_.rows.push_back(std::move(row));
    return {};
  }

  Result<std::shared_ptr<Scene>> SceneOf(const verify::Job& job) {
    const std::string line = verify::MinimalLine(job.sequence[0]);
    std::shared_ptr<Scene>& known = scenes_[line];
    if (known != nullptr) return known;
    Result<std::shared_ptr<Scene>> scene = OpenScene(job);
    if (scene.ok()) known = scene.value();
    return scene;
  }

  const Arguments& a_;
  std::vector<std::string> specs_;
  std::map<std::string, std::shared_ptr<Scene>> scenes_;
  Plan plan_;
};

}  // namespace

Result<Plan> MakePlan(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto jobs, verify::cli::ReadJobs(arguments.cases));
  ASSIGN_OR_RETURN(const FileGoals goals, ReadGoals(arguments.cases.files));
  Planner planner(arguments);
  RETURN_IF_ERROR(planner.Start());
  for (const verify::Job& job : jobs) {
    RETURN_IF_ERROR(CheckJob(job));
    if (!IsTimed(job)) continue;
    std::vector<Goal> own;
    const std::string file = job.origin.file ? *job.origin.file : "";
    const auto of_file = goals.find(file);
    if (of_file != goals.end()) {
      const auto of_line = of_file->second.of_line.find(job.origin.number);
      if (of_line != of_file->second.of_line.end()) own = of_line->second;
    }
    RETURN_IF_ERROR(planner.Add(job, own));
  }
  for (const auto& [file, of_file] : goals) {
    for (const Goal& goal : of_file.alone) {
      planner.plan().alone.push_back(goal);
    }
  }
  if (planner.plan().rows.empty() && planner.plan().planned.empty() &&
      planner.plan().alone.empty()) {
    return Status::Error(
        "bench: every case is expected not to pass, so there "
        "is nothing to time");
  }
  return std::move(planner.plan());
}

}  // namespace lockstep::bench::cli
