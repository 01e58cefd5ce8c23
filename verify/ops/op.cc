#include "verify/ops/op.h"

#include <utility>

#include "verify/base/digest.h"

namespace lockstep::verify {

std::string Variation::Suffix() const {
  std::string text;
  if (target) text += "@" + *target;
  if (tile) {
    text += ",tile=" + std::to_string(tile->first) + "x" +
            std::to_string(tile->second);
  }
  if (threads) text += ",threads=" + std::to_string(*threads);
  if (native_dot) text += *native_dot ? ",native=1" : ",native=0";
  if (chunk) text += ",chunk=" + std::to_string(*chunk);
  if (splits) text += ",splits=" + std::to_string(*splits);
  if (shift != 0) text += ",shift=" + std::to_string(shift);
  return text;
}

int64_t Execution::Count(const std::string& name) const {
  for (const Counter& counter : counters) {
    if (counter.name == name) return counter.value;
  }
  return 0;
}

Result<OutputSet> Trial::Allocate(int64_t shift) const {
  OutputSet set;
  for (const OutputSpec& spec : outputs()) {
    Result<LaneTensor> tensor = AllocateLaneTensor(
        spec.lane, spec.shape, DenseStrides(spec.shape), shift);
    if (!tensor.ok()) return tensor.status();
    set.tensors.push_back(std::move(tensor.value()));
  }
  return set;
}

MaterialiseOptions OptionsFor(const NumericProfile* claims,
                              MaterialiseOptions options) {
  const bool own = claims != nullptr && HandsBackForward(*claims);
  options.own = {own, own && HasLse(*claims)};
  return options;
}

KernelCall Trial::Call(int64_t, const OutputSet& outputs) const {
  KernelCall call = {Inputs(), {}};
  for (size_t n = 0; n < outputs.tensors.size(); ++n) {
    const OutputSpec& spec = this->outputs()[n];
    const MutableLaneView& view = outputs.tensors[n].view;
    call.outputs.push_back({spec.name,
                            TypeOf(view.lane),
                            {view.shape.begin(), view.shape.end()},
                            {view.strides.begin(), view.strides.end()},
                            view.data});
  }
  return call;
}

std::string Trial::InputDigest() const {
  std::string lines;
  const KernelInputs inputs = Inputs();
  for (const NamedTensor& tensor : inputs.tensors) {
    lines += tensor.name;
    for (const int64_t extent : tensor.shape) {
      lines += " " + std::to_string(extent);
    }
    const std::vector<uint8_t> bytes = DenseBytes(tensor);
    lines += " " + DigestBytes(bytes.data(), bytes.size()) + "\n";
  }
  return DigestText(lines);
}

RunOutcome Trial::RunOptimized(const Variation&, const OutputSet& outputs,
                               Execution* execution) const {
  const RunOutcome outcome = RunReference(outputs, execution);
  execution->backend = "reference";
  execution->fallback_reason = "this op has no optimized path";
  return outcome;
}

std::string Trial::WhyUndeclared(const NumericProfile& profile) const {
  return profile.exact ? "" : "this op, whose results have no envelope";
}

void Trial::RunBaseline(const OutputSet& outputs) const {
  Execution execution;
  RunReference(outputs, &execution);
}

Result<TrialRow> TrialRowOf(const Case& c) {
  if (c.op->trial != nullptr) return *c.op->trial;
  return Status::Error("op '" + std::string(OpName(c)) + "' has no judge");
}

std::array<int64_t, 4> LineIndex(const OutputSpec& spec, int64_t line,
                                 int64_t c) {
  const auto& n = spec.shape;
  return {line / (n[1] * n[2]), line / n[2] % n[1], line % n[2], c};
}

}  // namespace lockstep::verify
