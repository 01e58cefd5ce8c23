// Version 7: keys and values in pages of a pool.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "verify/case/attention_forward/case.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {

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

}  // namespace lockstep::verify
