// Scans and planners on arrays of Python.
#include "python/native/operators.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "optimized/mamba3_scan.h"
#include "optimized/mamba3_scan_backward.h"
#include "optimized/plan.h"
#include "optimized/ssd_scan.h"
#include "optimized/tile_plan.h"
#include "python/native/tensors.h"
#include "reference/mamba3_scan.h"
#include "reference/mamba3_scan_backward.h"
#include "reference/ssd_scan.h"
#include "verify/case/block_plan.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan_backward.h"
#include "verify/inputs/ssd_scan.h"
#include "verify/registry/ops.h"
#include "verify/tables/files.h"
#include "verify/tables/scene.h"

namespace lockstep::python {
namespace {

using verify::Case;

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

Mamba3ScanProblem::Runs RunsOf(const Arrays& in,
                               const std::vector<int64_t>& cu_seqlens) {
  using Runs = Mamba3ScanProblem::Runs;
  if (in.Has("segments")) return Runs::kSegments;
  return cu_seqlens.empty() ? Runs::kRows : Runs::kCuSeqlens;
}

void Mamba3(const std::string& line, const nb::dict& inputs,
            const nb::dict& outputs, const std::vector<int64_t>& cu_seqlens,
            bool step, int threads) {
  const Case asked = Ask(line);
  Mamba3ScanProblem problem =
      verify::ToProblem(asked.Get<verify::Mamba3ScanCase>());
  const Arrays in(inputs), out(outputs);
  problem.runs = RunsOf(in, cu_seqlens);
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

// Of the lane or of f32, as the array that the caller made for it says.
Mamba3ScanBackwardOutputs GradientsOf(const Arrays& out, Lane lane) {
  Mamba3ScanBackwardOutputs made;
  made.dq = out.LaneOf<void, 5>("dq", lane);
  made.dk = out.LaneOf<void, 5>("dk", lane);
  made.dv = out.LaneOf<void, 4>("dv", lane);
  made.da = out.View<float, 3>("da", "f32");
  made.ddt = out.View<float, 3>("ddt", "f32");
  made.dtau = out.LaneOf<void, 3>("dtau", lane);
  made.dvartheta = out.LaneOf<void, 4>("dvartheta", lane);
  made.dbq = out.View<float, 3>("dbq", "f32");
  made.dbk = out.View<float, 3>("dbk", "f32");
  made.dd = out.View<float, 1>("dd", "f32");
  made.dz = out.LaneOf<void, 4>("dz", lane);
  made.dpsi = out.View<float, 3>("dpsi", "f32");
  made.dzeta = out.View<float, 3>("dzeta", "f32");
  made.dphi = out.View<float, 3>("dphi", "f32");
  made.dnorm_weight = out.View<float, 2>("dnorm_weight", "f32");
  made.dcarry = CarryOf<float>(out, "dinit_");
  return made;
}

void Mamba3Backward(const std::string& line, const nb::dict& inputs,
                    const nb::dict& outputs,
                    const std::vector<int64_t>& cu_seqlens, int threads) {
  const Case asked = Ask(line);
  Mamba3ScanBackwardProblem problem =
      verify::ToBackwardProblem(asked.Get<verify::Mamba3ScanBackwardCase>());
  const Arrays in(inputs), out(outputs);
  problem.forward.runs = RunsOf(in, cu_seqlens);
  problem.forward.carry_in = in.Has("init_h");
  problem.carry_grad = in.Has("dcarry_h");
  const Mamba3ScanBackwardInputs given = {
      InputsOf(problem.forward, in, cu_seqlens),
      in.LaneOf<const void, 5>("dy", problem.forward.lane),
      CarryOf<const float>(in, "dcarry_")};
  const Mamba3ScanBackwardOutputs made = GradientsOf(out, problem.grad_lane);
  Status status;
  {
    const nb::gil_scoped_release released;
    optimized::Mamba3ScanBackwardCaps caps;
    caps.threads = threads;
    status = AnyTarget() ? optimized::Mamba3ScanBackward(problem, given, caps,
                                                         made, nullptr)
                         : reference::Mamba3ScanBackward(problem, given, made);
  }
  Accept(status);
}

void Ssd(const std::string& line, const nb::dict& inputs,
         const nb::dict& outputs, const std::vector<int64_t>& cu_seqlens,
         int threads) {
  const Case asked = Ask(line);
  SsdScanProblem problem = verify::SsdProblemOf(
      verify::ToProblem(asked.Get<verify::Mamba3ScanCase>()));
  const Arrays in(inputs), out(outputs);
  const Lane lane = problem.lane;
  problem.runs = RunsOf(in, cu_seqlens);
  problem.carry_in = in.Has("init_h");
  const SsdScanInputs given = {
      .q = in.LaneOf<const void, 4>("q", lane),
      .k = in.LaneOf<const void, 4>("k", lane),
      .v = in.LaneOf<const void, 4>("v", lane),
      .a = in.View<const float, 3>("a", "f32"),
      .dt = in.View<const float, 3>("dt", "f32"),
      .d = in.View<const float, 1>("d", "f32"),
      .z = in.LaneOf<const void, 4>("z", lane),
      .carry = in.View<const float, 4>("init_h", "f32"),
      .segments = in.View<const int32_t, 2>("segments", "i32"),
      .cu_seqlens = cu_seqlens};
  const SsdScanOutputs made = {out.LaneOf<void, 4>("y", lane),
                               out.View<float, 4>("carry_h", "f32")};
  Status status;
  {
    const nb::gil_scoped_release released;
    optimized::Mamba3ScanCaps caps;
    caps.threads = threads;
    status = AnyTarget()
                 ? optimized::SsdScan(problem, given, caps, made, nullptr)
                 : reference::SsdScan(problem, given, made);
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

Case Ask(const std::string& line) {
  Case asked = Accept(verify::ParseCase(line));
  Accept(verify::ValidateCase(asked));
  return asked;
}

bool AnyTarget() {
  for (const optimized::Target& target : optimized::Targets()) {
    if (target.supported) return true;
  }
  return false;
}

void AddOperators(nb::module_* module) {
  AddAttention(module);
  AddMerge(module);
  module->def("mamba3", &Mamba3, nb::arg("line"), nb::arg("inputs"),
              nb::arg("outputs"), nb::arg("cu_seqlens"), nb::arg("step"),
              nb::arg("threads"));
  module->def("mamba3_backward", &Mamba3Backward, nb::arg("line"),
              nb::arg("inputs"), nb::arg("outputs"), nb::arg("cu_seqlens"),
              nb::arg("threads"));
  module->def("ssd", &Ssd, nb::arg("line"), nb::arg("inputs"),
              nb::arg("outputs"), nb::arg("cu_seqlens"), nb::arg("threads"));
  module->def("block_plan", &BlockPlan, nb::arg("line"));
}

}  // namespace lockstep::python
