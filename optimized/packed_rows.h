// Packed rows: whole documents back to back, then padding. From a pipeline's
// document ids to the segment ids and counts of the contract.
#ifndef LOCKSTEP_OPTIMIZED_PACKED_ROWS_H_
#define LOCKSTEP_OPTIMIZED_PACKED_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::optimized {

// The id of padding in document ids.
inline constexpr int32_t kNoDocument = -1;
// The ids of padding in segment ids: queries and keys never match, each other
// or a document.
inline constexpr int32_t kQueryPadding = -1;
inline constexpr int32_t kKeyPadding = -2;

// A pipeline's own arrays. Only `num_docs` and `loss_mask` may be absent, and
// are then not checked; what is required and missing is an error, never zeros.
struct PackedRows {
  TensorView<const int32_t, 2> doc_ids;    // [batch, length]
  std::span<const int64_t> valid;          // [batch]: tokens before padding
  std::span<const int64_t> num_docs;       // [batch]
  TensorView<const uint8_t, 2> loss_mask;  // [batch, length]
};

// A document id that comes back after another one.
enum class RepeatedIds : uint8_t {
  kRefuse,  // and ids that decrease: no packer of whole documents makes them
  kAsNew,   // is another document
  kMerge,   // is the same document, which sees across the one between
};

// Refuses, naming rule, row and token:
//   V1 0 <= valid <= length; V2 ids >= 0 exactly on the valid tokens, -1 on
//   padding; V3 ids do not decrease; V4 each id is one run (both for kRefuse
//   only); V5 num_docs counts the ids; V6 loss_mask is 0 on padding; V7 the
//   arrays agree in shape.
Status ValidatePackedRows(const PackedRows& rows, RepeatedIds repeated);

// What the contract takes, dense, [batch][length].
struct SegmentIds {
  std::vector<int32_t> q;      // from 0 in every row; kQueryPadding on padding
  std::vector<int32_t> kv;     // the same; kKeyPadding on padding
  std::vector<int64_t> valid;  // [batch]
  std::vector<int32_t> num_segments;  // [batch]
};

// Errors: ValidatePackedRows. Time O(tokens), with kMerge
// O(tokens * log(documents)).
Result<SegmentIds> SegmentsOf(const PackedRows& rows, RepeatedIds repeated);

// V8: whether every number of a segment, padding included, fits signed integers
// of `bytes` (1, 2, 4), as a kernel may hold ids. Errors: the first row that
// has too many.
Status CheckIdsFit(const SegmentIds& ids, int bytes);

// The rule by itself, on one row and without validation: a new segment, from
// 0, wherever the id changes; padding is a segment like any other.
std::vector<int32_t> RunsOf(std::span<const int32_t> doc_ids);

// Document ids from the tokens that begin documents: how many of them came so
// far. Tokens before the first have id 0, padding that of the last document.
std::vector<int32_t> DocumentsFromStarts(std::span<const uint8_t> is_start);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_PACKED_ROWS_H_
