// The merge of parts of attention on arrays of Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "optimized/attention_merge.h"
#include "python/native/operators.h"
#include "python/native/tensors.h"
#include "reference/attention_merge.h"
#include "reference/contract/team.h"
#include "verify/case/attention_merge/case.h"

namespace lockstep::python {
namespace {

namespace nb = nanobind;

void AttentionMerge(const std::string& line, const nb::dict& inputs,
                    const nb::dict& outputs, int threads) {
  const verify::Case asked = Ask(line);
  const AttentionMergeProblem problem =
      verify::ToProblem(asked.Get<verify::AttentionMergeCase>());
  const Arrays in(inputs), out(outputs);
  const AttentionMergeInputs given = {
      in.LaneOf<const void, 4>("o_parts", problem.lane),
      in.View<const float, 3>("lse_parts", "f32")};
  const AttentionMergeOutputs made = {
      out.LaneOf<void, 3>("o", problem.out_lane),
      out.View<float, 2>("lse", "f32")};
  Status status;
  {
    const nb::gil_scoped_release released;
    optimized::AttentionMergeCaps caps;
    caps.threads = threads > 0 ? threads : DefaultThreads();
    status = AnyTarget() ? optimized::AttentionMerge(problem, given, caps, made,
                                                     nullptr)
                         : reference::AttentionMerge(problem, given, made);
  }
  Accept(status);
}

}  // namespace

void AddMerge(nb::module_* module) {
  module->def("attention_merge", &AttentionMerge, nb::arg("line"),
              nb::arg("inputs"), nb::arg("outputs"), nb::arg("threads"));
}

}  // namespace lockstep::python
