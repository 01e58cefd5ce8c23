#include "verify/ops/mamba3_scan_backward/trial.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "optimized/mamba3_scan_backward.h"
#include "reference/mamba3_scan_backward.h"
#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/inputs/mamba3_scan_backward.h"
#include "verify/inputs/mamba3_scan_pick.h"
#include "verify/ops/backends.h"

namespace lockstep::verify {

std::vector<OutputSpec> Mamba3ScanBackwardTrial::Outputs(const Case& c) {
  const auto& scan = c.Get<Mamba3ScanBackwardCase>();
  return GradientSpecs(ToBackwardProblem(scan), CountRuns(scan));
}

Result<std::unique_ptr<Trial>> Mamba3ScanBackwardTrial::Open(
    const Case& c, const MaterialiseOptions& options) {
  ASSIGN_OR_RETURN(Mamba3ScanData data,
                   MaterialiseMamba3ScanBackward(c, options));
  return std::unique_ptr<Trial>(
      std::make_unique<Mamba3ScanBackwardTrial>(c, std::move(data)));
}

Mamba3ScanBackwardTrial::Mamba3ScanBackwardTrial(const Case& request,
                                                 Mamba3ScanData data)
    : RunsTrial(request, std::move(data), Outputs(request)),
      problem_(ToBackwardProblem(request.Get<Mamba3ScanBackwardCase>())) {}

Mamba3ScanBackwardInputs Mamba3ScanBackwardTrial::inputs() const {
  return BackwardInputsOf(data());
}

Mamba3ScanBackwardOutputs Mamba3ScanBackwardTrial::Views(
    const OutputSet& outputs) const {
  return GradientViews(problem_, RunsTrial::outputs(), outputs);
}

std::unique_ptr<Trial> Mamba3ScanBackwardTrial::MakeAnother(
    const Case& request, Mamba3ScanData data) const {
  return std::make_unique<Mamba3ScanBackwardTrial>(request, std::move(data));
}

void Mamba3ScanBackwardTrial::TakeCarry(const OutputSet& done) {
  // Outputs and cotangents have one order; there is no theta without angles.
  size_t t = done.tensors.size() - (data().problem.angles > 0 ? 4 : 3);
  for (auto n = static_cast<size_t>(ScanTensor::kDTheta); n < kScanTensors;
       ++n) {
    if (!data().storage[n].there()) continue;
    const LaneTensor& to = data().storage[n].tensor;
    std::memcpy(to.buffer.data(), done.tensors[t++].buffer.data(),
                static_cast<size_t>(to.buffer.bytes()));
  }
}

KernelInputs Mamba3ScanBackwardTrial::Inputs() const {
  return NameInputs(problem_, inputs());
}

KernelCall Mamba3ScanBackwardTrial::Call(int64_t,
                                         const OutputSet& outputs) const {
  return {Inputs(), NameOutputs(Views(outputs))};
}

std::vector<Fact> Mamba3ScanBackwardTrial::Facts() const {
  std::vector<Fact> facts = RunsTrial::Facts();
  facts.push_back(
      {"carry_cotangent", problem_.carry_grad ? "present" : "absent"});
  return facts;
}

int64_t Mamba3ScanBackwardTrial::FlopPerElement() const {
  const Mamba3ScanProblem& p = problem_.forward;
  const bool again = p.gate || p.norm_epsilon;
  return 4 + (again ? 18 : 16) * p.ranks;
}

std::optional<Work> Mamba3ScanBackwardTrial::CountWork() const {
  const Mamba3ScanProblem& p = problem_.forward;
  int64_t tokens = 0;
  for (const reference::Run& run : runs()) tokens += run.end - run.first;
  const auto units = static_cast<double>(tokens * p.heads);
  return Work{
      units * static_cast<double>(p.state_dim * p.head_dim * FlopPerElement()),
      units, "head_tokens", WorkLane::kF32};
}

int64_t Mamba3ScanBackwardTrial::rows() const {
  const bool weights = std::any_of(
      outputs().begin(), outputs().end(),
      [](const auto& spec) { return PlaceOf(spec) == GradientPlace::kWeight; });
  return RunRows() + (weights ? data().problem.heads : 0);
}

std::pair<int64_t, int64_t> Mamba3ScanBackwardTrial::HeadsOf(
    int64_t row) const {
  const int64_t head = row - RunRows();
  if (OfWeights(row)) return {head, head + 1};
  const int64_t first = row % RowsPerRun() * data().problem.group();
  return {first, first + data().problem.group()};
}

// The lines whose place along every axis is in the row.
std::vector<int64_t> Mamba3ScanBackwardTrial::Lines(size_t output,
                                                    int64_t row) const {
  const OutputSpec& spec = outputs()[output];
  const bool weights = PlaceOf(spec) == GradientPlace::kWeight;
  if (weights != OfWeights(row)) return {};
  const auto [first, end] = HeadsOf(row);
  const int64_t index = weights ? 0 : row / RowsPerRun();
  const reference::Run run =
      weights ? reference::Run() : runs()[static_cast<size_t>(index)];
  std::array<int64_t, 3> from{}, to{};
  for (size_t i = 0; i < 3; ++i) {
    const std::string_view axis = AxisOf(spec, i);
    to[i] = spec.shape[i];
    const auto only = [&](int64_t low, int64_t high) {
      from[i] = low;
      to[i] = high;
    };
    const int64_t ranks = spec.shape[i] / data().problem.length;
    if (axis == "b") only(run.row, run.row + 1);
    if (axis.starts_with("t")) only(run.first * ranks, run.end * ranks);
    if (axis == "h") only(first, end);
    if (axis == "g") only(row % RowsPerRun(), row % RowsPerRun() + 1);
    if (axis == "run") only(index, index + 1);
  }
  std::vector<int64_t> lines;
  for (int64_t i = from[0]; i < to[0]; ++i) {
    for (int64_t j = from[1]; j < to[1]; ++j) {
      for (int64_t k = from[2]; k < to[2]; ++k) {
        lines.push_back((i * spec.shape[1] + j) * spec.shape[2] + k);
      }
    }
  }
  return lines;
}

int64_t Mamba3ScanBackwardTrial::RowCost() const {
  const Mamba3ScanProblem& p = problem_.forward;
  const int64_t token = p.state_dim * p.head_dim * FlopPerElement() / 2;
  const bool weights = rows() > RunRows();
  return token *
         std::max(LongestRun() * p.group(), weights ? p.batch * p.length : 0);
}

std::vector<int64_t> Mamba3ScanBackwardTrial::TellingRows() const {
  std::vector<int64_t> told = RunsTrial::TellingRows();
  if (rows() > RunRows()) {
    told.insert(told.end(), {rows() - 1, RunRows()});
  }
  return told;
}

RunOutcome Mamba3ScanBackwardTrial::RunReference(const OutputSet& outputs,
                                                 Execution* execution) const {
  return RanReference(
      reference::Mamba3ScanBackward(problem_, inputs(), Views(outputs)),
      execution);
}

RunOutcome Mamba3ScanBackwardTrial::RunOptimized(const Variation& how,
                                                 const OutputSet& outputs,
                                                 Execution* execution) const {
  if (!SupportsTarget(how)) {
    return RunWithoutTarget(*this, how, outputs, execution);
  }
  optimized::Mamba3ScanBackwardExecution ran;
  const Status status = optimized::Mamba3ScanBackward(
      problem_, inputs(), {how.target.value_or(""), how.threads.value_or(0), 0},
      Views(outputs), &ran);
  if (!status.ok()) return Failed(status.message());
  *execution = {.backend = "optimized",
                .target = ran.target,
                .threads = ran.threads,
                .plan = "",
                .fallback_reason = "",
                .counters = {{"checkpoint", ran.checkpoint}}};
  return {};
}

// Without its answer for the last carry.
std::vector<NullCandidate> Mamba3ScanBackwardTrial::Nulls() const {
  std::vector<NullCandidate> nulls = RunsTrial::Nulls();
  if (!problem_.carry_grad) return nulls;
  nulls.push_back({"no_dcarry", [this](int64_t row, RowBits* bits) {
                     Case other = request();
                     auto& scan = other.Get<Mamba3ScanBackwardCase>();
                     scan.dcarry = false;
                     scan.poison.reset();
                     auto cut = PickScan(data(), PickAll(data()), scan);
                     if (!cut.ok()) return ReferenceRow(row, bits);
                     RowBy({cut->problem, cut->inputs, cut.value()}, row, bits);
                   }});
  return nulls;
}

}  // namespace lockstep::verify
