// Shards: a trial is cut into smaller problems, and their answers add up to its
// own. The judge decides which kernel computes them and what a difference means
// (verify/judge/shards/shards.h). Meaning and bounds: docs/shards.md.
#ifndef LOCKSTEP_VERIFY_OPS_SHARDS_H_
#define LOCKSTEP_VERIFY_OPS_SHARDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/shards/shard.h"
#include "verify/ops/allowed.h"
#include "verify/ops/laws.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// What a trial is cut for.
struct ShardsAsked {
  ShardSpec shard;
  const NumericProfile* claims = nullptr;  // null: exact bits
};

// One shard, as a call of the kernel.
struct ShardCall {
  std::string what;  // "shard 2 of 4: keys 256 to 511"
  // Its inputs, and per output the lines that are the whole's. Later calls may
  // begin with what the one before has left (LawCall::take).
  std::function<Result<LawCall>()> make;
};

// Merges answers that are parts of the whole's sums, not of its outputs.
class ShardMerge {
 public:
  virtual ~ShardMerge() = default;

  // The answer to call n; each call once, in any order.
  virtual void Add(size_t n, LawCall call, OutputSet answer) = 0;
  // All of them merged, whatever the order in which they came.
  virtual Status Merge(const OutputSet& whole) const = 0;
  // What the merged rows, which are rows of the whole, may be. Errors: the
  // shards' truths do not add up to the whole's, so that the judge has cut
  // wrongly.
  virtual Result<std::unique_ptr<AllowedResults>> Allowed(
      std::vector<int64_t> rows, int threads) const = 0;
};

struct Shards {
  // Why such a kernel cannot be asked in shards, one line; empty: it can.
  std::string why_not;
  std::vector<ShardCall> calls;
  std::vector<std::string> empty;  // shards that hold nothing: no calls
  // Each call continues from the results of the one before.
  bool chained = false;
  // Per output: whether +0 and -0 are equal. Empty: in no output.
  std::vector<bool> zeros_alike;
  // Null: the answers' lines are the whole's.
  std::unique_ptr<ShardMerge> merge;
};

// Joins the states that kernels return for parts of the keys.
class PartJoin {
 public:
  virtual ~PartJoin() = default;

  // Adds the answer to call n of a round; each call is added once.
  virtual void Add(size_t n, int round, LawCall call, OutputSet answer) = 0;
  // Joins all answers to the whole's outputs. Returns whether these need a
  // further round of calls. Errors: the answers are no parts.
  virtual Result<bool> Join(const OutputSet& whole) const = 0;
};

// A trial as parts, for our own kernels, which return states in place of
// outputs.
struct PartCalls {
  // The reason why shards are not parts, in one line; empty: they are.
  std::string why_not;
  // The case with as many parts, "split=4", whose bits the joined answers have,
  // and its call; null: the case itself.
  std::string form;
  std::function<Result<LawCall>()> whole;
  std::vector<std::function<Result<LawCall>(int round)>> calls;
  std::unique_ptr<PartJoin> join;
};

// "shard 2 of 4: keys 256 to 511": number n of `count`, from 0.
std::string NameShard(int64_t n, int64_t count, const std::string& holds);
// "keys 256 to 511", "key 7", "no keys": positions begin .. end - 1.
std::string NameRange(const char* one, int64_t begin, int64_t end);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_SHARDS_H_
