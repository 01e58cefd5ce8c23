// Attention and its gradients on arrays of Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "optimized/attention_backward.h"
#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "python/native/operators.h"
#include "python/native/tensors.h"
#include "reference/attention_backward.h"
#include "reference/attention_forward.h"
#include "reference/contract/team.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/views.h"

namespace lockstep::python {
namespace {

using verify::Case;

// The dense mask, where given, narrows every head's.
void AddDense(const TensorView<const uint8_t, 4>& dense,
              AttentionForwardProblem* problem,
              AttentionForwardInputs* inputs) {
  if (dense.data == nullptr) return;
  for (MaskExpr& mask : problem->masks) {
    MaskExpr term;
    term.kind = MaskExpr::Kind::kDense;
    MaskExpr both;
    both.kind = MaskExpr::Kind::kAnd;
    both.children = {mask, term};
    mask = mask.kind == MaskExpr::Kind::kFull ? term : both;
  }
  inputs->dense_masks = {dense};
}

AttentionForwardInputs InputsOf(const verify::AttentionForwardCase& asked,
                                const Arrays& in,
                                AttentionForwardProblem* problem) {
  AttentionForwardInputs inputs = verify::InputShapes(asked);
  inputs.q = in.LaneOf<const void, 4>("q", problem->lane);
  inputs.k = in.LaneOf<const void, 4>("k", problem->lane);
  inputs.v = in.LaneOf<const void, 4>("v", problem->lane);
  inputs.q_seg = in.View<const int32_t, 2>("q_segments", "i32");
  inputs.kv_seg = in.View<const int32_t, 2>("kv_segments", "i32");
  inputs.sink = in.View<const float, 1>("sink", "f32");
  problem->segments = in.Has("q_segments") || in.Has("kv_segments");
  problem->sink = in.Has("sink");
  inputs.dense_masks.clear();
  AddDense(in.View<const uint8_t, 4>("dense", "u8"), problem, &inputs);
  return inputs;
}

optimized::Caps CapsOf(int threads) {
  optimized::Caps caps;
  caps.threads = threads > 0 ? threads : DefaultThreads();
  return caps;
}

void AttentionForward(const std::string& line, const nb::dict& inputs,
                      const nb::dict& outputs, int threads) {
  const Case asked = Ask(line);
  const auto& values = asked.Get<verify::AttentionForwardCase>();
  AttentionForwardProblem problem = verify::ToProblem(values);
  const Arrays in(inputs), out(outputs);
  const AttentionForwardInputs given = InputsOf(values, in, &problem);
  const AttentionForwardOutputs made = {out.LaneOf<void, 4>("o", problem.lane),
                                        out.View<float, 3>("lse", "f32")};
  Status status;
  {
    const nb::gil_scoped_release released;
    // No SIMD kernel has the orders of GPUs (N21).
    if (!AnyTarget() || StepOf(problem.order) != nullptr) {
      status = reference::AttentionForward(problem, given, made);
    } else {
      const auto plan = optimized::MakePlan(problem, CapsOf(threads));
      status = plan.ok() ? optimized::AttentionForward(
                               problem, given, plan.value(), made, nullptr)
                         : plan.status();
    }
  }
  Accept(status);
}

// Of the lane or of f32, as the array that the caller made for it says.
AttentionBackwardOutputs GradientsOf(const Arrays& out, Lane lane) {
  return {out.LaneOf<void, 4>("dq", lane), out.LaneOf<void, 4>("dk", lane),
          out.LaneOf<void, 4>("dv", lane), out.View<float, 1>("dsink", "f32")};
}

// With `by_definition` the scalar reference computes, in one thread: the bits
// are the same, which tests of the package hold it to.
void AttentionBackward(const std::string& line, const nb::dict& inputs,
                       const nb::dict& outputs, int threads, bool f32_gradients,
                       bool by_definition) {
  const Case asked = Ask(line);
  const auto& values = asked.Get<verify::AttentionForwardCase>();
  const Arrays in(inputs), out(outputs);
  AttentionBackwardProblem problem;
  problem.forward = verify::ToProblem(values);
  AttentionBackwardInputs given;
  given.forward = InputsOf(values, in, &problem.forward);
  const Lane lane = problem.forward.lane;
  given.o = in.LaneOf<const void, 4>("o", lane);
  given.lse = in.View<const float, 3>("lse", "f32");
  given.d_o = in.LaneOf<const void, 4>("do", lane);
  given.dlse = in.View<const float, 3>("dlse", "f32");
  problem.dlse = in.Has("dlse");
  problem.grad_lane = f32_gradients ? Lane::kF32 : lane;
  const AttentionBackwardOutputs made = GradientsOf(out, problem.grad_lane);
  Status status;
  {
    const nb::gil_scoped_release released;
    if (by_definition || !AnyTarget()) {
      status = reference::AttentionBackward(problem, given, made);
    } else {
      const auto plan = optimized::MakePlan(problem, CapsOf(threads));
      status = plan.ok() ? optimized::AttentionBackward(
                               problem, given, plan.value(), made, nullptr)
                         : plan.status();
    }
  }
  Accept(status);
}

}  // namespace

void AddAttention(nb::module_* module) {
  module->def("attention_forward", &AttentionForward, nb::arg("line"),
              nb::arg("inputs"), nb::arg("outputs"), nb::arg("threads"));
  module->def("attention_backward", &AttentionBackward, nb::arg("line"),
              nb::arg("inputs"), nb::arg("outputs"), nb::arg("threads"),
              nb::arg("f32_gradients"), nb::arg("by_definition") = false);
}

}  // namespace lockstep::python
