// The exact operators on arrays of Python. What they are asked is a case line,
// whose keys and errors are those of docs/cases.md; tensors come by name
// (docs/wire.md). The interpreter's lock is not held while they compute.
#include "python/native/operators.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "optimized/attention_forward.h"
#include "optimized/mamba3_scan.h"
#include "optimized/plan.h"
#include "optimized/tile_plan.h"
#include "python/native/tensors.h"
#include "reference/attention_forward.h"
#include "reference/contract/team.h"
#include "reference/mamba3_scan.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/block_plan.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/views.h"
#include "verify/registry/ops.h"
#include "verify/tables/files.h"
#include "verify/tables/scene.h"

namespace lockstep::python {
namespace {

using verify::Case;

Case Ask(const std::string& line) {
  Case asked = Accept(verify::ParseCase(line));
  Accept(verify::ValidateCase(asked));
  return asked;
}

// Whether this CPU has what the SIMD path was compiled for.
bool AnyTarget() {
  for (const optimized::Target& target : optimized::Targets()) {
    if (target.supported) return true;
  }
  return false;
}

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
    if (!AnyTarget()) {
      status = reference::AttentionForward(problem, given, made);
    } else {
      optimized::Caps caps;
      caps.threads = threads > 0 ? threads : DefaultThreads();
      const auto plan = optimized::MakePlan(problem, caps);
      status = plan.ok() ? optimized::AttentionForward(
                               problem, given, plan.value(), made, nullptr)
                         : plan.status();
    }
  }
  Accept(status);
}

template <typename T>
Mamba3Carry<T> CarryOf(const Arrays& arrays, const std::string& prefix) {
  return {arrays.View<T, 3>(prefix + "theta", "f32"),
          arrays.View<T, 4>(prefix + "h", "f32"),
          arrays.View<T, 4>(prefix + "k", "f32"),
          arrays.View<T, 3>(prefix + "v", "f32")};
}

Mamba3ScanInputs InputsOf(const Mamba3ScanProblem& problem, const Arrays& in,
                          const std::vector<int64_t>& cu_seqlens) {
  const Lane lane = problem.lane;
  Mamba3ScanInputs inputs;
  inputs.q = in.LaneOf<const void, 5>("q", lane);
  inputs.k = in.LaneOf<const void, 5>("k", lane);
  inputs.v = in.LaneOf<const void, 4>("v", lane);
  inputs.a = in.View<const float, 3>("a", "f32");
  inputs.dt = in.View<const float, 3>("dt", "f32");
  inputs.tau = in.LaneOf<const void, 3>("tau", lane);
  inputs.vartheta = in.LaneOf<const void, 4>("vartheta", lane);
  inputs.bq = in.View<const float, 3>("bq", "f32");
  inputs.bk = in.View<const float, 3>("bk", "f32");
  inputs.d = in.View<const float, 1>("d", "f32");
  inputs.z = in.LaneOf<const void, 4>("z", lane);
  inputs.psi = in.View<const float, 3>("psi", "f32");
  inputs.zeta = in.View<const float, 3>("zeta", "f32");
  inputs.phi = in.View<const float, 3>("phi", "f32");
  inputs.norm_weight = in.View<const float, 2>("norm_weight", "f32");
  inputs.carry = CarryOf<const float>(in, "init_");
  inputs.segments = in.View<const int32_t, 2>("segments", "i32");
  inputs.cu_seqlens = cu_seqlens;
  return inputs;
}

Status Scan(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs,
            const Mamba3ScanOutputs& outputs, bool step, int threads) {
  if (!AnyTarget()) {
    return step ? reference::Mamba3Step(problem, inputs, outputs)
                : reference::Mamba3Scan(problem, inputs, outputs);
  }
  optimized::Mamba3ScanCaps caps;
  caps.threads = threads;
  return step ? optimized::Mamba3Step(problem, inputs, caps, outputs, nullptr)
              : optimized::Mamba3Scan(problem, inputs, caps, outputs, nullptr);
}

void Mamba3(const std::string& line, const nb::dict& inputs,
            const nb::dict& outputs, const std::vector<int64_t>& cu_seqlens,
            bool step, int threads) {
  using Runs = Mamba3ScanProblem::Runs;
  const Case asked = Ask(line);
  Mamba3ScanProblem problem =
      verify::ToProblem(asked.Get<verify::Mamba3ScanCase>());
  const Arrays in(inputs), out(outputs);
  problem.runs = in.Has("segments")   ? Runs::kSegments
                 : cu_seqlens.empty() ? Runs::kRows
                                      : Runs::kCuSeqlens;
  problem.carry_in = in.Has("init_h");
  const Mamba3ScanInputs given = InputsOf(problem, in, cu_seqlens);
  const Mamba3ScanOutputs made = {out.LaneOf<void, 5>("y", problem.lane),
                                  CarryOf<float>(out, "carry_")};
  Status status;
  {
    const nb::gil_scoped_release released;
    status = Scan(problem, given, made, step, threads);
  }
  Accept(status);
}

// The tables of our planner, as a safetensors file.
nb::bytes BlockPlan(const std::string& line) {
  const Case asked = Ask(line);
  if (!asked.Has<verify::BlockPlanCase>()) Refuse("want a block_plan case");
  std::string file;
  Status status;
  {
    const nb::gil_scoped_release released;
    const auto scene = verify::OpenBlockPlan(asked, {});
    status = scene.status();
    if (scene.ok()) {
      const auto plan =
          optimized::PlanTiles(scene->data.problem, scene->data.inputs, 0,
                               verify::TileOptionsOf(scene->asked));
      auto made = plan.ok()
                      ? verify::FormatTables(scene->asked, plan.value(), line)
                      : Result<std::string>(plan.status());
      status = made.status();
      if (made.ok()) file = std::move(made.value());
    }
  }
  Accept(status);
  return nb::bytes(file.data(), file.size());
}

}  // namespace

void AddOperators(nb::module_* module) {
  module->def("attention_forward", &AttentionForward, nb::arg("line"),
              nb::arg("inputs"), nb::arg("outputs"), nb::arg("threads"));
  module->def("mamba3", &Mamba3, nb::arg("line"), nb::arg("inputs"),
              nb::arg("outputs"), nb::arg("cu_seqlens"), nb::arg("step"),
              nb::arg("threads"));
  module->def("block_plan", &BlockPlan, nb::arg("line"));
}

}  // namespace lockstep::python
