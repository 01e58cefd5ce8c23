// Keys and values put into the pages of a pool, as a case with page= hands them
// to a kernel. The truth is computed from k and v as they are; a kernel gets
// the pool, the table and the lengths in their place.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PAGES_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_pages.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {

struct KeyPool {
  LaneTensor k, v;  // [page, h, slot, d]; v in k is a view
  // [batch, most pages]: behind the last page of a row -1, or large numbers.
  std::vector<int32_t> table;
  int64_t width = 0;  // most pages of a row

  KeyPages view() const;
  // Of every byte, guard zones and slots without a key included.
  std::string StorageDigest() const;
};

// Where each row's pages lie is drawn from the spec's seed. Slots without a
// key, and pages that no row uses, hold NaN; of a kernel that computes with
// what it masks, large numbers. Errors: memory.
//   Requires: data.pages.
Result<KeyPool> MakeKeyPool(const AttentionForwardData& data);

// Gives each key in a page that rows share the elements that it has in the
// first row with that page. With v in k both are written. Nothing without
// pages.
void ShareKeys(AttentionForwardData* data);

// Whether rows that share a page have the same keys and values in it, by bits.
// Error: the first slot where two differ.
Status CheckSharedKeys(const AttentionForwardData& data);

// k_pages, v_pages, page_table and kv_len in place of k and v, and the scalars
// page_size and page_order: docs/wire.md. Refers to the pool, that of the data.
void HandOverPages(const AttentionForwardData& data, const KeyPool& pool,
                   KernelInputs* inputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PAGES_H_
