// Attention in shards: which queries, keys and heads each has, and what becomes
// of answers to shards of keys. They are merged by their lse, or, of our own
// kernels, joined as the sums of parts (N22, N24).
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_SHARDS_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_SHARDS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward/pick.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/shards.h"

namespace lockstep::verify {

// The number of elements of the answers to all shards of keys, which are in
// memory at the same time.
inline constexpr int64_t kMostShardElements = int64_t{1} << 28;

// One call. Batch rows whose queries begin elsewhere on the key axis have calls
// of their own: an alignment is one number.
struct AttentionShard {
  AttentionPick pick;
  int64_t part = 0;  // of the keys
  std::string what;
};

struct AttentionCut {
  std::vector<AttentionShard> shards;  // of a ring: step by step
  std::vector<std::string> empty;      // those that hold nothing
};

// Positions are cut in shards of ShardWidth, heads likewise; more shards than
// key heads cut each one's group of query heads. The sink goes to the first
// shard of keys.  Requires: ValidateCase accepts the key.
AttentionCut CutAttention(const AttentionForwardData& whole,
                          const ShardSpec& shard);

// For a kernel whose lse does not say that a row saw no key: drops the shards
// in which no query sees a key. Returns why the kernel cannot be asked for the
// others; empty: it can.
std::string DropUnseen(const AttentionForwardData& whole,
                       const NumericProfile& claims, AttentionCut* cut);

// The calls of a cut.
Shards CallsOf(
    const AttentionCut& cut,
    const std::function<Result<LawCall>(const AttentionPick&)>& call_of);

// Adds to the calls of a cut of the keys in `count` how they are merged.
// Borrows `whole`.
void MergeKeys(const AttentionForwardTrial& whole, const AttentionCut& cut,
               int64_t count, const NumericProfile* claims, Shards* shards);

// How far merged answers to shards of the keys may be from the whole's truth:
// each shard's own envelope, carried through the merge. Derivation:
// docs/envelopes.md, "Shards that are merged". `rows`: of the whole, ascending.
//   Errors: the shards' truths do not add up to the whole's.
//   Requires: HasLse(profile).
Result<std::unique_ptr<AllowedResults>> AllowMerged(
    const AttentionForwardTrial& whole,
    const std::vector<AttentionShard>& shards, const NumericProfile& profile,
    std::vector<int64_t> rows, int threads);

// The shards as parts whose sums are joined. Borrows `whole`.
Shards SumsOfKeys(const AttentionForwardTrial& whole, const ShardsAsked& asked);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_SHARDS_H_
