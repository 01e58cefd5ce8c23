#include "reference/contract/attention_pages.h"

#include <array>
#include <string>

#include "reference/contract/checks.h"

namespace lockstep {
namespace {

using checks::Text;

Status CheckPool(const char* name, const LaneView& pool, int64_t pages,
                 int64_t channels, const AttentionForwardProblem& p,
                 int64_t size) {
  Status status = checks::CheckLaneTensor(
      name, pool, std::array<int64_t, 4>{pages, p.kv_heads, size, channels},
      p.key_lane());
  if (!status.ok() || pool.strides[3] == 1 || channels == 1) return status;
  return Status::Error(std::string(name) + " has channels " +
                       Text(pool.strides[3]) + " elements apart; want 1");
}

Status CheckEntries(const AttentionForwardProblem& p,
                    const AttentionForwardInputs& inputs,
                    const KeyPages& pages) {
  for (int64_t b = 0; b < p.batch; ++b) {
    const int64_t keys = inputs.ValidKv(p, b);
    for (int64_t n = 0; n * pages.size < keys; ++n) {
      const int64_t page = pages.table(b, n);
      if (0 <= page && page < pages.pages()) continue;
      return Status::Error("page_table[" + Text(b) + "," + Text(n) + "] is " +
                           Text(page) + "; want 0.." + Text(pages.pages() - 1));
    }
  }
  return Status();
}

}  // namespace

AttentionForwardInputs WithoutPages(const AttentionForwardInputs& inputs,
                                    const AttentionForwardProblem& problem,
                                    const KeyPages& pages) {
  AttentionForwardInputs all = inputs;
  const auto lead = [&](const LaneView& pool) {
    LaneView to = pool;
    to.shape[0] = problem.batch;
    to.shape[2] = problem.kv_len;
    to.strides[0] = 0;
    return to;
  };
  all.k = lead(pages.k);
  all.v = lead(pages.v);
  return all;
}

Status CheckKeyPages(const AttentionForwardProblem& p,
                     const AttentionForwardInputs& inputs,
                     const KeyPages& pages) {
  Status status = checks::CheckExtent("page", pages.size, kMaxPageSize);
  if (status.ok() && pages.pages() < 1) {
    status = Status::Error("k_pages has no page");
  }
  if (status.ok()) {
    status =
        CheckPool("k_pages", pages.k, pages.pages(), p.head_dim, p, pages.size);
  }
  if (status.ok()) {
    status = CheckPool("v_pages", pages.v, pages.pages(), p.value_dim, p,
                       pages.size);
  }
  if (status.ok()) {
    status = checks::CheckTensor(
        "page_table", pages.table,
        std::array<int64_t, 2>{p.batch,
                               (p.kv_len + pages.size - 1) / pages.size});
  }
  return status.ok() ? CheckEntries(p, inputs, pages) : status;
}

}  // namespace lockstep
