#include "verify/case/attention_backward.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/varlen.h"
#include "verify/case/cotangent.h"
#include "verify/case/fill.h"
#include "verify/case/text.h"

namespace lockstep::verify {
namespace {

using Ab = AttentionBackwardCase;

Status ParseLseCotangent(Scanner& in, int64_t, Case& c) {
  if (in.AcceptWord("none")) {
    c.Get<Ab>().dlse.reset();
    return {};
  }
  ASSIGN_OR_RETURN(auto term, ParseSingleFill(in, "a cotangent of lse"));
  c.Get<Ab>().dlse = std::move(term);
  return {};
}

constexpr CaseKey GradKey() {
  CaseKey key = keys::LaneKey<&Ab::grad_lane>("grad");
  // Frameworks give a gradient the type of what it is the gradient of.
  key.set_default = [](Case& c) { c.Get<Ab>().grad_lane = c.Get<Ab>().lane; };
  return key;
}

const CaseKey kGradientKeys[] = {
    GradKey(),
    CotangentKey<&Ab::d_o>("do"),
    {"dlse", "none|normal:SIGMA|const:X",
     [](Case& c) { c.Get<Ab>().dlse.reset(); }, ParseLseCotangent,
     [](const Case& c, int64_t) {
       const auto& dlse = c.Get<Ab>().dlse;
       return dlse ? FormatFillTerm(*dlse) : std::string("none");
     },
     nullptr},
};

bool IsFile(const FillTerm& term) {
  return term.kind == FillKind::kFile && term.tensors == kFillAll;
}

Status CheckCotangents(const AttentionBackwardCase& c) {
  std::vector<FillTerm> drawn = c.d_o;
  if (std::erase_if(drawn, IsFile) > 1) {
    return Status::Error("do: at most one file: term");
  }
  RETURN_IF_ERROR(CheckCotangent("do", drawn));
  if (!c.dlse) return {};
  const Status status = ValidateFillTerm(*c.dlse);
  return status.ok() ? status : Status::Error("dlse: " + status.message());
}

}  // namespace

std::span<const CaseKey> AttentionBackwardKeys() {
  static const std::vector<CaseKey> kWithCotangents = [] {
    std::vector<CaseKey> keys;
    for (const CaseKey& key : AttentionForwardKeys()) {
      const std::string_view name = key.name;
      if (name == "order" || name == "split" || name == "page" ||
          name == "alias" || name == "kvlane" || name == "kscale" ||
          name == "qlane" || name == "qscale" || name == "vscale") {
        continue;
      }
      if (name == "expect") {
        keys.insert(keys.end(), std::begin(kGradientKeys),
                    std::end(kGradientKeys));
      }
      keys.push_back(key);
    }
    return keys;
  }();
  return kWithCotangents;
}

AttentionBackwardProblem ToBackwardProblem(const AttentionBackwardCase& c) {
  return {ToProblem(c), c.grad_lane, c.dlse.has_value()};
}

std::string WhyNotAttentionBackwardProbe(ProbeKind probe, const Case& c) {
  if (probe < ProbeKind::kGradKeys || probe > ProbeKind::kGradOwnQueries) {
    return "a probe of another op proves nothing about gradients";
  }
  const AttentionForwardCase& a = c.Get<AttentionForwardCase>();
  for (const auto& strides : {a.strides.q, a.strides.k, a.strides.v}) {
    if (strides &&
        std::find(strides->begin(), strides->end(), 0) != strides->end()) {
      return "a stride of 0 joins elements that differ";
    }
  }
  return "";
}

Case WithoutGradProbe(const Case& c) {
  Case plain = c;
  auto& fill = plain.Get<AttentionForwardCase>().fill;
  if (!ProbeIn(fill)) return plain;
  DropProbe(&fill);
  fill.insert(fill.begin(), AttentionForwardCase().fill[0]);
  return plain;
}

Status ValidateAttentionBackward(const Case& c) {
  const AttentionBackwardCase& a = c.Get<AttentionBackwardCase>();
  if (const auto probe = ProbeOf(a)) {
    const std::string why = WhyNotAttentionBackwardProbe(*probe, c);
    if (!why.empty()) {
      return Status::Error(std::string("fill probe:") + ProbeName(*probe) +
                           ": " + why);
    }
  }
  Status status = ValidateAttentionForward(WithoutGradProbe(c));
  if (status.ok()) status = CheckVarlenGradients(a);
  if (status.ok()) status = Validate(ToBackwardProblem(a));
  // A key head's gradients are sums over its whole group.
  if (status.ok() && c.shard && c.shard->count > a.kv_heads) {
    status = Status::Error("shard=" + FormatShard(*c.shard) +
                           ": hkv=" + std::to_string(a.kv_heads) +
                           "; a shard of gradients has whole key heads");
  }
  return status.ok() ? CheckCotangents(a) : status;
}

int64_t AttentionBackwardBytes(const Case& c) {
  const AttentionBackwardCase& a = c.Get<AttentionBackwardCase>();
  const auto lane = static_cast<int64_t>(LaneBytes(a.lane));
  const auto grad = static_cast<int64_t>(LaneBytes(a.grad_lane));
  // Extents are within the contract's limits: each product is below 2^50.
  const int64_t queries = a.batch * a.q_heads * a.q_len;
  const int64_t keys = a.batch * a.kv_heads * a.kv_len;
  const int64_t bytes = queries * (a.value_dim * lane + 8 + a.head_dim * grad) +
                        keys * (a.head_dim + a.value_dim) * grad +
                        a.q_heads * 4;
  int64_t sum = 0;
  const bool over =
      __builtin_add_overflow(AttentionForwardBytes(c), bytes, &sum);
  return over ? INT64_MAX : sum;
}

bool AttentionBackwardNamesFiles(const Case& c) {
  const auto& d_o = c.Get<AttentionBackwardCase>().d_o;
  return AttentionForwardNamesFiles(c) ||
         std::any_of(d_o.begin(), d_o.end(), IsFile);
}

// A gradient in bf16 has inputs in bf16.
void SetAttentionBackwardLane(Lane lane, Case* c) {
  AttentionBackwardCase& a = c->Get<AttentionBackwardCase>();
  a.lane = lane;
  if (lane == Lane::kF32) a.grad_lane = lane;
}

}  // namespace lockstep::verify
