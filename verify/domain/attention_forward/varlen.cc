// Ragged batches.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "verify/case/attention_forward/case.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

// A count for each batch row; in one of four the row is empty.
std::vector<int64_t> DrawLengths(Draw* draw, int64_t batch, int64_t extent) {
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < batch; ++b) {
    lengths.push_back(draw->OneIn(4) ? 0 : draw->In(1, extent));
  }
  return lengths;
}

}  // namespace

std::vector<Case> WithVarlen(Draw* draw, std::vector<Case> sequence) {
  if (!draw->OneIn(20)) return sequence;
  std::vector<Case> varlen = sequence;
  for (Case& c : varlen) {
    AttentionForwardCase& a = c.Get<AttentionForwardCase>();
    a.layout = Layout::kVarlen;
    a.page = {};
    a.strides = {};
    a.valid_q = DrawLengths(draw, a.batch, a.q_len);
    a.valid_kv = DrawLengths(draw, a.batch, a.kv_len);
    int64_t& longest = *std::max_element(a.valid_q.begin(), a.valid_q.end());
    if (longest == 0) longest = a.q_len;
    const std::optional<Case> legal = NormalForm(c);
    if (!legal) return sequence;
    c = *legal;
  }
  return varlen;
}

}  // namespace lockstep::verify
