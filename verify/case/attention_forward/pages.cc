#include "verify/case/attention_forward/pages.h"

#include <algorithm>
#include <string>

#include "reference/contract/attention_pages.h"
#include "reference/contract/checks.h"
#include "verify/base/sparse/element_ranges.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/views.h"
#include "verify/case/fill.h"

namespace lockstep::verify {
namespace {

using Axes = std::array<int64_t, 4>;

constexpr int64_t kMaxPool = INT32_MAX;  // entries of a table are 32 bits

struct Pool {
  const char* name;
  Axes shape;
  Axes strides;
};

// Of k and of v: [pages, kv heads, keys of a page, channels].
std::array<Axes, 2> PoolShapesOf(const AttentionForwardCase& c) {
  const int64_t pages = PoolPages(ToProblem(c), InputShapes(c), c.page);
  return {{{pages, c.kv_heads, c.page.size, c.head_dim},
           {pages, c.kv_heads, c.page.size, c.value_dim}}};
}

// Requires: the shapes have passed checks::CheckTensorSize, or products of
// their axes overflow.
std::array<Pool, 2> PoolsOf(const AttentionForwardCase& c) {
  const auto [k, v] = PoolShapesOf(c);
  const Axes k_strides = PoolStrides(c.page, k, c.strides.k);
  return {{{"k", k, k_strides},
           {"v", v,
            c.v_in_k > 0 ? k_strides : PoolStrides(c.page, v, c.strides.v)}}};
}

Status CheckShared(const AttentionForwardCase& c) {
  if (c.page.shared == 0) return {};
  const std::string what =
      "page: share=" + std::to_string(c.page.shared) + ": ";
  if (c.batch < 2) {
    return Status::Error(what + "there is one batch row; want b=2 or more");
  }
  const int64_t shortest =
      *std::min_element(c.valid_kv.begin(), c.valid_kv.end());
  if (c.page.shared > shortest / c.page.size) {
    return Status::Error(what + "a batch row has " + std::to_string(shortest) +
                         " keys, which fill " +
                         std::to_string(shortest / c.page.size) + " pages of " +
                         std::to_string(c.page.size));
  }
  for (const FillTerm& term : c.fill) {
    const bool own = term.kind == FillKind::kFile ||
                     term.kind == FillKind::kProbe ||
                     term.kind == FillKind::kPoison;
    if (!own) continue;
    return Status::Error(what + "fill " + FormatFillTerm(term) +
                         " gives every batch row its own keys");
  }
  return {};
}

// After "pool=".
Status ParsePool(Scanner& in, PagedKeys* page) {
  const size_t start = in.position();
  ASSIGN_OR_RETURN(page->pool, in.Int());
  if (page->pool < 1 || page->pool > kMaxPool) {
    return in.ErrorAt(start, "a pool of " + std::to_string(page->pool) +
                                 " pages is out of range; want 1.." +
                                 std::to_string(kMaxPool));
  }
  if (!in.Accept(':') || !in.AcceptWord("file") || !in.Accept(':')) {
    return in.Error("expected pool=PAGES:file:PATH, found " + Quote(in.Rest()));
  }
  return ScanPinned(in, "pool=PAGES:file:", "", &page->path, &page->digest);
}

}  // namespace

Result<PagedKeys> ParsePages(Scanner& in) {
  PagedKeys page;
  if (in.AcceptWord("none")) return page;
  const size_t start = in.position();
  ASSIGN_OR_RETURN(page.size, in.Int());
  if (page.size < 1 || page.size > kMaxPageSize) {
    return in.ErrorAt(start, "a page of " + std::to_string(page.size) +
                                 " keys is out of range; want 1.." +
                                 std::to_string(kMaxPageSize));
  }
  bool more = in.Accept(':');
  page.nhd = more && in.AcceptWord("nhd");
  if (page.nhd || (more && in.AcceptWord("hnd"))) more = in.Accept(':');
  if (!more) return page;
  const bool pool = in.AcceptWord("pool");
  if ((!pool && !in.AcceptWord("share")) || !in.Accept('=')) {
    return in.Error("expected hnd, nhd, share=PAGES or pool=PAGES, found " +
                    Quote(in.Rest()));
  }
  if (pool) {
    RETURN_IF_ERROR(ParsePool(in, &page));
  } else {
    ASSIGN_OR_RETURN(page.shared, in.Count());
  }
  return page;
}

std::string FormatPages(const PagedKeys& page) {
  if (!page.any()) return "none";
  const std::string text =
      std::to_string(page.size) + (page.nhd ? ":nhd" : "") +
      (page.shared > 0 ? ":share=" + std::to_string(page.shared) : "");
  if (!page.from_file()) return text;
  return text + ":pool=" + std::to_string(page.pool) +
         ":file:" + FormatPinned(page.path, page.digest);
}

int64_t TableWidth(const AttentionForwardProblem& problem,
                   const PagedKeys& page) {
  return (problem.kv_len + page.size - 1) / page.size;
}

int64_t PagesOfRow(const AttentionForwardProblem& problem,
                   const AttentionForwardInputs& inputs, const PagedKeys& page,
                   int64_t b) {
  return (inputs.ValidKv(problem, b) + page.size - 1) / page.size;
}

int64_t PoolPages(const AttentionForwardProblem& problem,
                  const AttentionForwardInputs& inputs, const PagedKeys& page) {
  if (page.from_file()) return page.pool;
  int64_t pages = kUnusedPages + page.shared;
  for (int64_t b = 0; b < problem.batch; ++b) {
    pages += PagesOfRow(problem, inputs, page, b) - page.shared;
  }
  return pages;
}

Axes PoolStrides(const PagedKeys& page, const Axes& shape,
                 const std::optional<Axes>& given) {
  if (given) return *given;
  return LayoutStrides(page.nhd ? Layout::kBshd : Layout::kBhsd, shape);
}

Status CheckPages(const AttentionForwardCase& c) {
  if (!c.page.any()) return {};
  RETURN_IF_ERROR(CheckShared(c));
  const auto [k, v] = PoolShapesOf(c);
  RETURN_IF_ERROR(checks::CheckTensorSize("pool of k", k));
  RETURN_IF_ERROR(checks::CheckTensorSize("pool of v", v));
  for (const Pool& pool : PoolsOf(c)) {
    const std::string name = std::string("strides of the pool of ") + pool.name;
    if (pool.strides[3] != 1) {
      return Status::Error(name + ": channels lie " +
                           std::to_string(pool.strides[3]) +
                           " elements apart; want 1");
    }
    RETURN_IF_ERROR(
        checks::CheckNoOverlap(name.c_str(), pool.shape, pool.strides));
    if (ElementSpan(pool.shape, pool.strides) > kMostReach / 4) {
      return Status::Error(name + ": it reaches over more than " +
                           std::to_string(kMostReach) + " bytes");
    }
  }
  return {};
}

int64_t PoolBytes(const AttentionForwardCase& c) {
  if (!c.page.any()) return 0;
  const auto lane = static_cast<int64_t>(LaneBytes(c.kv_lane.value_or(c.lane)));
  int64_t bytes = 4 * c.batch * (1 + (c.kv_len - 1) / c.page.size + 1);
  for (const Pool& pool : PoolsOf(c)) {
    if (c.v_in_k > 0 && pool.name[0] == 'v') continue;  // v's pool is k's
    const int64_t taken =
        BytesIn(ElementRanges(pool.shape, pool.strides, lane));
    if (__builtin_add_overflow(bytes, taken, &bytes)) return INT64_MAX;
  }
  return bytes;
}

}  // namespace lockstep::verify
