// Block tables before the judge: our planner on masks by chance, files in
// every dialect, tables bent in every tensor, the catalogue of known bugs.
#include "verify/tables/scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "optimized/tile_plan.h"
#include "verify/base/io/safetensors.h"
#include "verify/candidate/candidate.h"
#include "verify/case/block_plan.h"
#include "verify/judge/judge.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"
#include "verify/tables/files.h"
#include "verify/tables/invariants.h"

namespace lockstep::verify {
namespace {

CaseResult JudgeBy(const std::string& spec, const std::string& line) {
  const Result<Case> c = ParseCase(line);
  EXPECT_TRUE(c.ok()) << line << ": " << c.message();
  const Status valid = ValidateCase(c.value());
  EXPECT_TRUE(valid.ok()) << line << ": " << valid.message();
  const auto candidate = ParseCandidate(spec);
  EXPECT_TRUE(candidate.ok()) << candidate.message();
  const CaseRequest request = {.call = &c.value(),
                               .line = MinimalLine(c.value())};
  return JudgeCase(request, *candidate.value(), JudgeOptions(), nullptr);
}

int64_t Draw(std::mt19937& rng, int64_t least, int64_t most) {
  return least +
         static_cast<int64_t>(rng() % static_cast<uint64_t>(most - least + 1));
}

// Any dialect, with lengths that its tiles divide where it wants that.
std::string RandomLine(std::mt19937& rng) {
  constexpr const char* kMasks[] = {
      "full",        "causal",     "causal&window:5,0",
      "window:3,2",  "chunked:6",  "causal&(window:2,0|sink:3)",
      "prefix:7",    "random:0.3", "blocks:3x4:0.4",
      "window:0,inf"};
  constexpr const char* kDialects[] = {"shrunk", "splash", "flat_list",
                                       "block_mask"};
  const int64_t dialect = Draw(rng, 0, 3);
  const int64_t bq = Draw(rng, 1, 6), bk = Draw(rng, 1, 6);
  const bool whole = dialect == 1 || dialect == 2;
  const int64_t sq = whole ? bq * Draw(rng, 1, 5) : Draw(rng, 1, 25);
  const int64_t skv = whole ? bk * Draw(rng, 1, 5) : Draw(rng, 1, 25);
  const auto number = [](int64_t n) { return std::to_string(n); };
  std::string line = "block_plan sq=" + number(sq) + " skv=" + number(skv) +
                     " bq=" + number(bq) + " bk=" + number(bk) +
                     " dialect=" + kDialects[dialect] +
                     " mask=" + kMasks[Draw(rng, 0, 9)] +
                     " seed=" + number(Draw(rng, 0, 99));
  if (dialect != 2 && Draw(rng, 0, 1)) {
    line += std::string(" hq=2 mask.h1=") + kMasks[Draw(rng, 0, 9)];
  }
  if (std::min(sq, skv) > 1 && Draw(rng, 0, 2) == 0) {
    const int64_t first = Draw(rng, 1, std::min(sq, skv) - 1);
    line += " q_seg=ids:0*" + number(first) + ",1*" + number(sq - first) +
            " kv_seg=ids:0*" + number(first) + ",1*" + number(skv - first);
  }
  if (Draw(rng, 0, 2) == 0) line += " valid_kv=" + number(Draw(rng, 1, skv));
  if (dialect != 3 && Draw(rng, 0, 1)) line += " blocks=no";
  return line;
}

TEST(BlockPlan, OurPlannerIsSoundInEveryDialectAndThroughFiles) {
  std::mt19937 rng(1);
  std::map<Verdict, int> verdicts;
  for (int n = 0; n < 600; ++n) {
    const std::string line = RandomLine(rng);
    SCOPED_TRACE(line);
    const CaseResult result = JudgeBy("builtin:optimized", line);
    ++verdicts[result.verdict];
    ASSERT_NE(result.verdict, Verdict::kError) << result.reason;
    ASSERT_NE(result.verdict, Verdict::kFail) << result.reason;
    ASSERT_NE(JudgeBy("builtin:reference", line).verdict, Verdict::kFail);
    if (result.verdict != Verdict::kPass) continue;
    const Case c = ParseCase(line).value();
    const BlockPlanScene scene = std::move(OpenBlockPlan(c, {}).value());
    const auto plan = PlanTiles(scene.data.problem, scene.data.inputs, 0,
                                TileOptionsOf(scene.asked));
    const auto text = FormatTables(scene.asked, plan.value(), line);
    ASSERT_TRUE(text.ok()) << text.message();
    const auto file = SafetensorsFile::Parse(
        "memory", {text.value().begin(), text.value().end()});
    ASSERT_TRUE(file.ok()) << file.message();
    const auto trace = ReadTables(scene.asked, file.value());
    ASSERT_TRUE(trace.ok()) << trace.message();
    const auto violations = CheckPlan(trace.value(), scene.mask);
    ASSERT_TRUE(violations.empty()) << violations[0].message;
  }
  // Empty masks prove nothing, and splash cannot say them.
  EXPECT_GT(verdicts[Verdict::kPass], 450);
}

// A kernel that is known to be wrong is tried in the first case of a run, if it
// is wrong there.
TEST(BlockPlan, CanariesAreCaught) {
  const struct {
    const char* keys;
    const char* canary;
  } kRows[] = {{"mask=causal", "mutant:plan."},
               {"q_seg=runs:2,2,2,2 kv_seg=runs:2,2,2,2",
                "mutant:plan.dense_in_disguise"},
               {"mask=window:0,inf bq=8 bk=8", "mutant:plan.states_swapped"},
               {"q_seg=runs:2,2,2,2 kv_seg=runs:2,2,2,2 slack=12", ""},
               {"", ""},
               {"mask=causal expect=fail", ""}};
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.keys);
    const std::string tiles =
        std::string(row.keys).find("bq=") == std::string::npos ? " bq=2 bk=2 "
                                                               : " ";
    const CaseResult result = JudgeBy(
        "builtin:optimized", "block_plan sq=8 skv=8" + tiles + row.keys);
    ASSERT_EQ(result.canaries.size(), *row.canary != 0 ? 1u : 0u);
    if (result.canaries.empty()) continue;
    EXPECT_TRUE(result.canaries[0].caught);
    EXPECT_EQ(result.canaries[0].candidate.find(row.canary), 0u);
  }
}

TEST(BlockPlan, SlackAllowsSoManyTilesInVain) {
  const std::string line =
      "block_plan sq=4 skv=4 bq=2 bk=2 q_seg=runs:2,2 kv_seg=runs:2,2 slack=";
  const char* dense = "mutant:plan.dense_in_disguise";
  EXPECT_EQ(JudgeBy(dense, line + "1").verdict, Verdict::kFail);
  EXPECT_EQ(JudgeBy(dense, line + "2").verdict, Verdict::kPass);
}

TEST(BlockPlan, FlatListsCannotSayEmptyQueryTiles) {
  const std::string line =
      "block_plan sq=4 skv=4 bq=2 bk=2 valid_q=2 dialect=flat_list";
  const CaseResult result = JudgeBy("builtin:optimized", line);
  EXPECT_EQ(result.verdict, Verdict::kSkipped);
  EXPECT_NE(result.reason.find("never write query tile 1"), std::string::npos)
      << result.reason;
  EXPECT_EQ(JudgeBy("builtin:reference", line).verdict, Verdict::kPass);
  // A shard of keys is a pass of its own.
  EXPECT_EQ(JudgeBy("builtin:optimized",
                    "block_plan sq=4 skv=4 bq=2 bk=2 mask=causal "
                    "dialect=flat_list kv_shards=2")
                .verdict,
            Verdict::kSkipped);
}

TEST(BlockPlan, WhoMakesNoTablesIsSkipped) {
  const CaseResult result =
      JudgeBy("variant:flash", "block_plan sq=4 skv=4 bq=2 bk=2 mask=causal");
  EXPECT_EQ(result.verdict, Verdict::kSkipped);
  EXPECT_NE(result.reason.find("makes no block tables"), std::string::npos);
}

TEST(BlockPlan, AnEmptyMaskProvesNothing) {
  const std::string line = "block_plan sq=4 skv=4 bq=2 bk=2 valid_kv=0";
  EXPECT_EQ(JudgeBy("builtin:optimized", line).verdict, Verdict::kUntrusted);
  EXPECT_EQ(JudgeBy("builtin:optimized", line + " expect=vacuous").verdict,
            Verdict::kPass);
}

// A file with one tensor changed; what the reader or the invariants say.
struct Bend {
  const char* tensor;
  std::function<void(std::vector<uint8_t>*)> change;
  const char* invariant;
};

// What the invariants say of our tables for the case after each change; "":
// nothing.
void ExpectBends(const std::string& line, const std::vector<Bend>& bends) {
  const Case c = ParseCase(line).value();
  const BlockPlanScene scene = std::move(OpenBlockPlan(c, {}).value());
  const auto plan = PlanTiles(scene.data.problem, scene.data.inputs, 0,
                              TileOptionsOf(scene.asked));
  const auto text = FormatTables(scene.asked, plan.value(), line);
  const auto file = SafetensorsFile::Parse(
      "memory", {text.value().begin(), text.value().end()});
  for (const Bend& bend : bends) {
    SCOPED_TRACE(std::string(bend.tensor) + " " + bend.invariant);
    std::map<std::string, std::vector<uint8_t>> bytes;
    std::vector<SafetensorsTensor> tensors = file->tensors();
    for (SafetensorsTensor& tensor : tensors) {
      auto& own = bytes[tensor.name];
      own.assign(tensor.bytes.begin(), tensor.bytes.end());
      if (tensor.name == bend.tensor) bend.change(&own);
      tensor.bytes = own;
    }
    const auto bent = FormatSafetensors(tensors, {});
    const auto parsed = SafetensorsFile::Parse(
        "memory", {bent.value().begin(), bent.value().end()});
    const auto trace = ReadTables(scene.asked, parsed.value());
    ASSERT_TRUE(trace.ok()) << trace.message();
    const auto found = CheckPlan(trace.value(), scene.mask);
    if (bend.invariant == std::string()) {
      EXPECT_TRUE(found.empty()) << found[0].message;
      continue;
    }
    EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                            [&](const Violation& violation) {
                              return InfoOf(violation.invariant).name ==
                                     std::string(bend.invariant);
                            }))
        << (found.empty() ? "nothing found" : found[0].message);
  }
}

TEST(BlockPlan, BentFilesAreNamed) {
  // Rows of tiles: 0; 0 1; 1 2; 2 3; three steps of room.
  const std::vector<Bend> bends = {
      {"data_next", [](auto* b) { (*b)[3] = 3; }, "I3"},
      {"data_next", [](auto* b) { (*b)[3] = 7; }, "I6"},
      {"data_next", [](auto* b) { (*b)[4] = 0; }, "I1"},
      {"data_next", [](auto* b) { (*b)[2] = 0x80; }, "I7"},
      {"block_mask", [](auto* b) { (*b)[0] = 2; }, "I2"},
      {"block_mask", [](auto* b) { (*b)[1] = 1; }, "I1"},
      {"block_mask", [](auto* b) { (*b)[4] = 0; }, "I3"},
      {"block_mask_t", [](auto* b) { (*b)[0] = 2; }, "I5"},
      {"mask_next", [](auto* b) { (*b)[3] ^= 1; }, "I4"},
      {"mask_next_t", [](auto* b) { (*b)[0] = 5; }, "I6"},
      {"grid_width", [](auto* b) { (*b)[0] = 3; }, "I8"},
      {"partial_mask_blocks", [](auto* b) { (*b)[1] = 1; }, "I13"},
  };
  ExpectBends("block_plan sq=8 skv=8 bq=2 bk=2 mask=causal&window:2,0 width=3",
              bends);
}

// A full tile needs no block, but its step fetches one; -1 stands for none.
TEST(BlockPlan, FullTilesFetchWhatIsThere) {
  // Rows of tiles: 0; 0 1; 0 1 2, full below the diagonal.
  ExpectBends("block_plan sq=6 skv=6 bq=2 bk=2 mask=causal",
              {{"mask_next", [](auto* b) { (*b)[3] = 99; }, "I6"},
               {"mask_next", [](auto* b) { (*b)[3] = 1; }, "I6"},
               {"mask_next", [](auto* b) { (*b)[7] = 0xfe; }, "I6"},
               {"mask_next", [](auto* b) { (*b)[7] = 0xff; }, ""}});
}

TEST(BlockPlan, FilesThatAreNoTablesAreRefusedByTensor) {
  const Case c =
      ParseCase("block_plan sq=8 skv=8 bq=2 bk=2 mask=causal").value();
  const std::vector<uint8_t> zeros(1024, 0);
  const std::vector<uint8_t> twos(1024, 2);
  const auto tensor = [&](const char* name, const char* type,
                          std::vector<int64_t> shape, size_t size) {
    return SafetensorsTensor{name, type, std::move(shape),
                             std::span(zeros).first(size)};
  };
  const auto message = [&](const std::vector<SafetensorsTensor>& tensors) {
    const auto text = FormatSafetensors(tensors, {});
    EXPECT_TRUE(text.ok()) << text.message();
    const auto file = SafetensorsFile::Parse(
        "memory", {text.value().begin(), text.value().end()});
    return ReadTables(c.Get<BlockPlanCase>(), file.value()).status().message();
  };
  const auto data = tensor("data_next", "I8", {4, 2}, 8);
  const auto states = tensor("block_mask", "I8", {4, 2}, 8);
  EXPECT_EQ(message({}), "data_next: is missing");
  EXPECT_EQ(message({tensor("data_next", "F32", {4, 2}, 32)}),
            "data_next: has type F32; want integers");
  EXPECT_EQ(message({tensor("data_next", "I8", {3, 2}, 6)}),
            "data_next: has shape [3, 2]; want [-1, 4, -1], -1 for any");
  EXPECT_EQ(message({data, tensor("block_mask", "I8", {4, 1}, 4)}),
            "block_mask: has shape [4, 1]; want [1, 4, 2], -1 for any");
  EXPECT_EQ(message({data, states}), "mask_next: is missing");
}

TEST(BlockPlan, CasesThatMeanNothingAreRefused) {
  for (const auto& [keys, what] :
       std::vector<std::pair<const char*, const char*>>{
           {"bq=0", "tile_q=0"},
           {"dialect=splash bq=3", "do not divide"},
           {"dialect=block_mask blocks=yes", "blocks=no"},
           {"q_shards=2", "has no shards"},
           {"dialect=flat_list bq=2 bk=2 q_shards=3", "divide the tiles"},
           {"dialect=splash bq=2 bk=2 width=4", "only dialect=shrunk"},
           {"width=99", "up to twice"},
           {"slack=-1", "below 0"},
           {"hq=2 sq=16384 skv=16384 mask=random:0.5", "too many"},
           {"sq=131072 skv=131072 mask=causal&blocks:8x8:0.5", "too many"}}) {
    std::string line = std::string("block_plan ") + keys;
    if (line.find("sq=") == std::string::npos) line += " sq=8 skv=8";
    const Result<Case> c = ParseCase(line);
    ASSERT_TRUE(c.ok()) << c.message();
    const Status status = ValidateCase(c.value());
    EXPECT_NE(status.message().find(what), std::string::npos)
        << line << ": " << status.message();
  }
}

TEST(BlockPlan, TheCaseFileHoldsItsPromises) {
  const auto file = ReadCaseFile("data/cases/block_plan.cases", Ops());
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_GE(file->entries.size(), 20u);
  for (const CaseFileEntry& entry : file->entries) {
    const Case& c = entry.sequence[0];
    EXPECT_EQ(ParseCase(CanonicalLine(c)).value(), c);
    EXPECT_EQ(ParseCase(MinimalLine(c)).value(), c);
    if (c.expect == Expect::kRefuse) {
      EXPECT_FALSE(ValidateCase(c).ok()) << MinimalLine(c);
      continue;
    }
    const CaseResult result = JudgeBy("builtin:optimized", MinimalLine(c));
    EXPECT_EQ(result.verdict, Verdict::kPass)
        << MinimalLine(c) << ": " << result.reason;
  }
}

}  // namespace
}  // namespace lockstep::verify
