#include "verify/ops/mamba3_scan/runs_trial.h"

#include <algorithm>
#include <set>
#include <utility>

#include "optimized/plan.h"
#include "verify/case/mamba3_scan/line.h"

namespace lockstep::verify {

std::vector<Case> ScanProbeCases(const Case& c,
                                 const std::function<bool(ProbeKind)>& of_use) {
  std::vector<Case> cases;
  if (ProbeOf(c.Get<Mamba3ScanCase>())) return cases;
  for (const ProbeInfo& probe : Probes()) {
    if (!of_use(probe.kind)) continue;
    Case changed = c;
    auto& scan = changed.Get<Mamba3ScanCase>();
    scan.fill = {{.kind = FillKind::kProbe, .probe = probe.kind}};
    scan.a.reset();
    scan.dt.reset();
    if (!AlwaysSure(scan)) scan.tau.reset();
    scan.rate.reset();
    scan.poison.reset();
    if (ValidateCase(changed).ok()) cases.push_back(std::move(changed));
  }
  return cases;
}

namespace {

// The outputs, laid out in memory as the case asks.
std::vector<OutputSpec> LaidOut(const Mamba3ScanCase& scan,
                                std::vector<OutputSpec> outputs) {
  for (OutputSpec& spec : outputs) {
    if (AxisOf(spec, 1).starts_with("t")) {
      const auto s =
          TokenShape(scan, spec.shape[2], spec.shape[1] / scan.problem.length,
                     spec.shape[3])
              .strides;
      spec.strides = {s[0], s[2], s[1], s[3]};
    } else if (AxisOf(spec, 2) == "t") {
      spec.strides = TimeShape(scan).strides;
    }
  }
  return outputs;
}

}  // namespace

RunsTrial::RunsTrial(const Case& request, Mamba3ScanData data,
                     std::vector<OutputSpec> outputs)
    : WholeTrial(LaidOut(request.Get<Mamba3ScanCase>(), std::move(outputs))),
      case_(request),
      request_(request.Get<Mamba3ScanCase>()),
      data_(std::move(data)),
      runs_(reference::ListRuns(data_.problem, data_.inputs)) {}

bool RunsTrial::HasOutput(const std::string& name) const {
  return std::any_of(outputs().begin(), outputs().end(),
                     [&](const OutputSpec& spec) { return spec.name == name; });
}

int64_t RunsTrial::LongestRun() const {
  int64_t longest = 1;
  for (const auto& run : runs_) {
    longest = std::max(longest, run.end - run.first);
  }
  return longest;
}

std::vector<Fact> RunsTrial::Facts() const {
  const auto empty =
      std::count_if(runs_.begin(), runs_.end(),
                    [](const auto& run) { return run.first == run.end; });
  const auto present = [](bool b) { return b ? "present" : "absent"; };
  return {
      {"runs", std::to_string(runs_.size()), true},
      {"runs_empty", std::to_string(empty), true},
      {"group", std::to_string(data_.problem.group()), true},
      {"ranks", std::to_string(data_.problem.ranks), true},
      {"angles", std::to_string(data_.problem.angles), true},
      {"regime", RegimeName(request_.regime)},
      {"initial_carry", present(data_.problem.carry_in)},
  };
}

void RunsTrial::ReferenceRow(int64_t row, RowBits* bits) const {
  RowBy({data_.problem, data_.inputs, data_}, row, bits);
}

std::vector<int64_t> RunsTrial::TellingRows() const {
  const int64_t heads = data_.problem.heads;
  const auto runs = static_cast<int64_t>(runs_.size());
  const std::set<int64_t> of_runs = {0, runs - 1, runs / 2};
  const std::set<int64_t> of_heads = {0, heads - 1, heads / 2};
  std::vector<int64_t> rows;
  for (const int64_t run : of_runs) {
    for (const int64_t head : of_heads) rows.push_back(RowOf(run, head));
  }
  return rows;
}

std::vector<Variation> RunsTrial::OptimizedVariations(
    const Variation& fixed) const {
  std::vector<Variation> variations;
  const auto add = [&](const char* check, auto&& change) {
    Variation how = fixed;
    how.check = check;
    change(how);
    variations.push_back(std::move(how));
  };
  std::vector<std::string> targets;
  for (const optimized::Target& target : optimized::Targets()) {
    if (!target.supported) continue;
    if (fixed.target && *fixed.target != target.name) continue;
    targets.push_back(target.name);
    if (!fixed.target) {
      add("targets", [&](Variation& how) { how.target = target.name; });
    }
  }
  std::vector<int> threads = {1, 2, 3};
  if (fixed.threads) threads = {*fixed.threads};
  int64_t n = 0;
  for (const int count : threads) {
    if (!fixed.threads) {
      add("threads", [&](Variation& how) { how.threads = count; });
    }
    for (const std::string& target : targets) {
      ++n;
      add("combined", [&](Variation& how) {
        how.target = target;
        how.threads = count;
        if (n % 3 != 0) how.shift = kShifts[n % 3 - 1];
      });
    }
  }
  return variations;
}

std::string RunsTrial::WhyUndeclared(const NumericProfile& profile) const {
  if (!profile.exact && !profile.scan) return OpName(case_);
  if (profile.lane && *profile.lane != data_.problem.lane) {
    return std::string("lane=") + LaneName(data_.problem.lane);
  }
  if (!profile.exact && data_.problem.rotated_lane == Lane::kAdded) {
    return std::string("rot=") + LaneName(data_.problem.rotated_lane);
  }
  return "";
}

std::vector<int64_t> RunsTrial::OpenLines(const NumericProfile& profile,
                                          size_t output) const {
  std::vector<int64_t> open;
  if (!profile.scan) return open;
  const bool of_empty = profile.scan->empty_run == EmptyRun::kUnspecified;
  const auto rows = static_cast<int64_t>(runs_.size()) * RowsPerRun();
  for (int64_t row = 0; row < rows; ++row) {
    const reference::Run& run = runs_[static_cast<size_t>(row / RowsPerRun())];
    std::vector<int64_t> lines;
    if (run.first == run.end) {
      if (of_empty) lines = Lines(output, row);
    } else if (profile.masked_nan_safe == MaskedNan::kNo) {
      lines = ReachedLines(profile, output, row);
    }
    open.insert(open.end(), lines.begin(), lines.end());
  }
  return open;
}

std::vector<int64_t> RunsTrial::SegmentStarts(
    size_t output, const std::array<int64_t, 4>& at) const {
  std::vector<int64_t> starts;
  const OutputSpec& spec = outputs()[output];
  if (!AxisOf(spec, spec.down).starts_with("t")) return starts;
  for (const reference::Run& run : runs_) {
    if (run.row == at[0] && run.first > 0 && run.first < run.end) {
      starts.push_back(run.first *
                       (spec.shape[spec.down] / data_.problem.length));
    }
  }
  return starts;
}

}  // namespace lockstep::verify
