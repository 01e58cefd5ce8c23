// Attention in shards: which queries, keys and heads each has.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_CUT_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_CUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "verify/case/shards/shard.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward/pick.h"

namespace lockstep::verify {

// The number of elements of the answers to all shards of keys, which are in
// memory at the same time.
inline constexpr int64_t kMostShardElements = int64_t{1} << 28;

// One call. Batch rows whose queries begin elsewhere on the key axis have calls
// of their own: an alignment is one number.
struct AttentionShard {
  AttentionPick pick;
  int64_t key_shard = 0;  // its place where answers are merged
  std::string what;
};

struct AttentionCut {
  std::vector<AttentionShard> shards;  // of a ring: step by step
  std::vector<std::string> empty;      // those that hold nothing
};

// For a kernel whose lse does not say that a row saw no key: drops the shards
// in which no query sees a key. `sink_marks`: the lse of a shard with a sink
// does say so. Returns why the kernel cannot be asked for the others; empty: it
// can.
std::string DropUnseen(const AttentionForwardData& whole, bool sink_marks,
                       AttentionCut* cut);

// Positions are cut in shards of ShardWidth, heads likewise; more shards than
// key heads cut each one's group of query heads. The sink goes to the first
// shard of keys.  Requires: ValidateCase accepts the key.
AttentionCut CutAttention(const AttentionForwardData& whole,
                          const ShardSpec& shard);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_CUT_H_
