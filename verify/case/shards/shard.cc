#include "verify/case/shards/shard.h"

#include <string>

#include "verify/base/status_macros.h"
#include "verify/case/keys.h"
#include "verify/case/text.h"

namespace lockstep::verify {
namespace {

Result<ShardSpec> ScanShard(Scanner& in) {
  for (size_t n = 0; n < std::size(kShardAxes); ++n) {
    if (!in.AcceptWord(kShardAxes[n])) continue;
    if (!in.Accept(':')) {
      return in.Error("expected ':' and a number of shards, as in " +
                      std::string(kShardAxes[n]) + ":4");
    }
    const size_t at = in.position();
    ASSIGN_OR_RETURN(const int64_t count, in.Int());
    if (count < 1 || count > kMostShards) {
      return in.ErrorAt(at, std::to_string(count) + " shards; want 1.." +
                                std::to_string(kMostShards));
    }
    return ShardSpec{static_cast<ShardAxis>(n), count};
  }
  return in.Error("expected none or " + ListNames(kShardAxes) + ", found " +
                  Quote(in.Rest()));
}

Status ParseShard(Scanner& in, int64_t, Case& c) {
  c.shard.reset();
  if (in.AcceptWord("none")) return {};
  ASSIGN_OR_RETURN(c.shard, ScanShard(in));
  return {};
}

std::string PrintShard(const Case& c, int64_t) {
  return c.shard ? FormatShard(*c.shard) : std::string("none");
}

}  // namespace

Result<ShardSpec> ReadShard(std::string_view text) {
  Scanner in(text, 0, text.size());
  ASSIGN_OR_RETURN(const ShardSpec shard, ScanShard(in));
  if (in.AtEnd()) return shard;
  return in.Error("unexpected " + Quote(in.Rest()) + " after the value");
}

constinit const CaseKey kShardKey = {
    "shard",
    "none|heads:N|kv:N|queries:N|ring:N|time:N",
    [](Case& c) { c.shard.reset(); },
    ParseShard,
    PrintShard,
    nullptr,
    true};

Status CheckShard(const Case& c) {
  if (!c.shard) return {};
  const uint8_t axes = c.op->text.shard_axes;
  if ((axes & ShardBit(c.shard->axis)) != 0) return {};
  std::string known;
  for (size_t n = 0; n < std::size(kShardAxes); ++n) {
    if ((axes & ShardBit(static_cast<ShardAxis>(n))) == 0) continue;
    known += (known.empty() ? "" : ", ") + std::string(kShardAxes[n]) + ":N";
  }
  return Status::Error(
      "shard=" + FormatShard(*c.shard) + ": " + OpName(c) +
      (known.empty() ? " is not cut into shards" : " is cut along " + known));
}

// Heads go in whole key heads, or in equal parts of each one's group.
Status CheckHeadShards(const Case& c, int64_t q_heads, int64_t kv_heads) {
  if (!c.shard || c.shard->axis != ShardAxis::kHeads) return {};
  const int64_t count = c.shard->count;
  if (count <= kv_heads) return {};
  const bool cut =
      count % kv_heads == 0 && (q_heads / kv_heads) % (count / kv_heads) == 0;
  if (cut) return {};
  return Status::Error(
      "shard=" + FormatShard(*c.shard) + ": hq=" + std::to_string(q_heads) +
      " on hkv=" + std::to_string(kv_heads) +
      "; want no more shards than key heads, or as many to each key head as "
      "divide its query heads");
}

}  // namespace lockstep::verify
