#include "fuzz/campaign.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/judge/verdict.h"
#include "verify/report/json_text.h"

namespace lockstep::fuzz {
namespace {

using verify::Json;
using verify::Verdict;

// Of one case: far above one per call of a sequence, and no sum of them over a
// campaign leaves 63 bits.
constexpr int64_t kMostCanaries = int64_t{1} << 20;

constexpr Verdict kVerdicts[] = {Verdict::kPass,       Verdict::kFail,
                                 Verdict::kSuspicious, Verdict::kUntrusted,
                                 Verdict::kSkipped,    Verdict::kError};

// Reads members of one object; remembers the first that is wrong.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  void Read(const char* key, std::string* value) {
    const auto at = object_.find(key);
    if (at == object_.end() || !at->is_string()) return Wrong(key, "a string");
    *value = at->get<std::string>();
  }
  template <typename T>
  void ReadInteger(const char* key, T* value) {
    const auto at = object_.find(key);
    if (at == object_.end() || !at->is_number_unsigned()) {
      return Wrong(key, "an integer from 0");
    }
    const auto wide = at->get<uint64_t>();
    if (!std::in_range<T>(wide)) return Wrong(key, "a smaller integer");
    *value = static_cast<T>(wide);
  }
  template <typename T>
  void ReadInteger(const char* key, T low, T high, T* value) {
    ReadInteger(key, value);
    if (*value < low || *value > high) {
      const std::string range = "an integer from " + std::to_string(low) +
                                " to " + std::to_string(high);
      Wrong(key, range.c_str());
    }
  }
  void Read(const char* key, bool* value) {
    const auto at = object_.find(key);
    if (at == object_.end() || !at->is_boolean()) return Wrong(key, "a truth");
    *value = at->get<bool>();
  }
  // May be missing: a merged file has no timings.
  void ReadSeconds(const char* key, double* value) {
    const auto at = object_.find(key);
    if (at == object_.end()) return;
    if (!at->is_number()) return Wrong(key, "a number");
    *value = at->get<double>();
  }
  void Wrong(const char* key, const char* wanted) {
    if (status_.ok()) {
      status_ = Status::Error("'" + std::string(key) + "' wants " + wanted);
    }
  }
  const Status& status() const { return status_; }

 private:
  const Json& object_;
  Status status_;
};

Result<CampaignHeader> ReadHeader(const Json& json) {
  CampaignHeader header;
  Fields fields(json);
  int64_t schema = 0;
  fields.ReadInteger("schema", &schema);
  if (schema != 1) fields.Wrong("schema", "1");
  fields.Read("op", &header.op);
  fields.Read("candidate", &header.candidate);
  fields.Read("profile", &header.profile);
  fields.ReadInteger("seed", &header.seed);
  fields.ReadInteger("generator", &header.generator);
  fields.Read("lane", &header.lane);
  fields.ReadInteger("tile_q", kLeastTile, kMostTile, &header.tile_q);
  fields.ReadInteger("tile_kv", kLeastTile, kMostTile, &header.tile_kv);
  fields.ReadInteger("plans", int64_t{1}, kMostPlans, &header.plans);
  if (json.contains("guards")) fields.Read("guards", &header.guards);
  if (!verify::GuardsByName(header.guards)) {
    fields.Wrong("guards", "none, some or only");
  }
  if (json.contains("orders")) fields.Read("orders", &header.orders);
  if (header.orders != "amx" && header.orders != "all") {
    fields.Wrong("orders", "amx or all");
  }
  if (json.contains("in_shards")) fields.Read("in_shards", &header.in_shards);
  fields.Read("suspicious", &header.suspicious);
  fields.ReadInteger("cases", &header.cases);
  fields.ReadInteger("shard", &header.shard.index);
  fields.ReadInteger("of", &header.shard.count);
  if (header.shard.index >= header.shard.count) {
    fields.Wrong("shard", "a number below 'of'");
  }
  if (!fields.status().ok()) return fields.status();
  return header;
}

Result<CaseRecord> ReadRecord(const Json& json) {
  CaseRecord record;
  Fields fields(json);
  fields.ReadInteger("index", &record.index);
  fields.Read("verdict", &record.verdict);
  fields.Read("signature", &record.signature);
  if (!record.signature.empty()) fields.Read("case", &record.line);
  fields.Read("inputs", &record.inputs);
  fields.Read("outputs", &record.outputs);
  fields.ReadInteger("canaries", int64_t{0}, kMostCanaries, &record.canaries);
  fields.ReadInteger("canaries_missed", int64_t{0}, record.canaries,
                     &record.canaries_missed);
  fields.Read("self_error", &record.self_error);
  fields.Read("unsupported", &record.unsupported);
  fields.ReadSeconds("seconds", &record.seconds);
  const bool known = std::any_of(
      std::begin(kVerdicts), std::end(kVerdicts), [&](Verdict verdict) {
        return record.verdict == verify::VerdictName(verdict);
      });
  if (!known) fields.Wrong("verdict", "the name of a verdict");
  if (!fields.status().ok()) return fields.status();
  return record;
}

std::string OneLine(const CampaignHeader& header) {
  std::string line = HeaderLine(header);
  line.pop_back();
  return line;
}

// Adds a record. Errors: the index is known with another result.
Status Insert(const CaseRecord& record, ShardFile* file) {
  const auto [at, fresh] = file->records.emplace(record.index, record);
  if (fresh || at->second.SameResult(record)) return {};
  return Status::Error("case " + std::to_string(record.index) +
                       " has two records that differ: " + at->second.verdict +
                       " and " + record.verdict +
                       "; the candidate or the machine is not deterministic");
}

Status ReadLine(const std::string& line, bool first, ShardFile* file) {
  const Json json = verify::ParseJson(line);
  if (!json.is_object()) return Status::Error("no JSON object");
  const auto at = json.find("kind");
  const std::string kind =
      at != json.end() && at->is_string() ? at->get<std::string>() : "";
  if (first) {
    if (kind != "campaign") {
      return Status::Error("a shard file begins with a campaign");
    }
    ASSIGN_OR_RETURN(file->header, ReadHeader(json));
    return {};
  }
  // What merging appends is said again by the next merge.
  if (kind == "finding" || kind == "summary") return {};
  if (kind != "case") return Status::Error("neither a case nor a finding");
  ASSIGN_OR_RETURN(const CaseRecord record, ReadRecord(json));
  const verify::Shard& shard = file->header.shard;
  if (record.index % static_cast<uint64_t>(shard.count) !=
      static_cast<uint64_t>(shard.index)) {
    return Status::Error("case " + std::to_string(record.index) +
                         " belongs to another shard");
  }
  if (record.index >= static_cast<uint64_t>(file->header.cases)) {
    return Status::Error("case " + std::to_string(record.index) +
                         " lies beyond the campaign");
  }
  return Insert(record, file);
}

}  // namespace

bool CampaignHeader::SameCampaign(const CampaignHeader& other) const {
  CampaignHeader same = other;
  same.shard = shard;
  return HeaderLine(*this) == HeaderLine(same);
}

bool CaseRecord::SameResult(const CaseRecord& other) const {
  return RecordLine(*this, false) == RecordLine(other, false);
}

CampaignHeader DescribeCampaign(const Plan& plan, const Target& target) {
  CampaignHeader header;
  header.op = plan.domain->op;
  header.candidate = target.candidate;
  header.profile = target.profile_spec;
  header.seed = plan.seed;
  header.generator = verify::kDomainVersion;
  if (plan.draw.lane) {
    header.lane = LaneName(*plan.draw.lane);
  }
  header.tile_q = plan.draw.tile_q;
  header.tile_kv = plan.draw.tile_kv;
  header.plans = target.variations + 1;
  header.guards = verify::GuardsName(plan.draw.guards);
  if (plan.draw.gpu_orders) header.orders = "all";
  header.in_shards = plan.draw.in_shards;
  header.suspicious = target.suspicious;
  header.cases = plan.budget.cases.value_or(0);
  header.shard = plan.shard;
  return header;
}

CaseRecord RecordOf(const Tried& tried) {
  const Outcome& outcome = *tried.outcome;
  CaseRecord record;
  record.index = tried.index;
  record.verdict = verify::VerdictName(outcome.verdict);
  record.signature = outcome.signature;
  if (outcome.Found()) record.line = verify::MinimalLine(*tried.sequence);
  record.inputs = outcome.inputs;
  record.outputs = outcome.outputs;
  record.canaries = outcome.canaries;
  record.canaries_missed = outcome.canaries_missed;
  record.self_error = outcome.self_error;
  record.unsupported = outcome.unsupported;
  record.seconds = outcome.seconds;
  return record;
}

std::string HeaderLine(const CampaignHeader& header) {
  Json json;
  json["kind"] = "campaign";
  json["schema"] = 1;
  json["op"] = header.op;
  json["candidate"] = header.candidate;
  json["profile"] = header.profile;
  json["seed"] = header.seed;
  json["generator"] = header.generator;
  json["lane"] = header.lane;
  json["tile_q"] = header.tile_q;
  json["tile_kv"] = header.tile_kv;
  json["plans"] = header.plans;
  if (header.guards != "none") json["guards"] = header.guards;
  if (header.orders != "amx") json["orders"] = header.orders;
  if (header.in_shards) json["in_shards"] = true;
  json["suspicious"] = header.suspicious;
  json["cases"] = header.cases;
  json["shard"] = header.shard.index;
  json["of"] = header.shard.count;
  return verify::DumpJson(json, -1) + "\n";
}

std::string RecordLine(const CaseRecord& record, bool timings) {
  Json json;
  json["kind"] = "case";
  json["index"] = record.index;
  json["verdict"] = record.verdict;
  json["signature"] = record.signature;
  if (!record.signature.empty()) json["case"] = record.line;
  json["inputs"] = record.inputs;
  json["outputs"] = record.outputs;
  json["canaries"] = record.canaries;
  json["canaries_missed"] = record.canaries_missed;
  json["self_error"] = record.self_error;
  json["unsupported"] = record.unsupported;
  if (timings) json["seconds"] = record.seconds;
  return verify::DumpJson(json, -1) + "\n";
}

Result<ShardFile> ParseShardFile(std::string_view text,
                                 const std::string& source) {
  ShardFile file;
  int64_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;  // killed while writing
    ++number;
    const Status status =
        ReadLine(std::string(text.substr(at, end - at)), number == 1, &file);
    if (!status.ok()) {
      return Status::Error(source + ":" + std::to_string(number) + ": " +
                           status.message());
    }
    at = end + 1;
    file.good_bytes = at;
  }
  if (number == 0) {
    return Status::Error(source + ":1: a shard file begins with a campaign");
  }
  return file;
}

std::string ShardPath(const std::string& folder, const verify::Shard& shard) {
  return folder + "/shard-" + std::to_string(shard.index) + "-of-" +
         std::to_string(shard.count) + ".ndjson";
}

void CountRecord(const CaseRecord& record, Counts* counts) {
  Outcome outcome;
  for (const Verdict verdict : kVerdicts) {
    if (record.verdict == verify::VerdictName(verdict)) {
      outcome.verdict = verdict;
    }
  }
  outcome.signature = record.signature;
  outcome.self_error = record.self_error;
  outcome.unsupported = record.unsupported;
  outcome.canaries = record.canaries;
  outcome.canaries_missed = record.canaries_missed;
  counts->Add(outcome);
}

Result<ShardFile> MergeShards(const std::vector<ShardFile>& shards) {
  if (shards.empty()) return Status::Error("no shard files to merge");
  ShardFile merged;
  merged.header = shards[0].header;
  merged.header.shard = {};
  for (const ShardFile& shard : shards) {
    if (!shard.header.SameCampaign(merged.header)) {
      return Status::Error(
          "shards of different campaigns: " + OneLine(merged.header) + " and " +
          OneLine(shard.header));
    }
    for (const auto& [index, record] : shard.records) {
      RETURN_IF_ERROR(Insert(record, &merged));
    }
  }
  return merged;
}

std::string Gaps(const ShardFile& merged, int64_t most) {
  std::string text;
  int64_t ranges = 0;
  uint64_t next = 0;
  const auto gap = [&](uint64_t end) {
    if (next >= end) return;
    ++ranges;
    if (ranges > most) return;
    text += (text.empty() ? "" : ", ") + std::to_string(next);
    if (end - next > 1) text += ".." + std::to_string(end - 1);
  };
  for (const auto& [index, record] : merged.records) {
    gap(index);
    next = index + 1;
  }
  gap(static_cast<uint64_t>(merged.header.cases));
  if (ranges > most) {
    text += " and " + std::to_string(ranges - most) + " more";
  }
  return text;
}

}  // namespace lockstep::fuzz
