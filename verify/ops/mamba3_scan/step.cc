// A scan as a chain of steps.
#include <cstdint>
#include <memory>
#include <utility>

#include "optimized/mamba3_scan.h"
#include "reference/mamba3_scan.h"
#include "verify/base/status_macros.h"
#include "verify/ops/mamba3_scan/slice.h"
#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {
namespace {

TensorView<const float, 3> Const(const TensorView<float, 3>& x) {
  return {x.data, x.shape, x.strides};
}
TensorView<const float, 4> Const(const TensorView<float, 4>& x) {
  return {x.data, x.shape, x.strides};
}

// The carry that token t starts from: of the first token the given one, or
// zeros; of the others what the token before has left in the outputs.
Mamba3Carry<const float> CarryBefore(const Mamba3ScanData& data, int64_t t,
                                     const Mamba3ScanOutputs& outputs) {
  const Mamba3Carry<float>& left = outputs.carry;
  if (t > 0) {
    return {Const(left.theta), Const(left.h), Const(left.k), Const(left.v)};
  }
  if (data.problem.carry_in) return data.inputs.carry;
  // Broadcast from one element.
  static constexpr float kZero = 0.0f;
  return {{&kZero, left.theta.shape, {}},
          {&kZero, left.h.shape, {}},
          {&kZero, left.k.shape, {}},
          {&kZero, left.v.shape, {}}};
}

// Token t of y; the carry is written by every token.
Mamba3ScanOutputs OutputsOf(int64_t t, Mamba3ScanOutputs outputs) {
  auto& y = outputs.y;
  y.data = static_cast<char*>(y.data) +
           t * y.strides[1] * static_cast<int64_t>(LaneBytes(y.lane));
  y.shape[1] = 1;
  return outputs;
}

// Calls step(slice, outputs) for every token in turn.
template <typename Step>
Status ChainSteps(const Mamba3ScanData& data, const Mamba3ScanOutputs& outputs,
                  Step&& step) {
  for (int64_t t = 0; t < data.problem.length; ++t) {
    const ScanSlice slice =
        SliceStep(data.problem, data.inputs, t, CarryBefore(data, t, outputs));
    RETURN_IF_ERROR(step(slice, OutputsOf(t, outputs)));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Trial>> Mamba3StepTrial::Open(
    const Case& c, const MaterialiseOptions& options) {
  ASSIGN_OR_RETURN(Mamba3ScanData data, MaterialiseMamba3Scan(c, options));
  return std::unique_ptr<Trial>(
      std::make_unique<Mamba3StepTrial>(c, std::move(data)));
}

std::unique_ptr<Trial> Mamba3StepTrial::MakeAnother(const Case& request,
                                                    Mamba3ScanData data) const {
  return std::make_unique<Mamba3StepTrial>(request, std::move(data));
}

KernelCall Mamba3StepTrial::Call(int64_t n, const OutputSet& outputs) const {
  const Mamba3ScanOutputs views = Views(outputs);
  const ScanSlice slice = SliceStep(data().problem, data().inputs, n,
                                    CarryBefore(data(), n, views));
  KernelCall call{NameInputs(slice.problem, slice.inputs),
                  NameOutputs(OutputsOf(n, views))};
  call.inputs.op = "mamba3_step";
  return call;
}

void Mamba3StepTrial::ComputeByReference(
    const Mamba3ScanOutputs& outputs) const {
  const Status done = ChainSteps(
      data(), outputs,
      [](const ScanSlice& slice, const Mamba3ScanOutputs& out) {
        return reference::Mamba3Step(slice.problem, slice.inputs, out);
      });
  (void)done;  // the data were validated with the case
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
