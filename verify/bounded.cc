#include "verify/bounded.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "verify/invariance.h"
#include "verify/power.h"
#include "verify/truth.h"

namespace lockstep::verify {
namespace {

std::string Decimal(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", x);
  return text;
}

std::string DescribeSet(const ValueSet& set) {
  std::string text;
  if (set.lo == set.hi) {
    text = Decimal(set.lo);
  } else if (set.lo < set.hi) {
    text = Decimal(set.lo) + " .. " + Decimal(set.hi);
  }
  if (set.nan) text += text.empty() ? "NaN" : " or NaN";
  return text;
}

std::string DescribeIndex(const OutputSpec& spec,
                          const std::array<int64_t, 4>& index) {
  std::string text;
  for (size_t axis = 0; axis < 4; ++axis) {
    if (spec.axes[axis] == nullptr) continue;
    text += std::string(text.empty() ? "" : " ") + spec.axes[axis] + "=" +
            std::to_string(index[axis]);
  }
  return "[" + text + "]";
}

// The output of that name.
const OutputSpec& SpecOf(const Trial& trial, const std::string& tensor) {
  const auto& specs = trial.outputs();
  const auto found =
      std::find_if(specs.begin(), specs.end(),
                   [&](const OutputSpec& spec) { return spec.name == tensor; });
  return found == specs.end() ? specs[0] : *found;
}

// All rows, or where that is too much the ends and an even sample.
std::vector<int64_t> ProbeRows(const Trial& trial) {
  const int64_t rows = trial.rows();
  const int64_t most =
      std::max<int64_t>(kProbeElements / trial.outputs()[0].shape[3], 64);
  std::vector<int64_t> chosen;
  if (rows > most) {
    chosen = trial.TellingRows();
    chosen.resize(std::min(chosen.size(), static_cast<size_t>(most / 2)));
  }
  const int64_t step = rows > most ? rows / (most / 2) + 1 : 1;
  for (int64_t row = 0; row < rows; row += step) chosen.push_back(row);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

// One probe: its own trial, a run, the verdict. False where probing ends.
bool JudgeProbe(const BoundedRequest& request, const Op& op, const Case& probe,
                CaseResult* result) {
  const std::string line = MinimalLine(probe);
  const auto broken = [&](Tier tier, const std::string& message) {
    result->findings.push_back(
        {tier, "probes", message, "", std::nullopt, line, std::nullopt});
    return false;
  };
  Result<std::unique_ptr<Trial>> opened = op.open(probe, *request.materialise);
  if (!opened.ok()) return broken(Tier::kSelf, opened.message());
  const Trial& trial = *opened.value();
  const auto allowed = trial.Probe(*request.profile, ProbeRows(trial));
  if (allowed == nullptr) return true;
  const int64_t shift = request.candidate->Fixed().shift;
  Result<OutputSet> outputs = trial.Allocate(shift);
  if (!outputs.ok()) return broken(Tier::kSelf, outputs.message());
  const CaseRequest asked = {&probe, line, request.request->number,
                             request.request->total};
  const GuardedRun run =
      RunGuarded(*request.candidate, asked, trial, request.candidate->Fixed(),
                 kFirstPoison, outputs.value());
  ++result->runs;
  std::vector<Finding> broke = GuardFindings(run, "");
  for (Finding& finding : broke) {
    finding.line = line;
    result->findings.push_back(std::move(finding));
  }
  if (!broke.empty()) return false;
  if (run.outcome.state != RunOutcome::State::kRan) {
    return broken(Tier::kProbes, run.outcome.message);
  }
  const size_t before = result->findings.size();
  JudgeByAllowed(trial, *allowed, outputs.value(), Tier::kProbes, line, result);
  RejectMore(trial, *allowed, &result->power);
  return result->findings.size() == before;
}

}  // namespace

std::string DescribeEnvelope(const OutputSpec& spec,
                             const EnvelopeResult& result) {
  std::string text;
  const auto add = [&](const char* word, const EnvelopeWitness& witness) {
    const Bounds& bounds = witness.bounds;
    text += word + DescribeIndex(spec, witness.index) + ": produced " +
            Decimal(witness.produced) + ", allowed " +
            DescribeSet(bounds.allowed);
    if (std::isfinite(bounds.error)) {
      text += ", truth " + Decimal(bounds.truth);
    }
    text += "; ";
  };
  if (result.first) add((result.tensor + " at ").c_str(), *result.first);
  if (result.furthest && result.furthest->index != result.first->index) {
    add("furthest at ", *result.furthest);
  }
  text += std::to_string(result.outside) + " of " +
          std::to_string(result.expected) + " elements outside";
  const std::string dominant = result.Dominant();
  if (dominant.empty()) return text;
  if (std::isfinite(result.worst)) {
    text += ", at most " + Decimal(std::round(result.worst * 100) / 100) +
            " x the bound";
  }
  return text + "; of the bound " + dominant;
}

void JudgeByAllowed(const Trial& trial, const AllowedResults& allowed,
                    const OutputSet& produced, Tier tier,
                    const std::string& line, CaseResult* result) {
  for (EnvelopeResult& found : allowed.Judge(produced)) {
    const OutputSpec& spec = SpecOf(trial, found.tensor);
    if (!found.Passed()) {
      result->findings.push_back({tier, found.tensor,
                                  DescribeEnvelope(spec, found), "",
                                  std::nullopt, line, found});
    } else if (found.Suspicious()) {
      result->findings.push_back(
          {Tier::kCalibrated, found.tensor,
           found.tensor + ": " + std::to_string(found.unlikely) + " of " +
               std::to_string(found.expected) +
               " elements further from the truth than random roundings "
               "carry, within the bound",
           "", std::nullopt, line, found});
    }
    result->judged.push_back(
        {tier, line.empty() ? result->line : line, std::move(found)});
  }
}

void JudgeOwnProbe(const Trial& trial, const NumericProfile& profile,
                   const OutputSet& produced, CaseResult* result) {
  const auto allowed = trial.Probe(profile, ProbeRows(trial));
  if (allowed == nullptr) return;
  const size_t before = result->findings.size();
  JudgeByAllowed(trial, *allowed, produced, Tier::kProbes, "", result);
  RejectMore(trial, *allowed, &result->power);
  result->checks.push_back({"probes", result->findings.size() == before, 1});
}

void JudgeProbes(const BoundedRequest& request, CaseResult* result) {
  if (!request.candidate->Repeatable()) return;
  const Case& call = *request.request->call;
  const Result<Op> op = FindOp(call);
  if (!op.ok()) return;
  int64_t runs = 0;
  bool sound = true;
  for (const Case& probe : op->probe_cases(call, *request.profile)) {
    if (!sound || (request.stop != nullptr && *request.stop)) break;
    sound = JudgeProbe(request, op.value(), probe, result);
    ++runs;
  }
  if (runs > 0) result->checks.push_back({"probes", sound, runs});
}

}  // namespace lockstep::verify
