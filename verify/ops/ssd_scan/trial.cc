#include "verify/ops/ssd_scan/trial.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "optimized/ssd_scan.h"
#include "reference/ssd_scan.h"
#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/inputs/ssd_scan.h"
#include "verify/ops/canaries.h"

namespace lockstep::verify {
namespace {

// Faults that change whole terms: every probe that holds one shows them.
constexpr const char* kSsdCanaries[] = {
    "ssd.diag_missing", "ssd.b_c_exchanged", "ssd.runs_ignored",
    "ssd.init_ignored", "ssd.token_dropped", "ssd.dt_missing",
};
constexpr KernelOfLane kSsdKernels = {"ssd", "scan-bf16-lane", "scan-f16-lane"};

const CanariesOfLanes& SsdCanaries() {
  static const CanariesOfLanes kAll(kSsdCanaries, kSsdKernels);
  return kAll;
}

// Where Mamba-3 has its ranks in q and k.
constexpr size_t kRankAxis = 2;

// Of the scalars and tensors that Mamba-3 has: what Mamba-2 has, and what not.
constexpr std::string_view kScalars[] = {
    "b",    "t",    "h",         "g",    "n",    "p",
    "lane", "runs", "run_count", "skip", "gate", "carry_in"};
constexpr const char* kOfMamba3[] = {"tau", "init_k", "init_v"};

}  // namespace

std::vector<OutputSpec> SsdScanTrial::Outputs(const Case& c) {
  std::vector<OutputSpec> specs = Mamba3ScanTrial::Outputs(c);
  std::erase_if(specs, [](const OutputSpec& spec) {
    return spec.name == "carry_k" || spec.name == "carry_v";
  });
  specs[0].file_shape.clear();  // no axis of ranks
  return specs;
}

Result<std::unique_ptr<Trial>> SsdScanTrial::Open(
    const Case& c, const MaterialiseOptions& options) {
  ASSIGN_OR_RETURN(Mamba3ScanData data, MaterialiseMamba3Scan(c, options));
  return std::unique_ptr<Trial>(
      std::make_unique<SsdScanTrial>(c, std::move(data)));
}

std::unique_ptr<Trial> SsdScanTrial::MakeAnother(const Case& request,
                                                 Mamba3ScanData data) const {
  return std::make_unique<SsdScanTrial>(request, std::move(data));
}

KernelInputs SsdScanTrial::Inputs() const {
  KernelInputs named = Mamba3ScanTrial::Inputs();
  named.op = "ssd_scan";
  for (const char* name : kOfMamba3) named.Drop(name);
  for (NamedTensor& tensor : named.tensors) {
    if (tensor.name != "q" && tensor.name != "k") continue;
    tensor.shape.erase(tensor.shape.begin() + kRankAxis);
    tensor.strides.erase(tensor.strides.begin() + kRankAxis);
  }
  std::erase_if(named.scalars, [](const auto& scalar) {
    return std::find(std::begin(kScalars), std::end(kScalars), scalar.first) ==
           std::end(kScalars);
  });
  return named;
}

KernelCall SsdScanTrial::Call(int64_t, const OutputSet& outputs) const {
  const SsdScanOutputs out = SsdOutputsOf(Views(outputs));
  return {Inputs(),
          {{"y",
            TypeOf(out.y.lane),
            {out.y.shape.begin(), out.y.shape.end()},
            {out.y.strides.begin(), out.y.strides.end()},
            out.y.data},
           {"carry_h",
            ElementType::kF32,
            {out.carry.shape.begin(), out.carry.shape.end()},
            {out.carry.strides.begin(), out.carry.strides.end()},
            out.carry.data}}};
}

std::optional<Work> SsdScanTrial::CountWork() const {
  std::optional<Work> work = Mamba3ScanTrial::CountWork();
  work->flop *= 5.0 / 7;  // no second update
  return work;
}

// The base of the canaries: what they compute without their fault.
const char* SsdScanTrial::CorrectKernel() const {
  return SsdCanaries().Correct(data().problem.lane);
}

std::span<const char* const> SsdScanTrial::Canaries() const {
  if (Mamba3ScanTrial::Canaries().empty()) return {};
  return SsdCanaries().Of(data().problem.lane);
}

void SsdScanTrial::ComputeByReference(const Mamba3ScanOutputs& outputs) const {
  const Status done =
      reference::SsdScan(SsdProblemOf(data().problem),
                         SsdInputsOf(data().inputs), SsdOutputsOf(outputs));
  (void)done;  // the data were validated with the case
}

Status SsdScanTrial::ComputeOptimized(const Variation& how,
                                      const Mamba3ScanOutputs& outputs,
                                      Execution* execution) const {
  optimized::Mamba3ScanExecution ran;
  const Status status = optimized::SsdScan(
      SsdProblemOf(data().problem), SsdInputsOf(data().inputs), ScanCaps(how),
      SsdOutputsOf(outputs), &ran);
  NoteScan(how, ran, execution);
  return status;
}

}  // namespace lockstep::verify
