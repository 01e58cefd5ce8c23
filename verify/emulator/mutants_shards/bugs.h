// Kernels that compute a case in shards and put the answers together wrongly:
// every shard is right, and the glue between them is not.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MUTANTS_SHARDS_BUGS_H_
#define LOCKSTEP_VERIFY_EMULATOR_MUTANTS_SHARDS_BUGS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "reference/contract/status.h"

namespace lockstep::verify {

// What the glue does wrong.
enum class ShardGlue : uint8_t {
  kRight,
  kLastStepDropped,  // of a ring
  kStepTwice,        // the first step's answers come again as the last's
  kSinkInEach,       // every shard of keys has the sink
  kOffsetOfWhole,    // shards are aligned as the whole is
  kIdsOfFirst,       // shards of keys have the first one's segment ids
  kCountsOfWhole,    // valid counts are cut off, and not moved
  kUnnormalised,     // the sum of weighted answers is not divided
  kMeanOfShards,     // every shard that saw a key weighs the same
  kBasesMixed,       // natural lse are taken for binary ones
  kLseOfLargest,     // lse is the largest shard's
  kEmptyWeighsOne,   // a shard that saw nothing has weight 1
  kOtherKeyHead,     // shards of heads read the key head of the next one
  kCarryOfFirst,     // every later shard goes on from the first one's carry
  kNoCarry,          // every shard begins from zeros
};

struct ShardBug {
  const char* name;   // "shard.last_step_dropped"
  const char* shard;  // how the kernel is cut: "ring:4"
  ShardGlue glue;
  const char* breaks;   // what is wrong, one line
  const char* usual;    // of the zoo: what computes each shard
  const char* pattern;  // a case that shows it, and is small
  bool scan = false;

  std::string op() const;  // of the pattern
};
std::span<const ShardBug> ShardBugs();
// Errors: an unknown name; the message names the nearest.
Result<const ShardBug*> FindShardBug(std::string_view name);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MUTANTS_SHARDS_BUGS_H_
