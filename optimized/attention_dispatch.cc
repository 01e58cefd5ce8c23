#include "optimized/attention_dispatch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/mask.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {
namespace {

// In the order of Feature.
constexpr const char* kNames[] = {
    "softcap",         "mask",       "sink_tokens",
    "dense_mask",      "head_masks", "segments",
    "valid_counts",    "sink_logit", "grouped_heads",
    "other_value_dim", "bf16",       "amx_order",
    "step_order",      "f16",        "split",
    "fp8_keys",        "fp8_queries"};

void AddMask(const MaskExpr& mask, FeatureSet* features) {
  switch (mask.kind) {
    case MaskExpr::Kind::kFull:
      return;
    case MaskExpr::Kind::kDense:
      return features->Add(Feature::kDenseMask);
    case MaskExpr::Kind::kSink:
      return features->Add(Feature::kSinkTokens);
    default:
      features->Add(Feature::kMask);
  }
  for (const MaskExpr& child : mask.children) AddMask(child, features);
}

std::string Lacks(const Backend& backend, FeatureSet required) {
  const FeatureSet missing{required.bits & ~backend.declares.bits};
  return missing.bits == 0 ? "" : "lacks " + FeatureNames(missing);
}

std::string Chain(const std::vector<Tried>& tried) {
  std::string text;
  for (const Tried& one : tried) {
    text += (text.empty() ? "" : "; ") + one.name + " " + one.reason;
  }
  return text.empty() ? "there are none" : text;
}

}  // namespace

FeatureSet AllFeatures() { return {(uint32_t{1} << std::size(kNames)) - 1}; }

std::string FeatureNames(FeatureSet features) {
  std::string text;
  for (size_t n = 0; n < std::size(kNames); ++n) {
    if (!features.Has(static_cast<Feature>(n))) continue;
    text += (text.empty() ? "" : " ") + std::string(kNames[n]);
  }
  return text;
}

FeatureSet RequiredFeatures(const AttentionForwardProblem& problem,
                            const AttentionForwardInputs& inputs) {
  FeatureSet required;
  if (problem.softcap) required.Add(Feature::kSoftcap);
  for (const MaskExpr& mask : problem.masks) AddMask(mask, &required);
  if (problem.masks.size() > 1) required.Add(Feature::kHeadMasks);
  if (problem.segments) required.Add(Feature::kSegments);
  if (!inputs.valid_q.empty() || !inputs.valid_kv.empty()) {
    required.Add(Feature::kValidCounts);
  }
  if (problem.sink) required.Add(Feature::kSinkLogit);
  if (problem.q_heads != problem.kv_heads) {
    required.Add(Feature::kGroupedHeads);
  }
  if (problem.value_dim != problem.head_dim) {
    required.Add(Feature::kOtherValueDim);
  }
  if (problem.lane == Lane::kBf16) required.Add(Feature::kBf16);
  if (problem.lane == Lane::kF16) required.Add(Feature::kF16);
  if (problem.order == ProductOrder::kAmx) required.Add(Feature::kAmxOrder);
  if (StepOf(problem.order) != nullptr) required.Add(Feature::kStepOrder);
  if (problem.split > 1) required.Add(Feature::kSplit);
  if (problem.kv_lane) required.Add(Feature::kFp8Keys);
  if (problem.q_lane) required.Add(Feature::kFp8Queries);
  return required;
}

Result<SelectionReceipt> SelectBackend(
    std::span<const Backend> backends, FeatureSet required,
    const std::optional<std::string>& requested) {
  SelectionReceipt receipt;
  receipt.requested = requested.value_or("");
  receipt.explicit_request = requested.has_value();
  receipt.required = required;
  bool known = !requested;
  for (const Backend& backend : backends) {
    if (requested && backend.name != *requested) continue;
    known = true;
    receipt.tried.push_back({backend.name, Lacks(backend, required)});
    if (!receipt.tried.back().reason.empty()) continue;
    receipt.selected = backend.name;
    return receipt;
  }
  if (!known) {
    return Status::Error("backend '" + *requested + "' is not known");
  }
  return Status::Error("no backend can serve the request (" +
                       FeatureNames(required) + "): " + Chain(receipt.tried));
}

Result<FallbackReceipt> FallBack(std::span<const Backend> backends,
                                 const SelectionReceipt& selection) {
  FallbackReceipt receipt;
  receipt.requested = selection.selected;
  const auto first = std::find_if(backends.begin(), backends.end(),
                                  [&](const Backend& backend) {
                                    return backend.name == selection.selected;
                                  });
  for (auto at = first; at != backends.end(); ++at) {
    const std::string lacks = Lacks(*at, selection.required);
    const std::string reason = !lacks.empty()        ? lacks
                               : at->available       ? ""
                               : at->why_not.empty() ? "is not available"
                                                     : at->why_not;
    receipt.tried.push_back({at->name, reason});
    if (!reason.empty()) continue;
    receipt.actual = at->name;
    if (at != first) receipt.reason = receipt.tried[0].reason;
    return receipt;
  }
  return Status::Error(
      "'" + selection.selected +
      "' cannot run and nothing can step in: " + Chain(receipt.tried));
}

}  // namespace lockstep::optimized
