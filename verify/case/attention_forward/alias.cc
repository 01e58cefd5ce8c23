#include "verify/case/attention_forward/alias.h"

#include <string>

#include "verify/case/fill.h"

namespace lockstep::verify {

Status CheckAlias(const AttentionForwardCase& c) {
  if (c.v_in_k == 0) return {};
  const std::string what = "alias=v_in_k:" + std::to_string(c.v_in_k) + ": ";
  if (c.v_in_k != c.value_dim) {
    return Status::Error(what + "v has " + std::to_string(c.v_in_k) +
                         " channels, not dv=" + std::to_string(c.value_dim));
  }
  if (c.layout == Layout::kVarlen) {
    return Status::Error(what + "layout=varlen needs separate memory for v");
  }
  if (c.kv_lane)
    return Status::Error(what + "kvlane= needs separate memory for v");
  if (c.strides.v) return Status::Error(what + "v has the strides of k");
  for (const FillTerm& term : c.fill) {
    if (term.tensors != kFillV) continue;
    return Status::Error(what + "fill " + FormatFillTerm(term) +
                         " is of v, which has the numbers of k");
  }
  return {};
}

}  // namespace lockstep::verify
