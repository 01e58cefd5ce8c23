// Cases: their lines, inputs and exact outputs. Tensors are handed over as
// (name, type, shape, bytes), dense: immutable, and good for as long as Python
// holds them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/native/operators.h"
#include "python/native/tensors.h"
#include "verify/candidate/wire/messages.h"
#include "verify/candidate/wire/wants.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"
#include "verify/ops/varlen/token_outputs.h"
#include "verify/ops/wants.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::python {
namespace {

using verify::NamedTensor;
using verify::Trial;

nb::tuple Handed(const std::string& name, verify::ElementType type,
                 const std::vector<int64_t>& shape,
                 const std::vector<uint8_t>& bytes) {
  return nb::make_tuple(name, verify::ElementTypeName(type), shape,
                        nb::bytes(bytes.data(), bytes.size()));
}

nb::list HandedAll(const std::vector<NamedTensor>& tensors) {
  nb::list all;
  for (const NamedTensor& tensor : tensors) {
    all.append(Handed(tensor.name, tensor.type, tensor.shape,
                      verify::DenseBytes(tensor)));
  }
  return all;
}

class BoundCase {
 public:
  explicit BoundCase(const std::string& line)
      : sequence_(Accept(verify::ParseCaseSequence(line))) {
    for (const verify::Case& one : sequence_) {
      if (one.expect != verify::Expect::kRefuse) {
        Accept(verify::ValidateCase(one));
      }
    }
  }

  std::string Canonical() const { return verify::CanonicalLine(sequence_); }
  std::string Minimal() const { return verify::MinimalLine(sequence_); }
  std::string Op() const { return verify::OpName(sequence_[0]); }

  nb::list Inputs() {
    return HandedAll(Accept(verify::HandedInputs(Opened())).tensors);
  }

  // The exact outputs: of the SIMD path, whose bits are the reference's.
  nb::list Expected() {
    const Trial& trial = Opened();
    if (trial.scene() != nullptr) {
      Refuse(
          "a planner's tables are not one right answer; block_plan() makes "
          "ours");
    }
    verify::OutputSet outputs;
    Status status;
    {
      const nb::gil_scoped_release released;
      status = Compute(trial, &outputs);
    }
    Accept(status);
    std::vector<NamedTensor> tensors;
    const auto made = Accept(verify::FileOutputs::Make(trial, outputs));
    made.Write();
    std::vector<verify::NamedOutput> named = trial.Call(0, outputs).outputs;
    for (size_t n = 0; n < named.size(); ++n) {
      verify::NamedOutput& out = named[n];
      if (trial.wants().RowsEndToEnd(out.name)) {
        out.shape = made.specs()[n].InFile();
        out.strides = verify::DenseStridesOf(out.shape);
        out.data = made.set().tensors[n].view.data;
      }
      tensors.push_back({out.name, out.type, out.shape, out.strides, out.data});
    }
    return HandedAll(tensors);
  }

  // The first call as a kernel gets it that has these wants: its message (docs/
  // wire.md) without places, its inputs, and (name, type, shape) of what it
  // has to return.
  nb::tuple Call(const std::vector<std::string>& wants,
                 const std::vector<std::string>& lacks) {
    const Trial& trial = Opened();
    verify::OutputSet outputs = Accept(trial.Allocate(0));
    verify::HostHello hello;
    hello.wants = wants;
    hello.lacks = lacks;
    const verify::WantedCall wanted = Accept(verify::WantedCall::Make(
        trial, hello, /*wide=*/false, trial.Call(0, outputs)));
    const verify::KernelCall& call = wanted.call();
    nb::list asked;
    for (const verify::NamedOutput& out : call.outputs) {
      asked.append(nb::make_tuple(out.name, verify::ElementTypeName(out.type),
                                  out.shape));
    }
    return nb::make_tuple(
        verify::CallFile(call.inputs, Minimal(), call.outputs),
        HandedAll(call.inputs.tensors), asked);
  }

 private:
  const Trial& Opened() {
    if (trial_ != nullptr) return *trial_;
    if (sequence_.size() != 1) {
      Refuse("a sequence of calls has no inputs of its own; take one of them");
    }
    const verify::TrialRow op = Accept(verify::TrialRowOf(sequence_[0]));
    const nb::gil_scoped_release released;
    trial_ = Accept(op.open(sequence_[0], {}));
    return *trial_;
  }

  static Status Compute(const Trial& trial, verify::OutputSet* outputs) {
    Result<verify::OutputSet> memory = trial.Allocate(0);
    if (!memory.ok()) return memory.status();
    verify::Execution execution;
    verify::RunOutcome ran =
        trial.kernels().RunOptimized({}, memory.value(), &execution);
    if (ran.state == verify::RunOutcome::State::kUnsupported) {
      ran = trial.kernels().RunReference(memory.value(), &execution);
    }
    if (ran.state != verify::RunOutcome::State::kRan) {
      return Status::Error(ran.message);
    }
    *outputs = std::move(memory.value());
    return {};
  }

  std::vector<verify::Case> sequence_;
  std::unique_ptr<Trial> trial_;
};

// The lines of a case file as (number, minimal line).
nb::list Lines(const std::string& path) {
  const verify::CaseFile file =
      Accept(verify::ReadCaseFile(path, verify::Ops()));
  nb::list lines;
  for (const verify::CaseFileEntry& entry : file.entries) {
    lines.append(
        nb::make_tuple(entry.line, verify::MinimalLine(entry.sequence)));
  }
  return lines;
}

}  // namespace

void AddCases(nb::module_* module) {
  nb::class_<BoundCase>(*module, "Case")
      .def(nb::init<const std::string&>(), nb::arg("line"))
      .def_prop_ro("canonical", &BoundCase::Canonical)
      .def_prop_ro("minimal", &BoundCase::Minimal)
      .def_prop_ro("op", &BoundCase::Op)
      .def("inputs", &BoundCase::Inputs)
      .def("expected", &BoundCase::Expected)
      .def("call", &BoundCase::Call, nb::arg("wants"), nb::arg("lacks"));
  module->def("lines", &Lines, nb::arg("path"));
}

}  // namespace lockstep::python
