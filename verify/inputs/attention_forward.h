// From a case to its tensors: a pure function of the case (and of the files it
// pins), the same bits on every machine. Counter-based: element e of tensor t
// depends on (gen, seed, t, e) only. Families: FillFamilies(), docs/cases.md.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"
#include "verify/inputs/materialise.h"

namespace lockstep::verify {

// How keys and values are put into pages (attention_forward/pages.h).
struct PageSpec {
  PagedKeys how;
  std::optional<std::array<int64_t, 4>> k_strides, v_strides;  // of the pools
  // The table of a file: [batch, ceil(kv_len / size)]; empty: the pages' places
  // are drawn.
  std::vector<int32_t> given;
  bool shared = false;  // rows have pages in common
  uint64_t seed = 0;    // of the pages' places
  int64_t shift = 0;    // elements that pools start behind a 64-byte boundary
  // Entries of the table behind a row's last page: large numbers, not -1.
  bool large_entries = false;
};

// The lists of an index term (attention_forward/lists.h). Code that does not
// want lists takes the dense mask of that number.
struct KeyLists {
  size_t dense = 0;
  int64_t entries = 0;
  std::vector<int32_t>
      given;  // [batch, kv head, query, entry], as drawn or read
};

// How a ragged batch is laid out (attention_forward/varlen.h).
struct VarlenSpec {
  int64_t shift = 0;  // elements that tensors start behind a 64-byte boundary
};

// Problem and inputs of a case, with the memory behind the views. Moving keeps
// the views good.
struct AttentionForwardData {
  AttentionForwardProblem problem;
  AttentionForwardInputs inputs;

  LaneTensor q, k;
  LaneTensor v;  // with problem.v_in_k a view of k, without memory of its own
  GuardedBuffer q_seg, kv_seg, sink, k_scale, v_scale, q_scale;
  std::vector<GuardedBuffer> dense_masks;
  // A kernel may want the lists in place of their dense mask.
  std::optional<KeyLists> lists;
  // A kernel gets k and v in pages.
  std::optional<PageSpec> pages;
  // A kernel gets q, k and v, and its outputs, as a ragged batch.
  std::optional<VarlenSpec> varlen;

  // Of the logical contents of all inputs, payload counts included: DigestText
  // of one line "name shape digest" each. What a receipt names.
  std::string InputDigest() const;
  // Of every byte, guard zones and padding included: equal before and after a
  // call that left its inputs alone.
  std::string StorageDigest() const;
};

// Makes data.v the first channels of data.k, and points the inputs at both.
//   Requires: data.problem.v_in_k, data.k.
void PutValuesInKeys(AttentionForwardData* data);

// Reverses that: v gets memory of its own, and problem.v_in_k is false. Errors:
// memory.  Requires: data.problem.v_in_k.
Status TakeValuesOut(AttentionForwardData* data);

// Errors: ValidateCase, max_bytes, memory, files (absent, hostile, wrong
// shape, type or digest). One line each.
Result<AttentionForwardData> Materialise(const Case& c,
                                         const MaterialiseOptions& options);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_H_
