#include <algorithm>
#include <limits>
#include <utility>

#include "reference/attention_merge.h"
#include "reference/contract/numerics.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/ops/attention_forward/claims/claims.h"
#include "verify/ops/attention_forward/shards/shards.h"

namespace lockstep::verify {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// N9's bound of scores, in bits, up to which no maximum is subtracted.
bool FixedPath(const AttentionForwardProblem& p) {
  return p.softcap && !p.v_scales.by_key() &&
         *p.softcap * kLog2E <= kFixedPathBound;
}

// Whether the sink of a head takes its rows to the maximum path all the same.
bool LargeSink(const AttentionForwardData& data) {
  for (int64_t h = 0; data.problem.sink && h < data.problem.q_heads; ++h) {
    if (!(data.inputs.sink(h) * kLog2E < kFixedPathBound - 1)) return true;
  }
  return false;
}

// What is claimed; of exact bits, the contract's arithmetic.
NumericProfile ProfileOf(const AttentionForwardTrial& whole,
                         const NumericProfile* claims) {
  if (claims != nullptr) return *claims;
  const AttentionForwardProblem& p = whole.data().problem;
  NumericProfile profile =
      LoadProfile(std::string("exact-") + LaneName(p.lane)).value();
  if (FixedPath(p)) profile.max.kind = MaxPolicy::Kind::kNone;
  return profile;
}

// Why answers of such a kernel to shards of keys cannot be merged; empty: they
// can.
std::string WhyNotMerged(const AttentionForwardTrial& whole,
                         const ShardsAsked& asked, AttentionCut* cut) {
  const AttentionForwardProblem& p = whole.data().problem;
  const int64_t elements = whole.rows() * (p.value_dim + 1) * asked.shard.count;
  if (elements > kMostShardElements) {
    return "the answers to so many shards take " + std::to_string(elements) +
           " elements, and the most is " + std::to_string(kMostShardElements);
  }
  if (asked.claims == nullptr) {
    if (p.order != ProductOrder::kChain) {
      return std::string("no bound is derived for merged parts under order=") +
             OrderName(p.order);
    }
    if (!FixedPath(p) || !LargeSink(whole.data())) return "";
    return "no bound is derived for merged parts where a sink beyond 2^80 "
           "stands beside a softcap below it";
  }
  if (!HasLse(*asked.claims)) {
    return "the kernel has no lse, by which answers to parts of the keys are "
           "merged";
  }
  if (asked.claims->lse != LseLane::kF32) {
    return "an lse that is rounded to bf16 is too inexact to merge answers by";
  }
  return DropUnseen(whole.data(), *asked.claims, cut);
}

// Row by row by N23, over all parts in the order of their keys.
Status MergeRows(const AttentionForwardTrial& whole,
                 const NumericProfile& profile, const OutputSet& parts,
                 const OutputSet& outputs) {
  const MutableLaneView& part_o = parts.tensors[0].view;
  const int64_t count = part_o.shape[0], rows = part_o.shape[2];
  const int64_t channels = part_o.shape[3];
  const float* const answered = parts.tensors[1].view.As<float>().data;
  std::vector<float> lse(answered, answered + count * rows);
  if (profile.empty_row == EmptyRow::kZeroPosInf) {
    std::replace(lse.begin(), lse.end(), kInfinity, -kInfinity);
  }
  const Lane lane = part_o.lane;
  const AttentionMergeProblem problem = {
      count,
      1,
      1,
      channels,
      lane,
      lane,
      profile.lse_base == ExpBase::kTwo ? LseBase::kTwo : LseBase::kE};
  std::vector<float> o(static_cast<size_t>(channels));
  for (int64_t row = 0; row < rows; ++row) {
    const LaneView row_o = {static_cast<const char*>(part_o.data) +
                                row * channels * LaneBytes(lane),
                            lane,
                            {count, 1, 1, channels},
                            part_o.strides};
    const TensorView<const float, 3> row_lse = {
        lse.data() + row, {count, 1, 1}, {rows, rows, 1}};
    At at = LineIndex(whole.outputs()[0], row, 0);
    float* const merged_lse =
        &outputs.tensors[1].view.As<float>()(at[0], at[1], at[2], 0);
    RETURN_IF_ERROR(reference::AttentionMergeRow(problem, {row_o, row_lse},
                                                 {0, 0}, o, merged_lse));
    for (const float x : o) {
      SetElement(outputs.tensors[0].view, at, BitsOf(lane, x));
      ++at[3];
    }
  }
  return {};
}

}  // namespace

void MergeKeys(const AttentionForwardTrial& whole, const AttentionCut& cut,
               int64_t count, const NumericProfile* claims, Shards* shards) {
  const NumericProfile profile = ProfileOf(whole, claims);
  shards->parts = PartsOf(whole.outputs(), count);
  shards->merge = [&whole, profile](std::span<const OutputSet> rounds,
                                    const OutputSet& outputs) -> Result<bool> {
    RETURN_IF_ERROR(MergeRows(whole, profile, rounds[0], outputs));
    return false;
  };
  shards->allowed = [&whole, profile, asked = cut.shards](
                        std::vector<int64_t> rows, int threads) {
    return AllowMerged(whole, asked, profile, std::move(rows), threads);
  };
}

Result<Shards> AttentionForwardTrial::MakeShards(
    const ShardsAsked& asked) const {
  if (asked.answer != ShardAnswer::kOutputs) return SumsOfKeys(*this, asked);
  const bool merges = asked.shard.axis == ShardAxis::kKv ||
                      asked.shard.axis == ShardAxis::kRing;
  AttentionCut cut = CutAttention(data_, asked.shard);
  Shards made;
  if (merges) made.why_not = WhyNotMerged(*this, asked, &cut);
  if (!made.why_not.empty()) return made;
  made = CallsOf(cut, [this](const AttentionPick& pick) {
    return AttentionCallOf(*this, pick);
  });
  if (merges) MergeKeys(*this, cut, asked.shard.count, asked.claims, &made);
  return made;
}

}  // namespace lockstep::verify
