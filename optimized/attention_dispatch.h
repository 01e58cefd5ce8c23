// Which kernel serves a request, and which one steps in when it cannot run: two
// functions with a receipt each. A kernel is eligible only if it declares every
// feature that the request needs; nothing is dropped to make one fit.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_DISPATCH_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_DISPATCH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

enum class Feature : uint8_t {
  kSoftcap,
  kMask,  // causal, windows, chunks, prefixes, and trees of them
  kSinkTokens,
  kDenseMask,
  kHeadMasks,  // a mask of its own for every head
  kSegments,
  kValidCounts,
  kSinkLogit,
  kGroupedHeads,
  kOtherValueDim,
  kBf16,
  kAmxOrder,   // products in blocks (N20)
  kStepOrder,  // products in a GPU's steps (N21)
  kF16,
  kSplit,    // the keys in parts (N22)
  kFp8Keys,  // keys and values in fp8, and their scales (N25)
  kFp8Queries,
};

// Bits by Feature.
struct FeatureSet {
  uint32_t bits = 0;

  void Add(Feature feature) {
    bits |= uint32_t{1} << static_cast<uint32_t>(feature);
  }
  bool Has(Feature feature) const {
    return (bits >> static_cast<uint32_t>(feature) & 1) != 0;
  }
  friend bool operator==(FeatureSet, FeatureSet) = default;
};
FeatureSet AllFeatures();

// "softcap segments", in the order of Feature.
std::string FeatureNames(FeatureSet features);

// What the call cannot do without. Time O(mask terms).
FeatureSet RequiredFeatures(const AttentionForwardProblem& problem,
                            const AttentionForwardInputs& inputs);

struct Backend {
  std::string name;
  FeatureSet declares;
  bool available = true;
  std::string why_not{};  // of one that is not available
};

// A backend that was looked at, and why it was passed over; empty: taken.
struct Tried {
  std::string name;
  std::string reason;
};

struct SelectionReceipt {
  std::string requested;          // empty: left to us
  bool explicit_request = false;  // a name was given
  FeatureSet required;
  std::vector<Tried> tried;
  std::string selected;
};

// The backend asked for by name, or else the first in `backends` that is
// eligible. Availability is not looked at: what was selected but did not run is
// the fallback's to say. Errors: an unknown name, one that lacks a feature (it
// is never exchanged for another), none eligible.
Result<SelectionReceipt> SelectBackend(
    std::span<const Backend> backends, FeatureSet required,
    const std::optional<std::string>& requested);

struct FallbackReceipt {
  std::string requested;  // what was selected
  std::string actual;
  std::string reason;  // empty exactly if they are the same
  std::vector<Tried> tried;
};

// The selected backend if it is available, or else the first of those behind it
// that is both eligible and available. Errors: none is.
Result<FallbackReceipt> FallBack(std::span<const Backend> backends,
                                 const SelectionReceipt& selection);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_DISPATCH_H_
