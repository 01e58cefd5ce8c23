#include "verify/judge/invariance.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/judge/answers.h"
#include "verify/judge/runs/again.h"

namespace lockstep::verify {
namespace {

std::string At(const OutputSpec& spec, const ElementWitness& witness) {
  std::string text = "[";
  for (size_t axis = 0; axis < 4; ++axis) {
    if (spec.axes[axis] == nullptr) continue;
    if (axis > 0) text += " ";
    text += std::string(spec.axes[axis]) + "=" +
            std::to_string(witness.index[axis]);
  }
  return text + "]";
}

std::string DescribeWitness(const OutputSpec& spec,
                            const ElementWitness& witness) {
  std::string text = At(spec, witness) + " expected " +
                     FormatElement(spec.lane, witness.expected) + ", produced ";
  if (witness.unwritten) return text + "nothing: never written";
  text += FormatElement(spec.lane, witness.produced);
  if (witness.pair == PairClass::kFinite) {
    text += ", " + std::to_string(witness.ulp) + " ulp";
  }
  return text;
}

// Equal bytes are equal tensors; padding holds the same poison in both. Of
// sparse ones, pages without elements are not touched.
bool SameBytes(const LaneTensor& a, const LaneTensor& b) {
  if (a.buffer.bytes() != b.buffer.bytes()) return false;
  return std::ranges::all_of(a.buffer.ranges(), [&](const ByteRange& range) {
    return std::memcmp(a.buffer.data() + range.begin,
                       b.buffer.data() + range.begin,
                       static_cast<size_t>(range.bytes())) == 0;
  });
}

Check& FindCheck(CaseResult* result, const std::string& name) {
  for (Check& check : result->checks) {
    if (check.name == name) return check;
  }
  result->checks.push_back({name, true, 0});
  return result->checks.back();
}

// Trials by shift; only the last shifted one is kept, inputs may be large.
class ShiftedTrials {
 public:
  explicit ShiftedTrials(const InvarianceRequest& request)
      : request_(request),
        base_shift_(request.candidate->traits().fixed.shift) {}

  Result<const Trial*> Get(int64_t shift) {
    if (shift == base_shift_ || request_.candidate->traits().apart) {
      return request_.trial;
    }
    if (trial_ == nullptr || shift != shift_) {
      trial_.reset();
      ASSIGN_OR_RETURN(trial_, request_.reopen(shift));
      shift_ = shift;
    }
    return static_cast<const Trial*>(trial_.get());
  }

 private:
  const InvarianceRequest& request_;
  int64_t base_shift_;
  int64_t shift_ = -1;
  std::unique_ptr<Trial> trial_;
};

// What the author of a right kernel may say, whose library adds in another
// order at another address.
std::string WayOn(const Candidate& candidate, const Variation& how) {
  const bool places = how.check == "alignment" || how.check == "addresses";
  if (!places || !candidate.traits().apart) return "";
  return "; if its sums may depend on addresses, say `repeat = no` in the "
         "profile, or the `alignment` that the kernel needs";
}

// False where the kernel gives other bits without a variation, too.
bool CompareVariation(const InvarianceRequest& request, const Variation& how,
                      const std::string& spec, const OutputSet& outputs,
                      CaseResult* result) {
  const Trial& trial = *request.trial;
  const bool known = !FindCheck(result, how.check).passed;
  if (request.allowed != nullptr) {
    if (!known) {
      JudgeAgain(trial, *request.allowed, *request.base, outputs, how.check,
                 "run as " + spec, spec, result);
    }
    return true;
  }
  const std::optional<Comparison> difference =
      FirstDifference(trial, *request.base, outputs);
  if (difference && !known &&
      IsARace(*request.candidate, *request.request, trial, *request.base,
              result)) {
    return false;
  }
  NoteCheck(result, how.check, !difference.has_value());
  if (difference && !known) {
    result->findings.push_back(
        {Tier::kInvariance, how.check,
         "other bits than the first run, as " + spec + ": " +
             DescribeComparison(OutputNamed(trial, difference->tensor),
                                *difference) +
             WayOn(*request.candidate, how),
         spec, difference});
  }
  return true;
}

// One variation; false if the candidate or the judge broke, which ends all.
bool RunVariation(const InvarianceRequest& request, const Variation& how,
                  ShiftedTrials* trials, CaseResult* result) {
  const std::string spec = request.candidate->Spec(how);
  const Result<const Trial*> trial = trials->Get(how.shift);
  if (!trial.ok()) {
    result->findings.push_back(
        {Tier::kSelf, "inputs", trial.message(), spec, std::nullopt});
    return false;
  }
  OutputSet shifted;
  const OutputSet* outputs = request.scratch;
  if (how.shift != request.candidate->traits().fixed.shift) {
    Result<OutputSet> allocated = trial.value()->Allocate(how.shift);
    if (!allocated.ok()) {
      result->findings.push_back(
          {Tier::kSelf, "outputs", allocated.message(), spec, std::nullopt});
      return false;
    }
    shifted = std::move(allocated.value());
    outputs = &shifted;
  }
  const GuardedRun run =
      RunGuarded(*request.candidate, *request.request, *trial.value(), how,
                 kSecondPoison, *outputs);
  ++result->runs;
  if (!CannotTry(*request.candidate, "guard_zones")) {
    NoteCheck(result, "guard_zones", run.guards_intact);
    NoteCheck(result, "inputs_unchanged", run.inputs_unchanged);
  }
  const std::vector<Finding> broken = GuardFindings(run, spec);
  if (!broken.empty()) {
    result->findings.insert(result->findings.end(), broken.begin(),
                            broken.end());
    return false;
  }
  if (run.outcome.state == RunOutcome::State::kAbsent) {
    NoteUnanswered(how.check, run.outcome, result);
    return true;
  }
  if (run.outcome.state == RunOutcome::State::kUnsupported) {
    result->findings.push_back(
        {Tier::kPower, how.check,
         "ran, but not as " + spec + ": " + run.outcome.message, spec,
         std::nullopt});
    return false;
  }
  FindUntrue(run.execution, spec, result);
  if (!run.execution.target.empty() &&
      std::find(result->targets.begin(), result->targets.end(),
                run.execution.target) == result->targets.end()) {
    result->targets.push_back(run.execution.target);
  }
  return CompareVariation(request, how, spec, *outputs, result);
}

}  // namespace

bool CannotTry(const Candidate& candidate, const std::string& check) {
  const std::vector<std::string> checks = candidate.traits().cannot_try;
  return std::find(checks.begin(), checks.end(), check) != checks.end();
}

void NoteCheck(CaseResult* result, const std::string& name, bool passed) {
  Check& check = FindCheck(result, name);
  ++check.runs;
  check.passed = check.passed && passed;
}

const OutputSpec& OutputNamed(const Trial& trial, const std::string& name) {
  const auto& specs = trial.outputs();
  const auto found =
      std::find_if(specs.begin(), specs.end(),
                   [&](const OutputSpec& spec) { return spec.name == name; });
  return found == specs.end() ? specs[0] : *found;
}

std::string DescribeComparison(const OutputSpec& spec,
                               const Comparison& comparison) {
  if (!comparison.mismatch.empty()) {
    return comparison.tensor + ": " + comparison.mismatch;
  }
  std::string text = comparison.tensor + " differs in " +
                     std::to_string(comparison.Over()) + " of " +
                     std::to_string(comparison.expected_elements) + " elements";
  if (comparison.unwritten > 0) {
    text += ", " + std::to_string(comparison.unwritten) + " never written";
  }
  if (comparison.max_ulp > 0) {
    text += ", max " + std::to_string(comparison.max_ulp) + " ulp";
  }
  if (comparison.first) {
    text += "; first " + DescribeWitness(spec, *comparison.first);
  }
  if (comparison.worst && comparison.first &&
      comparison.worst->index != comparison.first->index) {
    text += "; worst " + DescribeWitness(spec, *comparison.worst);
  }
  return text;
}

GuardedRun RunGuarded(Candidate& candidate, const CaseRequest& request,
                      const Trial& trial, const Variation& how,
                      PoisonBits poison, const OutputSet& outputs) {
  GuardedRun run;
  PoisonOutputs(outputs, poison);
  const bool here = !candidate.traits().apart;
  const std::string before = here ? trial.StorageDigest() : "";
  const auto start = std::chrono::steady_clock::now();
  run.outcome = candidate.Run(request, trial, how, outputs, &run.execution);
  run.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  run.inputs_unchanged = !here || trial.StorageDigest() == before;
  for (const LaneTensor& tensor : outputs.tensors) {
    run.guards_intact = run.guards_intact && tensor.buffer.GuardsIntact() &&
                        PaddingIntact(tensor);
  }
  return run;
}

std::vector<Finding> GuardFindings(const GuardedRun& run,
                                   const std::string& spec) {
  std::vector<Finding> findings;
  const auto add = [&](const char* check, const std::string& message) {
    findings.push_back({Tier::kCandidate, check, message, spec, std::nullopt});
  };
  if (run.outcome.state == RunOutcome::State::kError) {
    add(run.outcome.check.empty() ? "run" : run.outcome.check.c_str(),
        run.outcome.message);
  }
  if (!run.guards_intact) {
    add("guard_zones", "wrote outside its outputs");
  }
  if (!run.inputs_unchanged) {
    add("inputs_unchanged", "changed its inputs");
  }
  return findings;
}

void FindUntrue(const Execution& execution, const std::string& variation,
                CaseResult* result) {
  const bool known = std::any_of(
      result->findings.begin(), result->findings.end(),
      [](const Finding& finding) { return finding.check == "receipt"; });
  if (execution.untrue.empty() || known) return;
  result->findings.push_back({Tier::kExecution, "receipt",
                              "its receipt is not true: " + execution.untrue,
                              variation, std::nullopt});
}

std::optional<Comparison> FirstDifference(const Trial& trial,
                                          const OutputSet& base,
                                          const OutputSet& other) {
  for (size_t t = 0; t < trial.outputs().size(); ++t) {
    if (SameBytes(base.tensors[t], other.tensors[t])) continue;
    Comparison comparison =
        CompareTensors(trial.outputs()[t].name, base.tensors[t].const_view(),
                       other.tensors[t].const_view());
    if (!comparison.Passed()) return comparison;
  }
  return std::nullopt;
}

std::vector<Variation> ChooseVariations(std::vector<Variation> all,
                                        int64_t work, uint64_t salt) {
  const int64_t affordable =
      std::max(kVariationWork / std::max<int64_t>(work, 1), kMinVariations);
  std::vector<Variation> chosen;
  std::vector<Variation> combined;
  for (Variation& how : all) {
    (how.check == "combined" ? combined : chosen).push_back(std::move(how));
  }
  if (static_cast<int64_t>(chosen.size()) > affordable) {
    chosen.resize(static_cast<size_t>(affordable));
  }
  const auto left = static_cast<size_t>(affordable) - chosen.size();
  if (left >= combined.size()) {
    std::move(combined.begin(), combined.end(), std::back_inserter(chosen));
  } else {
    for (size_t n = 0; n < left; ++n) {
      const size_t at = (salt + n * combined.size() / left) % combined.size();
      chosen.push_back(combined[at]);
    }
  }
  // Together by shift: a shifted trial is opened once.
  std::vector<Variation> ordered;
  std::set<int64_t> shifts;
  for (const Variation& how : chosen) shifts.insert(how.shift);
  for (const int64_t shift : shifts) {
    for (const Variation& how : chosen) {
      if (how.shift == shift) ordered.push_back(how);
    }
  }
  return ordered;
}

void JudgeInvariance(const InvarianceRequest& request, CaseResult* result) {
  const Variation& fixed = request.candidate->traits().fixed;
  std::vector<Variation> all;
  const bool placed = !CannotTry(*request.candidate, "alignment");
  for (const int64_t shift : kShifts) {
    if (shift == fixed.shift || !placed) continue;
    Variation how = fixed;
    how.check = "alignment";
    how.shift = shift;
    all.push_back(std::move(how));
  }
  for (Variation& how : request.candidate->Variations(*request.trial)) {
    all.push_back(std::move(how));
  }
  all = PickSome(std::move(all), request.most, request.salt);
  const int64_t work = request.trial->rows() * request.trial->RowCost();
  ShiftedTrials trials(request);
  for (const Variation& how :
       ChooseVariations(std::move(all), work, request.salt)) {
    if (request.stop != nullptr && *request.stop) return;
    if (!RunVariation(request, how, &trials, result)) return;
  }
}

}  // namespace lockstep::verify
