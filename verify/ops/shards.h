// Shards: a trial is cut into smaller problems, and their answers add up to its
// own. The judge decides which kernel computes them and what a difference means
// (verify/judge/shards/shards.h). Meaning and bounds: docs/shards.md.
#ifndef LOCKSTEP_VERIFY_OPS_SHARDS_H_
#define LOCKSTEP_VERIFY_OPS_SHARDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/shards/shard.h"
#include "verify/ops/allowed.h"
#include "verify/ops/laws.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// ShardAnswer names what a kernel returns for a shard. Our own kernels also
// return the sums of a row after a part of the keys. Where these overflow,
// kSmallSums asks for them by small weights.
enum class ShardAnswer : uint8_t { kOutputs, kSums, kSmallSums };

// What a trial is cut for.
struct ShardsAsked {
  ShardSpec shard;
  const NumericProfile* claims = nullptr;  // null: exact bits
  ShardAnswer answer = ShardAnswer::kOutputs;
};

// One shard, as a call of the kernel.
struct ShardCall {
  std::string what;  // "shard 2 of 4: keys 256 to 511"
  // Its inputs, and per output the lines that are the whole's. Later calls may
  // begin with what the one before has left (LawCall::take).
  std::function<Result<LawCall>()> make;
  int64_t part = 0;  // of the keys, where answers are merged
};

// A cut of a trial, and how the answers are put together: their lines are the
// whole's, or `merge` makes these of the lines of all parts.
struct Shards {
  // Why such a kernel cannot be asked in shards, one line; empty: it can.
  std::string why_not;
  std::vector<ShardCall> calls;
  std::vector<std::string> empty;  // shards that hold nothing: no calls
  // Each call continues from the results of the one before.
  bool chained = false;
  // Per output: whether +0 and -0 are equal. Empty: in no output.
  std::vector<bool> zeros_alike;

  // Shapes of the answers: [part, 1, line of the whole, channel]; see PartsOf.
  std::vector<OutputSpec> parts;
  // Writes the whole's outputs. `rounds`: the answers to all calls, and those
  // to the calls for small sums. Returns whether it needs the latter. Null: the
  // answers' lines are the whole's.
  std::function<Result<bool>(std::span<const OutputSet> rounds,
                             const OutputSet& whole)>
      merge;
  // Bounds the merged rows, which are rows of the whole. Errors: the truths
  // of the shards do not add up to the whole's, so that the judge has cut
  // wrongly. Null: they have the bits of a call.
  std::function<Result<std::unique_ptr<AllowedResults>>(
      std::vector<int64_t> rows, int threads)>
      allowed;
  // Makes that call, if it is not the whole's own; `form` is its case:
  // "split=4".
  std::function<Result<LawCall>()> whole;
  std::string form;
};

// The outputs of `count` parts that each have all lines of these.
std::vector<OutputSpec> PartsOf(std::vector<OutputSpec> outputs, int64_t count);

// Memory for all answers; of parts, as if none of them saw a key: numbers that
// a row has once are -inf.
Result<OutputSet> AllocateAnswers(const Shards& shards, const Trial& whole);

// Puts the lines of an answer to the call that agree where they belong.
void CopyKept(const LawCall& call, const OutputSet& answer, int64_t part,
              const OutputSet& to);

// Positions begin .. end - 1.
struct ShardRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool empty() const { return begin >= end; }
};

// Returns the part of an axis that shard n of `count` has; n is from 0.
ShardRange RangeOfShard(int64_t n, int64_t count, int64_t length);

// "shard 2 of 4: keys 256 to 511": number n of `count`, from 0.
std::string NameShard(int64_t n, int64_t count, const std::string& holds);
// "keys 256 to 511", "key 7", "no keys".
std::string NameRange(const std::string& one, const ShardRange& range);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_SHARDS_H_
