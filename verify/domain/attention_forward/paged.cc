// Keys and values in pages of a pool, and its strides.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "verify/case/attention_forward/case.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

// Pool says how K and V share memory. kBlocks and kSlots have each block, or
// each slot, of K before that of V, as vLLM and FlashInfer do. Pages of kBeyond
// lie over 2^31 elements.
enum class Pool : uint8_t { kDense, kBlocks, kSlots, kBeyond };

// `gap`: elements behind each page.
void LayPool(Pool pool, int64_t gap, AttentionForwardCase* a) {
  const auto strides = [&](int64_t channels, int64_t other) {
    const int64_t width = channels + (pool == Pool::kSlots ? other : 0);
    const int64_t slot = a->page.nhd ? a->kv_heads * width : width;
    const int64_t head = a->page.nhd ? channels : a->page.size * width;
    int64_t page = a->page.size * a->kv_heads * width + gap;
    if (pool == Pool::kBlocks) page += a->page.size * a->kv_heads * other;
    if (pool == Pool::kBeyond) {
      const int64_t pages = (a->kv_len - 1) / a->page.size + 1;
      page = std::max(page, (int64_t{1} << 31) / pages + gap);
    }
    return std::array<int64_t, 4>{page, head, slot, 1};
  };
  // V in K has K's memory.
  const int64_t dv = a->v_in_k > 0 ? 0 : a->value_dim;
  a->strides.k = strides(a->head_dim, dv);
  if (dv > 0) a->strides.v = strides(dv, a->head_dim);
}

}  // namespace

std::vector<Case> WithPages(Draw* draw, std::vector<Case> sequence) {
  if (!draw->OneIn(20)) return sequence;
  PagedKeys page;
  page.size = draw->Of<int64_t>({1, 2, 3, 4, 4, 7, 8, 16, 16, 64});
  page.nhd = draw->OneIn(2);
  const bool share = draw->OneIn(2);
  std::vector<Case> paged = sequence;
  for (Case& c : paged) {
    AttentionForwardCase& a = c.Get<AttentionForwardCase>();
    a.page = page;
    a.strides.k = a.strides.v = std::nullopt;  // of other tensors
    const int64_t shortest =
        *std::min_element(a.valid_kv.begin(), a.valid_kv.end());
    if (share) a.page.shared = std::min<int64_t>(shortest / page.size, 2);
    std::optional<Case> legal = NormalForm(c);
    if (!legal) {
      a.page.shared = 0;
      legal = NormalForm(c);
    }
    if (!legal) return sequence;
    c = *legal;
  }
  return paged;
}

std::vector<Case> WithPoolStrides(Draw* draw, std::vector<Case> sequence) {
  const auto paged = [](const Case& c) {
    return c.Get<AttentionForwardCase>().page.any();
  };
  if (!std::all_of(sequence.begin(), sequence.end(), paged)) return sequence;
  const auto pool = draw->Of({Pool::kDense, Pool::kDense, Pool::kDense,
                              Pool::kBlocks, Pool::kSlots, Pool::kBeyond});
  const int64_t gap = draw->Of<int64_t>({0, 0, 1, 8});
  if (pool == Pool::kDense) return sequence;
  std::vector<Case> laid = sequence;
  for (Case& c : laid) {
    LayPool(pool, gap, &c.Get<AttentionForwardCase>());
    const std::optional<Case> legal = NormalForm(c);
    if (!legal) return sequence;
    c = *legal;
  }
  return laid;
}

}  // namespace lockstep::verify
