// The mask language: a tree of predicates over (query, key). What a tree
// means is said once, by IsVisible in reference/mask.h.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_MASK_H_
#define LOCKSTEP_REFERENCE_CONTRACT_MASK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep {

// A window side without a bound.
inline constexpr int64_t kUnlimited = -1;

// Query i stands at position i + offset on the key axis; one offset serves
// causal, window, chunked and prefix terms alike.
struct Alignment {
  enum class Kind : uint8_t {
    kTopLeft,      // offset 0
    kBottomRight,  // offset = valid keys - valid queries, per batch row
    kOffset,       // as given
  };
  Kind kind = Kind::kTopLeft;
  int64_t offset = 0;  // for kOffset only
  friend bool operator==(const Alignment&, const Alignment&) = default;
};

// With back = (i + offset) - j, how far key j lies behind query i:
struct MaskExpr {
  enum class Kind : uint8_t {
    kFull,     // true
    kCausal,   // back >= 0
    kWindow,   // back <= left and -back <= right
    kChunked,  // back >= 0 and floor((i + offset) / chunk) == floor(j / chunk)
    kPrefix,   // back >= 0 or j < prefix of the batch row
    kSink,     // one of the first `tokens` keys of its run
    kDense,    // dense_masks[dense](batch, head, i / block_q, j / block_k) != 0
    kAnd,      // all children
    kOr,       // any child
  };
  Kind kind = Kind::kFull;
  int64_t left = kUnlimited;       // kWindow: keys behind the query's own
  int64_t right = kUnlimited;      // kWindow: keys ahead of the query's own
  int64_t chunk = 0;               // kChunked: > 0
  int64_t tokens = 0;              // kSink: >= 0
  std::vector<int64_t> prefix;     // kPrefix: one count, or one per batch row
  size_t dense = 0;                // kDense: index of the tensor
  int64_t block_q = 1;             // kDense: queries that one element is for
  int64_t block_k = 1;             // kDense: keys that one element is for
  std::vector<MaskExpr> children;  // kAnd, kOr: two or more
  friend bool operator==(const MaskExpr&, const MaskExpr&) = default;
};

// Deepest tree accepted: evaluation recurses.
inline constexpr int kMaxMaskDepth = 32;

// Refuses parameters out of range, a wrong number of children or prefixes, a
// tree too deep, a dense index not below `dense_masks`, blocks beyond
// 1..kMaxLength.
Status ValidateMask(const MaskExpr& mask, int64_t batch, size_t dense_masks);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_MASK_H_
