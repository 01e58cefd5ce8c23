#include "verify/run/shard.h"

#include <cstdlib>
#include <string>

namespace lockstep::verify {
namespace {

// Variables of one scheduler; `first`: where its indices begin, if not at 0.
struct Scheduler {
  const char* index;
  const char* count;
  const char* first;
};
constexpr Scheduler kSchedulers[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"},
    {"JOB_COMPLETION_INDEX", "LOCKSTEP_SHARDS", nullptr},
    {"TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", nullptr},
    {"GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS", nullptr},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
    {"PMI_RANK", "PMI_SIZE", nullptr},
};

// Of an index with a first one taken off; empty where it is no small number.
std::string Shifted(const std::string& index, const char* first) {
  if (first == nullptr || std::getenv(first) == nullptr) return index;
  const Result<Shard> from =
      ParseShard(std::string(std::getenv(first)) + "/1000000000");
  const Result<Shard> at = ParseShard(index + "/1000000000");
  if (!from.ok() || !at.ok()) return "";
  return std::to_string(at->index - from->index);
}

}  // namespace

Result<Shard> ResolveShard(std::string_view text) {
  if (text != "auto") return ParseShard(text);
  std::string known;
  for (const Scheduler& scheduler : kSchedulers) {
    const char* index = std::getenv(scheduler.index);
    const char* count = std::getenv(scheduler.count);
    known += (known.empty() ? "" : ", ") + std::string(scheduler.index) +
             " with " + scheduler.count;
    if (index == nullptr) continue;
    if (count == nullptr) {
      return Status::Error("shard 'auto': " + std::string(scheduler.index) +
                           " is set, but " + scheduler.count +
                           ", the number of shards, is not");
    }
    Result<Shard> shard =
        ParseShard(Shifted(index, scheduler.first) + "/" + count);
    if (shard.ok()) return shard;
    return Status::Error("shard 'auto': " + std::string(scheduler.index) + "=" +
                         index + ", " + scheduler.count + "=" + count + ": " +
                         shard.message());
  }
  return Status::Error("shard 'auto': no scheduler says which; known: " +
                       known);
}

}  // namespace lockstep::verify
