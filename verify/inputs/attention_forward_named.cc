#include <cstdint>
#include <string>
#include <vector>

#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {
namespace {

// One prefix per batch row, whatever the expression has.
MaskExpr Resolved(MaskExpr mask, int64_t batch) {
  if (mask.kind == MaskExpr::Kind::kPrefix && mask.prefix.size() == 1) {
    mask.prefix.assign(static_cast<size_t>(batch), mask.prefix[0]);
  }
  for (MaskExpr& child : mask.children) {
    child = Resolved(std::move(child), batch);
  }
  return mask;
}

}  // namespace

KernelInputs NameInputs(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs) {
  const AttentionForwardProblem& p = problem;
  KernelInputs named;
  named.op = "attention_forward";
  std::vector<int32_t> valid_q, valid_kv;
  std::vector<int64_t> offsets;
  for (int64_t b = 0; b < p.batch; ++b) {
    // Counts are at most a length, which case lines keep below 2^26.
    valid_q.push_back(static_cast<int32_t>(inputs.ValidQ(p, b)));
    valid_kv.push_back(static_cast<int32_t>(inputs.ValidKv(p, b)));
    offsets.push_back(inputs.Offset(p, b));
  }
  named.scalars = {{"b", p.batch},
                   {"hq", p.q_heads},
                   {"hkv", p.kv_heads},
                   {"sq", p.q_len},
                   {"skv", p.kv_len},
                   {"d", p.head_dim},
                   {"dv", p.value_dim},
                   {"lane", std::string(LaneName(p.lane))},
                   {"p", std::string(LaneName(p.p_lane))},
                   {"order", std::string(OrderName(p.order))},
                   {"split", p.split},
                   {"scale", p.scale},
                   {"softcap", p.softcap ? ScalarValue(*p.softcap)
                                         : ScalarValue(std::monostate())},
                   {"offset", offsets}};
  if (p.kv_lane) {
    named.scalars.push_back({"kvlane", std::string(LaneName(*p.kv_lane))});
    named.scalars.push_back({"k_scale_keys", p.k_scales.keys()});
    named.scalars.push_back({"v_scale_keys", p.v_scales.keys()});
  }
  if (p.q_lane) {
    named.scalars.push_back({"qlane", std::string(LaneName(*p.q_lane))});
    named.scalars.push_back({"q_scale_queries", p.q_scales.keys()});
  }
  if (p.v_in_k) named.scalars.emplace_back("v_in_k", p.value_dim);
  for (const MaskExpr& mask : p.masks) {
    named.masks.push_back(Resolved(mask, p.batch));
  }
  named.Add("q", inputs.q);
  named.Add("k", inputs.k);
  named.Add("v", inputs.v);
  if (p.segments) {
    named.Add("q_seg", ElementType::kI32, inputs.q_seg);
    named.Add("kv_seg", ElementType::kI32, inputs.kv_seg);
  }
  named.AddIntegers("valid_q", {p.batch}, valid_q);
  named.AddIntegers("valid_kv", {p.batch}, valid_kv);
  if (p.sink) named.Add("sink", ElementType::kF32, inputs.sink);
  named.Add("k_scale", ElementType::kF32, inputs.k_scale);
  named.Add("v_scale", ElementType::kF32, inputs.v_scale);
  named.Add("q_scale", ElementType::kF32, inputs.q_scale);
  for (size_t n = 0; n < inputs.dense_masks.size(); ++n) {
    named.Add(("dense_mask_" + std::to_string(n)).c_str(), ElementType::kU8,
              inputs.dense_masks[n]);
  }
  return named;
}

std::vector<NamedOutput> NameOutputs(const AttentionForwardOutputs& outputs) {
  return {NameOutput("o", outputs.o), NameOutput("lse", outputs.lse)};
}

}  // namespace lockstep::verify
