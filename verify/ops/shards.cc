#include "verify/ops/shards.h"

namespace lockstep::verify {

Result<Shards> TrialLaws::MakeShards(const ShardsAsked& asked) const {
  return Status::Error("shard=" + FormatShard(asked.shard) +
                       ": the op is not cut so");
}

Result<PartCalls> TrialLaws::MakeParts(const ShardSpec&) const {
  PartCalls none;
  none.why_not = "the op has no parts";
  return none;
}

std::string NameShard(int64_t n, int64_t count, const std::string& holds) {
  return "shard " + std::to_string(n + 1) + " of " + std::to_string(count) +
         ": " + holds;
}

std::string NameRange(const char* one, int64_t begin, int64_t end) {
  const std::string name = one;
  if (begin >= end) {
    return "no " + (name == "query" ? "queries" : name + "s");
  }
  if (end - begin == 1) return name + " " + std::to_string(begin);
  return (name == "query" ? "queries" : name + "s") + " " +
         std::to_string(begin) + " to " + std::to_string(end - 1);
}

}  // namespace lockstep::verify
