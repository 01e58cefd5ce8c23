#include "verify/selftest/trialist.h"

#include <utility>

#include "verify/base/compare.h"
#include "verify/base/status_macros.h"
#include "verify/judge/truth.h"
#include "verify/ops/envelopes.h"

namespace lockstep::verify {
Found Judge(const AllowedResults& allowed, const OutputSet& outputs) {
  Found found;
  for (const EnvelopeResult& result : allowed.Judge(outputs)) {
    if (result.Suspicious()) {
      found.unlikely = true;
      found.what += " " + std::to_string(result.unlikely) + " of " +
                    result.tensor + " unlikely";
    }
    if (result.Passed()) continue;
    found.outside = true;
    found.what += " " + std::to_string(result.outside) + " of " + result.tensor;
  }
  return found;
}

Case InLane(Case c, const NumericProfile& profile) {
  const auto set_lane = c.op->text.set_lane;
  if (profile.lane && !profile.exact && set_lane != nullptr)
    set_lane(*profile.lane, &c);
  return c;
}

Result<std::unique_ptr<Trial>> OpenTrial(const Case& c,
                                         const NumericProfile& profile) {
  ASSIGN_OR_RETURN(const TrialRow op, TrialRowOf(c));
  return op.open(c, OptionsFor(&profile));
}

std::vector<int64_t> AllRows(const Trial& trial) {
  std::vector<int64_t> rows(static_cast<size_t>(trial.rows()));
  for (size_t n = 0; n < rows.size(); ++n) rows[n] = static_cast<int64_t>(n);
  return rows;
}

std::vector<double> Numbers(const Answer& answer, size_t output) {
  const OutputSpec& spec = answer.trial->outputs()[output];
  const LaneView view = answer.outputs.tensors[output].const_view();
  std::vector<double> numbers;
  for (int64_t line = 0; line < spec.lines(); ++line) {
    for (int64_t c = 0; c < spec.shape[3]; ++c) {
      numbers.push_back(
          ElementValue(spec.lane, ElementBits(view, LineIndex(spec, line, c))));
    }
  }
  return numbers;
}

Status Trialist::Fill(const Case& c, const Trial& trial,
                      const OutputSet& outputs) {
  Execution execution;
  const CaseRequest request{&c, "", 1, 1};
  const RunOutcome ran =
      subject_.kernel->Run(request, trial, {}, outputs, &execution);
  return ran.state == RunOutcome::State::kRan ? Status()
                                              : Status::Error(ran.message);
}

Result<Answer> Trialist::Run(const Case& c) {
  ASSIGN_OR_RETURN(auto trial, OpenTrial(c, profile()));
  ASSIGN_OR_RETURN(auto outputs, trial->Allocate(0));
  RETURN_IF_ERROR(Fill(c, *trial, outputs));
  return Answer{std::move(trial), std::move(outputs)};
}

Found Trialist::Bits(const Answer& answer) const {
  const Truth truth = ComputeTruth(*answer.trial, false, 1);
  Found found;
  for (const Comparison& comparison :
       CompareWithTruth(*answer.trial, truth, answer.outputs, nullptr)) {
    if (comparison.Over() == 0) continue;
    found.outside = true;
    found.what += " bits differ";
  }
  return found;
}

Found Trialist::Envelope(const Answer& answer) const {
  const auto allowed =
      answer.trial->envelopes().Envelope(profile(), AllRows(*answer.trial), 1);
  return allowed == nullptr ? Found() : Judge(*allowed, answer.outputs);
}

Result<Found> Trialist::Probes(const Case& c, std::optional<uint64_t> which) {
  ASSIGN_OR_RETURN(const TrialRow op, TrialRowOf(c));
  const std::vector<Case> probes = op.probe_cases(c, profile());
  for (size_t n = 0; n < probes.size(); ++n) {
    if (which && n != *which % probes.size()) continue;
    ASSIGN_OR_RETURN(const Answer answer, Run(probes[n]));
    const auto allowed =
        answer.trial->envelopes().Probe(profile(), AllRows(*answer.trial));
    if (allowed == nullptr) continue;
    ++probes_;
    Found found = Judge(*allowed, answer.outputs);
    if (found.outside) return found;
  }
  return Found();
}

Result<Found> Trialist::Invariant(const Case& c, const Answer& answer) {
  // What was never stored to holds another poison in each.
  const PoisonBits poison[] = {kFirstPoison, kSecondPoison};
  Found found;
  for (const PoisonBits& before : poison) {
    ASSIGN_OR_RETURN(auto outputs, answer.trial->Allocate(0));
    PoisonOutputs(outputs, before);
    RETURN_IF_ERROR(Fill(c, *answer.trial, outputs));
    for (size_t t = 0; t < outputs.tensors.size(); ++t) {
      const LaneTensor& tensor = outputs.tensors[t];
      const Comparison comparison = CompareTensors(
          answer.trial->outputs()[t].name,
          answer.outputs.tensors[t].const_view(), tensor.const_view());
      found.outside = found.outside || comparison.Over() > 0 ||
                      !tensor.buffer.GuardsIntact();
    }
  }
  return found;
}

}  // namespace lockstep::verify
