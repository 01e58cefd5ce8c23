// The key `shard` of a case: along which axis the judge cuts it into problems
// of their own, whose answers have to add up. Meaning: docs/shards.md.
#ifndef LOCKSTEP_VERIFY_CASE_SHARDS_SHARD_H_
#define LOCKSTEP_VERIFY_CASE_SHARDS_SHARD_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "reference/contract/status.h"

namespace lockstep::verify {

enum class ShardAxis : uint8_t {
  kHeads,    // heads with the key heads that they read
  kKv,       // keys: each shard has all queries
  kQueries,  // queries: each shard has all keys
  kRing,     // both: each shard of queries meets every shard of keys
  kTime,     // tokens of a scan, from carry to carry
};
inline constexpr std::string_view kShardAxes[] = {"heads", "kv", "queries",
                                                  "ring", "time"};

struct ShardSpec {
  ShardAxis axis = ShardAxis::kHeads;
  int64_t count = 1;  // 1 .. kMostShards
  friend bool operator==(const ShardSpec&, const ShardSpec&) = default;
};
inline constexpr int64_t kMostShards = 64;

// A set of axes, as CaseRow::shard_axes has it.
constexpr uint8_t ShardBit(ShardAxis axis) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(axis));
}

// "ring:4".
inline std::string FormatShard(const ShardSpec& shard) {
  return std::string(kShardAxes[static_cast<size_t>(shard.axis)]) + ":" +
         std::to_string(shard.count);
}

// The other way. Errors: no axis, no count in range.
Result<ShardSpec> ReadShard(std::string_view text);

// Positions that each of `count` shards of an axis has, but the last ones,
// which have what is left, or nothing.
constexpr int64_t ShardWidth(int64_t length, int64_t count) {
  return (length + count - 1) / count;
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_SHARDS_SHARD_H_
