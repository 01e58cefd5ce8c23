// A scan as a chain of steps.
#include <cstdint>
#include <memory>
#include <utility>

#include "optimized/mamba3_scan.h"
#include "reference/mamba3_scan.h"
#include "verify/ops/mamba3_scan.h"
#include "verify/ops/scan_slice.h"

namespace lockstep::verify {
namespace {

TensorView<const float, 3> Const(const TensorView<float, 3>& x) {
  return {x.data, x.shape, x.strides};
}
TensorView<const float, 4> Const(const TensorView<float, 4>& x) {
  return {x.data, x.shape, x.strides};
}

// Calls step(slice, outputs) for every token in turn; the exported carry is the
// carry of the next token.
template <typename Step>
Status ChainSteps(const Mamba3ScanData& data, const Mamba3ScanOutputs& outputs,
                  Step&& step) {
  const Mamba3ScanProblem& p = data.problem;
  // Zeros, where no carry is given; broadcast from one element.
  static constexpr float kZero = 0.0f;
  Mamba3Carry<const float> carry = data.inputs.carry;
  if (!p.carry_in) {
    carry.theta = {&kZero, outputs.carry.theta.shape, {}};
    carry.h = {&kZero, outputs.carry.h.shape, {}};
    carry.k = {&kZero, outputs.carry.k.shape, {}};
    carry.v = {&kZero, outputs.carry.v.shape, {}};
  }
  for (int64_t t = 0; t < p.length; ++t) {
    Mamba3ScanOutputs out = outputs;
    out.y.data =
        static_cast<char*>(out.y.data) +
        t * out.y.strides[1] * static_cast<int64_t>(LaneBytes(out.y.lane));
    out.y.shape[1] = 1;
    const ScanSlice slice = SliceStep(p, data.inputs, t, carry);
    const Status status = step(slice, out);
    if (!status.ok()) return status;
    carry = {Const(out.carry.theta), Const(out.carry.h), Const(out.carry.k),
             Const(out.carry.v)};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Trial>> Mamba3StepTrial::Open(
    const Case& c, const MaterialiseOptions& options) {
  Result<Mamba3ScanData> data = MaterialiseMamba3Scan(c, options);
  if (!data.ok()) return data.status();
  return std::unique_ptr<Trial>(
      std::make_unique<Mamba3StepTrial>(c, std::move(data.value())));
}

std::unique_ptr<Trial> Mamba3StepTrial::MakeAnother(const Case& request,
                                                    Mamba3ScanData data) const {
  return std::make_unique<Mamba3StepTrial>(request, std::move(data));
}

void Mamba3StepTrial::ComputeByReference(
    const Mamba3ScanOutputs& outputs) const {
  const Status done = ChainSteps(
      data(), outputs,
      [](const ScanSlice& slice, const Mamba3ScanOutputs& out) -> Status {
        reference::Mamba3Step(slice.problem, slice.inputs, out);
        return {};
      });
  (void)done;  // the reference refuses nothing
}

Status Mamba3StepTrial::ComputeOptimized(const Variation& how,
                                         const Mamba3ScanOutputs& outputs,
                                         Execution* execution) const {
  return ChainSteps(data(), outputs,
                    [&](const ScanSlice& slice, const Mamba3ScanOutputs& out) {
                      optimized::Mamba3ScanExecution ran;
                      const Status status =
                          optimized::Mamba3Scan(slice.problem, slice.inputs,
                                                ScanCaps(how), out, &ran);
                      execution->target = ran.target;
                      execution->threads = ran.threads;
                      return status;
                    });
}

}  // namespace lockstep::verify
