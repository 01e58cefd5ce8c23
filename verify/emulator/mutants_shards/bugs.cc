#include "verify/emulator/mutants_shards/bugs.h"

#include "verify/emulator/catalogue.h"

namespace lockstep::verify {
namespace {

constexpr const char* kCausal =
    "attention_forward hq=2 hkv=1 sq=16 skv=16 d=8 mask=causal";
constexpr const char* kSink =
    "attention_forward hq=2 hkv=1 sq=16 skv=16 d=8 mask=causal "
    "sinklogit=const:1";
constexpr const char* kDocuments =
    "attention_forward hq=2 hkv=1 sq=16 skv=16 d=8 q_seg=runs:7,9 "
    "kv_seg=runs:7,9";
constexpr const char* kCounts =
    "attention_forward b=2 sq=16 skv=16 d=8 valid_kv=16,9";
constexpr const char* kHeads = "attention_forward hq=4 hkv=2 sq=8 skv=8 d=8";
constexpr const char* kScan = "mamba3_scan h=2 g=2 t=24 n=4 p=4 s=2";

constexpr ShardBug kBugs[] = {
    {"shard.last_step_dropped", "ring:4", ShardGlue::kLastStepDropped,
     "a ring ends one step early", "cpu", kDocuments},
    {"shard.step_twice", "ring:4", ShardGlue::kStepTwice,
     "a ring's first step comes again in place of its last", "cpu", kCausal},
    {"shard.sink_in_each", "kv:4", ShardGlue::kSinkInEach,
     "the sink counts in every shard of keys", "cpu", kSink},
    {"shard.offset_of_whole", "ring:4", ShardGlue::kOffsetOfWhole,
     "shards are masked as if they began where the whole does", "cpu", kCausal},
    {"shard.ids_of_first", "kv:4", ShardGlue::kIdsOfFirst,
     "every shard of keys has the segment ids of the first", "cpu", kDocuments},
    {"shard.counts_of_whole", "kv:4", ShardGlue::kCountsOfWhole,
     "valid counts are not moved to the shard's first key", "cpu", kCounts},
    {"shard.unnormalised", "kv:4", ShardGlue::kUnnormalised,
     "weighted answers are added and not divided", "cpu", kCausal},
    {"shard.mean_of_shards", "kv:4", ShardGlue::kMeanOfShards,
     "every shard that saw a key weighs the same", "cpu", kCausal},
    {"shard.bases_mixed", "kv:4", ShardGlue::kBasesMixed,
     "natural lse are merged as if they were binary", "cpu", kCausal},
    {"shard.lse_of_largest", "kv:4", ShardGlue::kLseOfLargest,
     "the lse is the largest shard's", "cpu", kCausal},
    {"shard.empty_weighs_one", "kv:4", ShardGlue::kEmptyWeighsOne,
     "a shard that saw no key weighs as one key of score 0", "cpu", kCausal},
    {"shard.other_key_head", "heads:2", ShardGlue::kOtherKeyHead,
     "shards of heads read the next shard's key heads", "cpu", kHeads},
    {"shard.carry_of_first", "time:4", ShardGlue::kCarryOfFirst,
     "every later shard goes on from the first one's carry",
     "scan-recurrent-turns", kScan, true},
    {"shard.no_carry", "time:4", ShardGlue::kNoCarry,
     "every shard begins from nothing", "scan-recurrent-turns", kScan, true},
};

}  // namespace

std::string ShardBug::op() const { return OpOfPattern(pattern); }

std::span<const ShardBug> ShardBugs() { return kBugs; }

Result<const ShardBug*> FindShardBug(std::string_view name) {
  return FindBug(ShardBugs(), name);
}

}  // namespace lockstep::verify
