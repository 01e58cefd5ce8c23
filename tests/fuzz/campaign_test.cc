// Records: written, read, torn, merged, contradicted.
#include "fuzz/campaign.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "verify/run/shard.h"

namespace lockstep::fuzz {
namespace {

CampaignHeader HeaderOf(int64_t shard, int64_t count) {
  CampaignHeader header;
  header.op = "attention_forward";
  header.candidate = "builtin:reference";
  header.seed = 18446744073709551615u;
  header.generator = 1;
  header.tile_q = 4;
  header.tile_kv = 4;
  header.plans = 2;
  header.cases = 6;
  header.shard = {shard, count};
  return header;
}

CaseRecord RecordNumber(uint64_t index) {
  CaseRecord record;
  record.index = index;
  record.verdict = index == 3 ? "fail" : "pass";
  if (index == 3) {
    record.signature = "bits:o";
    record.line = "attention_forward sq=1 skv=1 d=1";
  }
  record.outputs = std::to_string(index * 77);
  record.seconds = 0.25;
  return record;
}

std::string TextOf(int64_t shard, int64_t count) {
  std::string text = HeaderLine(HeaderOf(shard, count));
  for (int64_t n = shard; n < 6; n += count) {
    text += RecordLine(RecordNumber(static_cast<uint64_t>(n)), true);
  }
  return text;
}

std::string Merged(const std::vector<std::string>& texts) {
  std::vector<ShardFile> shards;
  for (const std::string& text : texts) {
    Result<ShardFile> shard = ParseShardFile(text, "f");
    EXPECT_TRUE(shard.ok()) << shard.message();
    shards.push_back(std::move(shard.value()));
  }
  const Result<ShardFile> merged = MergeShards(shards);
  if (!merged.ok()) return merged.message();
  std::string lines = HeaderLine(merged->header);
  for (const auto& [index, record] : merged->records) {
    lines += RecordLine(record, false);
  }
  return lines + Gaps(merged.value(), 2);
}

TEST(CampaignTest, ShardsMakeTheWhole) {
  const std::string whole = Merged({TextOf(0, 1)});
  EXPECT_EQ(Merged({TextOf(1, 2), TextOf(0, 2)}), whole);
  EXPECT_EQ(Merged({TextOf(2, 3), TextOf(0, 3), TextOf(1, 3), TextOf(1, 3)}),
            whole);
  EXPECT_EQ(whole.find("0.25"), std::string::npos);
}

TEST(CampaignTest, GapsAreNamed) {
  const auto ends_in = [](const std::string& text, const std::string& end) {
    return text.ends_with("}\n" + end);
  };
  EXPECT_TRUE(ends_in(Merged({TextOf(0, 2)}), "1, 3 and 1 more"));
  EXPECT_TRUE(ends_in(Merged({TextOf(0, 3), TextOf(1, 3)}), "2, 5"));
  EXPECT_TRUE(ends_in(Merged({HeaderLine(HeaderOf(0, 1))}), "0..5"));
  EXPECT_TRUE(ends_in(Merged({TextOf(0, 1)}), ""));
}

TEST(CampaignTest, ATornLastLineIsCutOff) {
  const std::string text = TextOf(0, 1);
  const size_t last = text.rfind('\n', text.size() - 2) + 1;
  for (size_t size = last; size < text.size(); ++size) {
    const Result<ShardFile> file = ParseShardFile(text.substr(0, size), "f");
    ASSERT_TRUE(file.ok()) << size << ": " << file.message();
    EXPECT_EQ(file->records.size(), 5u);
    EXPECT_EQ(file->good_bytes, last);
  }
}

TEST(CampaignTest, BadFilesAreRefused) {
  const std::string header = HeaderLine(HeaderOf(0, 2));
  CaseRecord wrong = RecordNumber(2);
  wrong.outputs = "other";
  CaseRecord beyond = RecordNumber(8);
  CaseRecord verdict = RecordNumber(4);
  verdict.verdict = "good";
  const std::pair<std::string, const char*> bad[] = {
      {"", "f:1: a shard file begins with a campaign"},
      {RecordLine(RecordNumber(0), true), "f:1: a shard file begins"},
      {header + "nothing\n", "f:2: no JSON object"},
      {header + "[1]\n", "f:2: no JSON object"},
      {header + "{}\n", "f:2: neither"},
      {header + "{\"kind\":\"case\"}\n", "'index' wants"},
      {header + RecordLine(RecordNumber(1), true), "belongs to another shard"},
      {header + RecordLine(beyond, true), "beyond the campaign"},
      {header + RecordLine(verdict, true), "'verdict' wants"},
      {header + RecordLine(RecordNumber(2), true) + RecordLine(wrong, true),
       "two records that differ"},
  };
  for (const auto& [text, words] : bad) {
    const Result<ShardFile> file = ParseShardFile(text, "f");
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_NE(file.message().find(words), std::string::npos) << file.message();
  }
}

TEST(CampaignTest, OtherCampaignsDoNotMix) {
  CampaignHeader other = HeaderOf(1, 2);
  other.seed = 1;
  EXPECT_NE(Merged({TextOf(0, 2), HeaderLine(other)}).find("different"),
            std::string::npos);
  EXPECT_FALSE(MergeShards({}).ok());
}

// Files without the member are from before there was a choice.
TEST(CampaignTest, GuardCasesArePartOfTheCampaign) {
  CampaignHeader some = HeaderOf(0, 1);
  EXPECT_EQ(HeaderLine(some).find("guards"), std::string::npos);
  some.guards = "some";
  EXPECT_FALSE(some.SameCampaign(HeaderOf(0, 1)));
  const Result<ShardFile> read = ParseShardFile(HeaderLine(some), "f");
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(read->header.guards, "some");
  some.guards = "all";
  EXPECT_FALSE(ParseShardFile(HeaderLine(some), "f").ok());
}

TEST(CampaignTest, OrdersArePartOfTheCampaign) {
  CampaignHeader all = HeaderOf(0, 1);
  EXPECT_EQ(HeaderLine(all).find("orders"), std::string::npos);
  all.orders = "all";
  EXPECT_FALSE(all.SameCampaign(HeaderOf(0, 1)));
  const Result<ShardFile> read = ParseShardFile(HeaderLine(all), "f");
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(read->header.orders, "all");
  all.orders = "some";
  EXPECT_FALSE(ParseShardFile(HeaderLine(all), "f").ok());
}

TEST(ShardTest, AutoReadsTheScheduler) {
  const char* all[] = {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT",
                       "SLURM_ARRAY_TASK_MIN", "JOB_COMPLETION_INDEX",
                       "LOCKSTEP_SHARDS"};
  for (const char* name : all) unsetenv(name);
  EXPECT_FALSE(verify::ResolveShard("auto").ok());
  setenv("JOB_COMPLETION_INDEX", "2", 1);
  EXPECT_FALSE(verify::ResolveShard("auto").ok());
  setenv("LOCKSTEP_SHARDS", "5", 1);
  EXPECT_EQ(verify::ResolveShard("auto")->index, 2);
  EXPECT_EQ(verify::ResolveShard("auto")->count, 5);
  // A SLURM array may begin anywhere.
  setenv("SLURM_ARRAY_TASK_ID", "11", 1);
  setenv("SLURM_ARRAY_TASK_COUNT", "4", 1);
  setenv("SLURM_ARRAY_TASK_MIN", "10", 1);
  EXPECT_EQ(verify::ResolveShard("auto")->index, 1);
  EXPECT_EQ(verify::ResolveShard("auto")->count, 4);
  setenv("SLURM_ARRAY_TASK_ID", "14", 1);
  EXPECT_FALSE(verify::ResolveShard("auto").ok());
  setenv("SLURM_ARRAY_TASK_ID", "x", 1);
  EXPECT_FALSE(verify::ResolveShard("auto").ok());
  for (const char* name : all) unsetenv(name);
  EXPECT_EQ(verify::ResolveShard("1/3")->index, 1);
}

}  // namespace
}  // namespace lockstep::fuzz
