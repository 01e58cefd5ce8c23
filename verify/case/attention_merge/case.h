// What an attention_merge case says: parts of attention, and how their o and
// lse are drawn. Keys: docs/cases.md.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_MERGE_CASE_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_MERGE_CASE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/attention_merge.h"
#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/case/keys.h"
#include "verify/case/values.h"

namespace lockstep::verify {

// The order of the axes of o_parts in memory; lse_parts and the merged tensors
// have the same order, without the axes that they lack.
enum class MergeLayout : uint8_t { kShnd, kSnhd, kNshd };

struct AttentionMergeCase : OpValuesAs<AttentionMergeCase> {
  int64_t parts = 1;
  int64_t heads = 1;
  int64_t rows = 1;
  int64_t value_dim = 1;
  Lane lane = Lane::kF32;
  Lane out_lane = Lane::kF32;
  LseBase base = LseBase::kE;
  MergeLayout layout = MergeLayout::kShnd;
  std::vector<FillTerm> fill = {FillTerm{FillKind::kNormal, kFillAll, {1.0}}};
  std::vector<FillTerm> lse = {FillTerm{FillKind::kNormal, kFillAll, {2.0}}};
  // An lse for each part, the same in every row, in place of drawn ones.
  std::vector<Number> letters;
  // Shares of the parts of all rows whose lse is -inf, NaN or +inf, and of the
  // rows in which no part saw a key.
  Number empty{}, nan{}, posinf{}, blank{};
  friend bool operator==(const AttentionMergeCase&,
                         const AttentionMergeCase&) = default;
};

// The static problem. Requires: ValidateCase passes for a meaningful one.
AttentionMergeProblem ToProblem(const AttentionMergeCase& c);

// Strides in elements of o_parts [s, h, n, d]. A tensor that lacks an axis has
// 1 in its place.
std::array<int64_t, 4> MergeStrides(MergeLayout layout,
                                    const std::array<int64_t, 4>& shape);

inline std::optional<ProbeKind> ProbeOf(const AttentionMergeCase& c) {
  return ProbeIn(c.fill);
}
// Whether the o of parts that saw no key holds NaN and infinities.
bool PoisonsEmptyParts(const AttentionMergeCase& c);

// In canonical order.
std::span<const CaseKey> AttentionMergeKeys();

// Of its row, below.  Requires: an attention_merge case.
Status ValidateAttentionMerge(const Case& c);
int64_t AttentionMergeBytes(const Case& c);
bool AttentionMergeNamesFiles(const Case& c);
std::string WhyNotAttentionMergeProbe(ProbeKind probe, const Case& c);

inline constexpr CaseRow kAttentionMergeText = {
    "attention_merge",
    "attention over parts of the keys, put together by their lse",
    &AttentionMergeKeys,
    &MakeValues<AttentionMergeCase>,
    &ValidateAttentionMerge,
    &AttentionMergeBytes,
    &AttentionMergeNamesFiles,
    [](const Case& c) { return ProbeOf(c.Get<AttentionMergeCase>()); },
    [](Case* c) { DropProbe(&c->Get<AttentionMergeCase>().fill); },
    &WhyNotAttentionMergeProbe,
    [](Lane lane, Case* c) {
      auto& merge = c->Get<AttentionMergeCase>();
      merge.lane = merge.out_lane = lane;
    }};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_MERGE_CASE_H_
