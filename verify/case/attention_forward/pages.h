// How large the pool of keys and values is that a case with page= has, and how
// it lies in memory.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_PAGES_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_PAGES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/text.h"

namespace lockstep::verify {

inline constexpr const char* kPagesForm =
    "none|SIZE[:hnd|nhd][:share=PAGES|:pool=PAGES:file:PATH]";

Result<PagedKeys> ParsePages(Scanner& in);
// Inverse of ParsePages.
std::string FormatPages(const PagedKeys& page);

// Pages of the pool that no batch row uses.
inline constexpr int64_t kUnusedPages = 2;

// Entries of a row of the table.
int64_t TableWidth(const AttentionForwardProblem& problem,
                   const PagedKeys& page);
// Pages of one batch row that hold a valid key.
int64_t PagesOfRow(const AttentionForwardProblem& problem,
                   const AttentionForwardInputs& inputs, const PagedKeys& page,
                   int64_t b);
// All pages, each shared one once; with a table of a file those that the line
// names.  Requires: page.any().
int64_t PoolPages(const AttentionForwardProblem& problem,
                  const AttentionForwardInputs& inputs, const PagedKeys& page);

// The strides of a pool [page, h, slot, d], in elements. `given` are those of
// the case.
std::array<int64_t, 4> PoolStrides(
    const PagedKeys& page, const std::array<int64_t, 4>& shape,
    const std::optional<std::array<int64_t, 4>>& given);

// What the case says of pages has a meaning. Requires: extents and counts are
// legal.
Status CheckPages(const AttentionForwardCase& c);
// Bytes of the pool and its table; 0 without pages.
int64_t PoolBytes(const AttentionForwardCase& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_PAGES_H_
