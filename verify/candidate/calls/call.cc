#include "verify/candidate/calls/call.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "verify/base/digest.h"
#include "verify/base/io/safetensors.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/wire/messages.h"
#include "verify/case/case.h"

namespace lockstep::verify {
namespace {

// Heads of the mask of every pair: one where all see the same.
int64_t MaskHeads(const KernelInputs& inputs, int64_t query_heads) {
  bool one = inputs.masks.size() == 1;
  for (const NamedTensor& tensor : inputs.tensors) {
    one =
        one && !(tensor.name.starts_with("dense_mask_") && tensor.shape[1] > 1);
  }
  return one ? 1 : query_heads;
}

bool IsTaken(const std::vector<TakenInput>& taken, const std::string& name) {
  return std::any_of(taken.begin(), taken.end(),
                     [&](const TakenInput& one) { return one.input == name; });
}

}  // namespace

Result<KernelInputs> CallInputs(const CaseRequest& request,
                                const Trial& trial) {
  ASSIGN_OR_RETURN(KernelInputs inputs, HandedInputs(trial));
  inputs.op = OpName(*request.call);
  return inputs;
}

std::vector<NamedOutput> CallOutputs(const std::vector<OutputSpec>& specs) {
  std::vector<NamedOutput> outputs;
  for (const OutputSpec& spec : specs) {
    std::vector<int64_t> shape = spec.file_shape;
    if (shape.empty()) {
      for (size_t axis = 0; axis < 4; ++axis) {
        if (spec.axes[axis] != nullptr) shape.push_back(spec.shape[axis]);
      }
    }
    outputs.push_back(
        {spec.name, TypeOf(spec.lane), shape, DenseStridesOf(shape), nullptr});
  }
  return outputs;
}

std::string CallDigest(const KernelInputs& inputs,
                       const std::vector<TakenInput>& taken,
                       const std::string& before) {
  Digester digest;
  // Names, types and shapes of the tensors are part of this text.
  digest.UpdateText(CallFile(inputs, "", {}));
  for (const NamedTensor& tensor : inputs.tensors) {
    if (IsTaken(taken, tensor.name)) {
      digest.UpdateText(before);
      continue;
    }
    const std::vector<uint8_t> bytes = DenseBytes(tensor);
    digest.Update(bytes.data(), bytes.size());
  }
  return digest.Hex();
}

bool BringsMask(const KernelInputs& inputs) {
  const NamedTensor* q = inputs.Find("q");
  const NamedTensor* k = inputs.Find("k");
  if (inputs.masks.empty() || q == nullptr || k == nullptr) return false;
  const int64_t rows =
      q->shape[0] * MaskHeads(inputs, q->shape[1]) * q->shape[2];
  return rows <= kMostMask / k->shape[2];
}

Status WriteInputs(const KernelInputs& inputs,
                   const std::vector<TakenInput>& taken,
                   const std::string& case_line, const std::string& path) {
  std::vector<std::vector<uint8_t>> storage;
  std::vector<SafetensorsTensor> tensors;
  for (const NamedTensor& tensor : inputs.tensors) {
    if (IsTaken(taken, tensor.name)) continue;
    storage.push_back(DenseBytes(tensor));
    tensors.push_back(
        {tensor.name, FileType(tensor.type), tensor.shape, storage.back()});
  }
  return WriteSafetensors(path, tensors, {{"case", case_line}});
}

}  // namespace lockstep::verify
