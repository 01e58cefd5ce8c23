// Attention in shards of keys: the merge of their answers, and how far a merged
// row may be from the whole's truth (docs/envelopes.md, "Shards that are
// merged").
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_MERGE_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_MERGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/ops/attention_forward/shards/cut.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/shards.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// What a kernel answered to one shard. Its inputs are not kept: of many shards
// they are many times those of the whole.
struct ShardAnswer {
  AttentionShard shard;
  std::vector<LinePair> lines;  // of its own, and of the whole
  OutputSpec o;                 // its first output
  OutputSet answer;
};

// Why answers of such a kernel to shards of keys cannot be merged; empty: they
// can. `claims`: null: exact bits.
std::string WhyNotMerged(const AttentionForwardTrial& whole,
                         const ShardSpec& shard, const NumericProfile* claims);

class AttentionShardMerge final : public ShardMerge {
 public:
  // Calls on `shards`, whose keys are cut in `count`. Borrows `whole`.
  AttentionShardMerge(const AttentionForwardTrial& whole,
                      std::vector<AttentionShard> shards, int64_t count,
                      const NumericProfile* claims);

  void Add(size_t n, LawCall call, OutputSet answer) override {
    parts_.push_back({shards_[n], std::move(call.kept[0]),
                      call.trial->outputs()[0], std::move(answer)});
  }
  Status Merge(const OutputSet& whole) const override;
  // Those that were added, which are gone then.
  std::vector<OutputSet> TakeAnswers() {
    std::vector<OutputSet> answers;
    for (ShardAnswer& part : parts_) answers.push_back(std::move(part.answer));
    return answers;
  }
  Result<std::unique_ptr<AllowedResults>> Allowed(std::vector<int64_t> rows,
                                                  int threads) const override;

 private:
  const AttentionForwardTrial& whole_;
  std::vector<AttentionShard> shards_;
  int64_t count_;
  NumericProfile profile_;  // of exact bits: the contract's arithmetic
  std::vector<ShardAnswer> parts_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_MERGE_H_
