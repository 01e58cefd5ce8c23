// The law `shard` of attention: the calls, and how their answers add up.
#include <memory>
#include <utility>

#include "verify/ops/attention_forward/claims/claims.h"
#include "verify/ops/attention_forward/shards/cut.h"
#include "verify/ops/attention_forward/shards/merge.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/shards.h"

namespace lockstep::verify {
namespace {

// Whether a row that saw no key has an infinite lse.
bool MarksEmptyRows(const NumericProfile* claims) {
  return claims == nullptr || claims->empty_row == EmptyRow::kZero ||
         claims->empty_row == EmptyRow::kZeroPosInf;
}

}  // namespace

Result<Shards> AttentionForwardTrial::MakeShards(
    const ShardsAsked& asked) const {
  const ShardSpec& shard = asked.shard;
  const bool merges =
      shard.axis == ShardAxis::kKv || shard.axis == ShardAxis::kRing;
  Shards made;
  AttentionCut cut = CutAttention(data_, shard);
  if (merges) made.why_not = WhyNotMerged(*this, shard, asked.claims);
  if (merges && made.why_not.empty() && !MarksEmptyRows(asked.claims)) {
    const bool sink_marks = asked.claims->empty_row == EmptyRow::kZeroZero;
    made.why_not = DropUnseen(data_, sink_marks, &cut);
  }
  if (!made.why_not.empty()) return made;
  made.empty = std::move(cut.empty);
  for (const AttentionShard& one : cut.shards) {
    made.calls.push_back({one.what, [this, pick = one.pick] {
                            return AttentionCallOf(*this, pick);
                          }});
  }
  if (merges) {
    made.merge = std::make_unique<AttentionShardMerge>(
        *this, std::move(cut.shards), shard.count, asked.claims);
  }
  return made;
}

}  // namespace lockstep::verify
