// What a case takes from files: tensors pinned by their digest, and segment
// ids, masks, lists and tables of pages of a user's own file. That file needs
// no other tensors.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_FILE_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_FILE_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/io/safetensors.h"
#include "verify/inputs/fill.h"
#include "verify/inputs/materialise.h"

namespace lockstep::verify {

// The file of a case: the first one found whose digest fits (any, if `digest`
// is empty). Errors: absent, hostile or larger than max_bytes, another digest.
Result<SafetensorsFile> OpenPinned(const std::string& path,
                                   const std::string& digest,
                                   const MaterialiseOptions& options);

// The file's tensor `name`, of any lane, as what file terms of the plan read;
// the plan then points into the file. Errors: no such tensor, another type or
// shape.
Status PlanFileTensor(const SafetensorsFile& file, const char* name,
                      const std::array<int64_t, 4>& shape, FillPlan* plan);

// The tensor `name` of the file, or its only one: I32 or I64, shape [s] or
// [1, s] for all batch rows, or [b, s]. `shape` is {b, s}; writes b * s ids.
// Errors: no such tensor, another type or shape, an id beyond 32 bits.
Status CopySegmentIds(const SafetensorsFile& file, const std::string& name,
                      const std::array<int64_t, 2>& shape, int32_t* ids);

// Lists of keys, shape [b, hkv, sq, K]: the tensor `indices` of the file, or
// its only tensor. It is I32 or I64 and has that shape, [sq, K], or 1 for b or
// hkv. Errors, one line with the path: no such tensor, another type or shape,
// an entry that is no key and not -1, a key behind a -1.
Result<std::vector<int32_t>> FindLists(const SafetensorsFile& file,
                                       const std::array<int64_t, 4>& shape,
                                       int64_t kv_len);

struct PageTable {
  std::vector<int32_t> pages;  // [b, width], row-major
  bool shared = false;         // rows have pages in common
};

// A table of pages: the tensor `page_table` of the file, or its only tensor. It
// is I32 or I64, [b, N], or [N] for one row; row b uses its first used[b]
// entries. Entries behind `width` are dropped, and missing ones are -1. Errors,
// one line with the path: no such tensor, another type or shape, N below what a
// row uses, an entry that names no page of the pool (behind the used ones -1 is
// right, too), a page at two places of a row or at other places of two rows.
Result<PageTable> FindPageTable(const SafetensorsFile& file,
                                const std::vector<int64_t>& used, int64_t width,
                                int64_t pool);

struct WantedMask {
  const char* name;
  int64_t batch, heads, rows, columns;
};

struct FoundMask {
  std::array<int64_t, 4> shape;    // [1 or batch, 1 or heads, rows, columns]
  std::span<const uint8_t> bytes;  // each 0 or 1; lies in the file
};

// The tensor of that name, or the file's only one: U8 or BOOL, of the shape
// above or [rows, columns]. Errors, one line with the path: no such tensor,
// another type or shape, an element that is neither 0 nor 1.
Result<FoundMask> FindMask(const SafetensorsFile& file,
                           const WantedMask& wanted);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_FILE_H_
