#include "verify/ops/mamba3_scan/trial.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "optimized/mamba3_scan.h"
#include "optimized/plan.h"
#include "reference/mamba3_scan.h"
#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/ops/backends.h"

namespace lockstep::verify {
namespace {

TensorView<float, 3> ThreeAxes(const MutableLaneView& x) {
  return {static_cast<float*>(x.data),
          {x.shape[0], x.shape[1], x.shape[3]},
          {x.strides[0], x.strides[1], x.strides[3]}};
}
TensorView<float, 4> FourAxes(const MutableLaneView& x) {
  return {static_cast<float*>(x.data), x.shape, x.strides};
}
}  // namespace

optimized::Mamba3ScanCaps ScanCaps(const Variation& how) {
  using enum optimized::Mamba3Algorithm;
  return {how.target.value_or(""), how.threads.value_or(0),
          how.chunk ? kChunked : kExact, how.chunk.value_or(0)};
}

void NoteScan(const Variation& how, const optimized::Mamba3ScanExecution& ran,
              Execution* execution) {
  execution->target = ran.target;
  execution->threads = ran.threads;
  if (!how.chunk) return;
  execution->counters.push_back({"chunk", ran.chunk});
  execution->counters.push_back({"pieces", ran.pieces});
}

std::vector<OutputSpec> Mamba3ScanTrial::Outputs(const Case& c) {
  const Mamba3ScanProblem& p = c.Get<Mamba3ScanCase>().problem;
  const int64_t runs = CountRuns(c.Get<Mamba3ScanCase>());
  const int64_t ranks = p.output_ranks();
  std::vector<OutputSpec> specs = {
      {.name = "y",
       .lane = p.lane,
       .shape = {p.batch, p.length * ranks, p.heads, p.head_dim},
       .axes = {"b", ranks == 1 ? "t" : "t*r", "h", "p"},
       .file_shape = {p.batch, p.length, ranks, p.heads, p.head_dim},
       .down = 1}};
  if (p.angles > 0) {
    specs.push_back({.name = "carry_theta",
                     .shape = {runs, p.heads, 1, p.angles},
                     .axes = {"run", "h", nullptr, "s"},
                     .file_shape = {runs, p.heads, p.angles},
                     .down = 1});
  }
  specs.push_back({.name = "carry_h",
                   .shape = {runs, p.heads, p.head_dim, p.state_dim},
                   .axes = {"run", "h", "p", "n"}});
  specs.push_back({.name = "carry_k",
                   .shape = {runs, p.ranks, p.heads, p.state_dim},
                   .axes = {"run", "r", "h", "n"}});
  specs.push_back({.name = "carry_v",
                   .shape = {runs, p.heads, 1, p.head_dim},
                   .axes = {"run", "h", nullptr, "p"},
                   .file_shape = {runs, p.heads, p.head_dim},
                   .down = 1});
  return specs;
}

Result<std::unique_ptr<Trial>> Mamba3ScanTrial::Open(
    const Case& c, const MaterialiseOptions& options) {
  ASSIGN_OR_RETURN(Mamba3ScanData data, MaterialiseMamba3Scan(c, options));
  return std::unique_ptr<Trial>(
      std::make_unique<Mamba3ScanTrial>(c, std::move(data)));
}

Mamba3ScanTrial::Mamba3ScanTrial(const Case& request, Mamba3ScanData data,
                                 std::vector<OutputSpec> outputs)
    : RunsTrial(request, std::move(data), std::move(outputs)) {}

Mamba3ScanOutputs Mamba3ScanTrial::Views(const OutputSet& outputs) const {
  Mamba3ScanOutputs out;
  const MutableLaneView& y = outputs.tensors[0].view;
  const int64_t ranks = data().problem.output_ranks();
  out.y = {y.data,
           y.lane,
           {y.shape[0], y.shape[1] / ranks, ranks, y.shape[2], y.shape[3]},
           {y.strides[0], y.strides[1] * ranks, y.strides[1], y.strides[2],
            y.strides[3]}};
  size_t next = 1;
  if (data().problem.angles > 0) {
    out.carry.theta = ThreeAxes(outputs.tensors[next++].view);
  } else {
    out.carry.theta.shape = {CountRuns(scan()), data().problem.heads, 0};
  }
  out.carry.h = FourAxes(outputs.tensors[next].view);
  if (!HasOutput("carry_k")) return out;
  out.carry.k = FourAxes(outputs.tensors[next + 1].view);
  out.carry.v = ThreeAxes(outputs.tensors[next + 2].view);
  return out;
}

KernelInputs Mamba3ScanTrial::Inputs() const {
  return NameInputs(data().problem, data().inputs);
}

KernelCall Mamba3ScanTrial::Call(int64_t, const OutputSet& outputs) const {
  return {Inputs(), NameOutputs(Views(outputs))};
}

int64_t Mamba3ScanTrial::rows() const {
  return static_cast<int64_t>(runs().size()) * data().problem.heads;
}

std::vector<int64_t> Mamba3ScanTrial::Lines(size_t output, int64_t row) const {
  const Mamba3ScanProblem& p = data().problem;
  const int64_t index = row / p.heads;
  const int64_t head = row % p.heads;
  const std::string& name = outputs()[output].name;
  std::vector<int64_t> lines;
  if (name == "y") {
    const reference::Run& run = runs()[static_cast<size_t>(index)];
    const int64_t ranks = p.output_ranks();
    for (int64_t at = run.first * ranks; at < run.end * ranks; ++at) {
      lines.push_back((run.row * p.length * ranks + at) * p.heads + head);
    }
  } else if (name == "carry_h") {
    for (int64_t c = 0; c < p.head_dim; ++c) {
      lines.push_back(row * p.head_dim + c);
    }
  } else if (name == "carry_k") {
    for (int64_t r = 0; r < p.ranks; ++r) {
      lines.push_back((index * p.ranks + r) * p.heads + head);
    }
  } else {
    lines.push_back(row);
  }
  return lines;
}

int64_t Mamba3ScanTrial::RowCost() const {
  const Mamba3ScanProblem& p = data().problem;
  return LongestRun() * p.state_dim * p.head_dim * (1 + 3 * p.ranks);
}

void Mamba3ScanTrial::ComputeByReference(
    const Mamba3ScanOutputs& outputs) const {
  // Validated with the case.
  reference::ComputeMamba3Scan(data().problem, data().inputs, outputs);
}

Status Mamba3ScanTrial::ComputeOptimized(const Variation& how,
                                         const Mamba3ScanOutputs& outputs,
                                         Execution* execution) const {
  optimized::Mamba3ScanExecution ran;
  const Status status = optimized::Mamba3Scan(data().problem, data().inputs,
                                              ScanCaps(how), outputs, &ran);
  NoteScan(how, ran, execution);
  return status;
}

RunOutcome Mamba3ScanTrial::RunReference(const OutputSet& outputs,
                                         Execution* execution) const {
  ComputeByReference(Views(outputs));
  return RanReference(Status(), execution);
}

RunOutcome Mamba3ScanTrial::RunOptimized(const Variation& how,
                                         const OutputSet& outputs,
                                         Execution* execution) const {
  if (!SupportsTarget(how)) {
    return RunWithoutTarget(*this, how, outputs, execution);
  }
  *execution = Execution{};
  const Status status = ComputeOptimized(how, Views(outputs), execution);
  if (!status.ok()) return Failed(status.message());
  execution->backend = "optimized";
  return {};
}

}  // namespace lockstep::verify
