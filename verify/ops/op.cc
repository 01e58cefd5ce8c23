#include "verify/ops/op.h"

#include <utility>

#include "verify/base/digest.h"
#include "verify/base/status_macros.h"
#include "verify/ops/envelopes.h"
#include "verify/ops/facts.h"
#include "verify/ops/faults.h"
#include "verify/ops/kernels.h"
#include "verify/ops/laws.h"
#include "verify/ops/pictures.h"
#include "verify/ops/wants.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {
namespace {

// The part; in place of one that an op has not, one that says nothing.
template <typename Part>
const Part& PartOrNone(const Part* part) {
  static const Part none;
  return part != nullptr ? *part : none;
}

}  // namespace

const TrialKernels& Trial::kernels() const {
  return PartOrNone(parts().kernels);
}

const TrialEnvelopes& Trial::envelopes() const {
  return PartOrNone(parts().envelopes);
}

const TrialLaws& Trial::laws() const { return PartOrNone(parts().laws); }

const TrialFaults& Trial::faults() const { return PartOrNone(parts().faults); }

Result<std::unique_ptr<Trial>> TrialFaults::AskedAs(const Case&) const {
  return Status::Error("nothing but the case itself can be asked");
}

const TrialFacts& Trial::facts() const { return PartOrNone(parts().facts); }

const TrialPictures& Trial::pictures() const {
  return PartOrNone(parts().pictures);
}

const TrialWants& Trial::wants() const { return PartOrNone(parts().wants); }

Result<OutputSet> Trial::Allocate(int64_t shift) const {
  OutputSet set;
  for (const OutputSpec& spec : outputs()) {
    ASSIGN_OR_RETURN(
        LaneTensor tensor,
        AllocateLaneTensor(spec.lane, spec.shape,
                           spec.strides.value_or(DenseStrides(spec.shape)),
                           shift));
    set.tensors.push_back(std::move(tensor));
  }
  return set;
}

MaterialiseOptions OptionsFor(const NumericProfile* claims,
                              MaterialiseOptions options) {
  const bool own = claims != nullptr && HandsBackForward(*claims);
  options.own = {own, own && HasLse(*claims)};
  options.binary_lse = claims != nullptr && claims->lse_base == ExpBase::kTwo;
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

Result<KernelInputs> HandedInputs(const Trial& trial) {
  KernelInputs inputs = trial.Inputs();
  for (const std::string& want : trial.wants().NeededWants()) {
    const std::string why = trial.wants().AddWanted(want, &inputs);
    if (!why.empty()) return Status::Error(why);
  }
  return inputs;
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
