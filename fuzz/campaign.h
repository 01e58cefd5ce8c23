// Campaigns: many processes, one result. Each shard appends a record per case
// to a file of its own; records are a function of the campaign and the index,
// so a shard may be killed, resumed, or run twice, and merging is a set union.
// Schema: docs/schemas/fuzz.schema.json.
#ifndef LOCKSTEP_FUZZ_CAMPAIGN_H_
#define LOCKSTEP_FUZZ_CAMPAIGN_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/run.h"
#include "fuzz/trial.h"
#include "reference/contract/status.h"

namespace lockstep::fuzz {

// Ranges of a campaign's options, and of the header of its files.
inline constexpr int64_t kLeastTile = 1;
inline constexpr int64_t kMostTile = 4096;
inline constexpr int64_t kMostPlans = 100;

// What every record of a campaign depends on; the first line of a shard file.
struct CampaignHeader {
  std::string op;
  std::string candidate;
  std::string profile;
  uint64_t seed = 0;
  uint32_t generator = 0;
  std::string lane;  // "" for any
  int64_t tile_q = 0;
  int64_t tile_kv = 0;
  int64_t plans = 0;
  // Of DomainOptions; a record without the member has none.
  std::string guards = "none";
  std::string orders = "amx";  // "all": those of GPUs, too
  bool in_shards = false;      // DomainOptions::in_shards
  bool suspicious = false;
  int64_t cases = 0;  // of all shards
  verify::Shard shard;

  // Whether records of both belong together: equal, the shard apart.
  bool SameCampaign(const CampaignHeader& other) const;
};

// One case as a shard records it.
struct CaseRecord {
  uint64_t index = 0;
  std::string verdict;
  std::string signature;  // empty: no finding
  std::string line;       // minimal; for findings only
  std::string inputs;     // digests, of the last call
  std::string outputs;
  int64_t canaries = 0;
  int64_t canaries_missed = 0;
  bool self_error = false;
  bool unsupported = false;
  double seconds = 0;

  // Timings apart.
  bool SameResult(const CaseRecord& other) const;
};

CampaignHeader DescribeCampaign(const Plan& plan, const Target& target);
CaseRecord RecordOf(const Tried& tried);

// One line each, newline included. Without timings a merged file depends on
// the campaign alone.
std::string HeaderLine(const CampaignHeader& header);
std::string RecordLine(const CaseRecord& record, bool timings);

struct ShardFile {
  CampaignHeader header;
  std::map<uint64_t, CaseRecord> records;
  size_t good_bytes = 0;  // what a killed process left behind it is cut off
};

// Errors: a line that is no record ("SOURCE:LINE: ..."), a last one without its
// newline excepted; an index of another shard; two records of one index that
// differ.
Result<ShardFile> ParseShardFile(std::string_view text,
                                 const std::string& source);

// DIR/shard-0-of-4.ndjson.
std::string ShardPath(const std::string& folder, const verify::Shard& shard);

// What the records say, as if this process had judged them.
void CountRecord(const CaseRecord& record, Counts* counts);

// The union of shards. Errors: other campaigns, contradictions, no shards.
Result<ShardFile> MergeShards(const std::vector<ShardFile>& shards);

// Indices below header.cases without a record, as ranges "3..7, 12"; at most
// `most` ranges. Empty if complete.
std::string Gaps(const ShardFile& merged, int64_t most);

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_CAMPAIGN_H_
