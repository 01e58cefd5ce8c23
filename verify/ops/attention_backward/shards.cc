// The law `shard` of attention's gradients: key heads with their groups.
#include <utility>

#include "verify/ops/attention_backward/claims.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_forward/shards/cut.h"
#include "verify/ops/shards.h"

namespace lockstep::verify {

Result<Shards> AttentionBackwardTrial::MakeShards(
    const ShardsAsked& asked) const {
  Shards made;
  AttentionCut cut = CutAttention(data().forward, asked.shard);
  made.empty = std::move(cut.empty);
  for (AttentionShard& one : cut.shards) {
    made.calls.push_back(
        {std::move(one.what), [this, pick = std::move(one.pick)] {
           return GradientCallOf(*this, pick);
         }});
  }
  return made;
}

}  // namespace lockstep::verify
