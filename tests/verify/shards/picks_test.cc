// Parts of inputs: one that leaves its source is refused, before anything is
// read or written, and so is a cut that the case cannot have.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/verify/trials.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/candidate/candidate.h"
#include "verify/case/attention_merge/case.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/emulator/mutants_shards/bugs.h"
#include "verify/inputs/attention_backward/data.h"
#include "verify/inputs/attention_forward/pick.h"
#include "verify/inputs/attention_merge.h"
#include "verify/inputs/mamba3_scan_pick.h"
#include "verify/ops/laws.h"
#include "verify/ops/mamba3_scan/trial.h"
#include "verify/ops/shards.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

Case Read(const std::string& line) {
  Result<Case> c = ParseCase(line);
  EXPECT_TRUE(c.ok()) << line << ": " << c.message();
  return std::move(c.value());
}

TEST(Picks, OfAttentionLieInTheirSource) {
  const Case c = Read(
      "attention_backward b=2 hq=4 hkv=2 sq=6 skv=9 d=4 "
      "mask=prefix:3,4&random:0.9 valid_kv=9,4 sinklogit=const:1");
  const AttentionBackwardData source =
      std::move(MaterialiseAttentionBackward(c, {}).value());
  const AttentionPick all = PickAll(source.forward);
  const auto picked = [&](const std::function<void(AttentionPick*)>& change) {
    AttentionPick pick = all;
    change(&pick);
    Case gradients = c, forward = c, text = c;
    DescribePick(source.forward, pick, &text.Get<AttentionForwardCase>());
    const bool there = PickAttention(source.forward, pick,
                                     &forward.Get<AttentionForwardCase>())
                           .ok();
    EXPECT_TRUE(there || MinimalLine(text) == MinimalLine(c));
    EXPECT_EQ(
        PickGradients(source, pick, &gradients.Get<AttentionForwardCase>())
            .ok(),
        there);
    return there;
  };
  using Change = std::function<void(AttentionPick*)>;
  const Change right[] = {
      [](AttentionPick*) {},
      [](AttentionPick* p) { p->rows = {1, 1, 0}; },
      [](AttentionPick* p) { p->kv_heads = {1}, p->q_heads = {3, 2}; },
      [](AttentionPick* p) { p->first_key = 8, p->keys = 1; },
      [](AttentionPick* p) { p->first_query = 5, p->queries = 1; },
      [](AttentionPick* p) { p->padding = 3; },
  };
  for (size_t n = 0; n < std::size(right); ++n) EXPECT_TRUE(picked(right[n]));
  const Change wrong[] = {
      [](AttentionPick* p) { p->rows = {2}; },
      [](AttentionPick* p) { p->rows = {0, -1}; },
      [](AttentionPick* p) { p->rows.clear(); },
      [](AttentionPick* p) { p->q_heads[3] = 4; },
      [](AttentionPick* p) { p->q_heads.pop_back(); },
      [](AttentionPick* p) { p->kv_heads[1] = 2; },
      [](AttentionPick* p) { p->kv_heads.clear(); },
      [](AttentionPick* p) { p->first_query = 1; },
      [](AttentionPick* p) { p->queries = 7; },
      [](AttentionPick* p) { p->queries = 0; },
      [](AttentionPick* p) { p->first_key = -1; },
      [](AttentionPick* p) { p->first_key = 1, p->keys = INT64_MAX; },
      [](AttentionPick* p) { p->padding = -1; },
  };
  for (size_t n = 0; n < std::size(wrong); ++n) {
    EXPECT_FALSE(picked(wrong[n])) << n;
  }
  AttentionPick heads = all;
  heads.q_heads = {4};
  EXPECT_FALSE(PickQueries(source.d_o, heads, Layout::kBhsd).ok());
}

TEST(Picks, OfScansLieInTheirSource) {
  const Case c = Read("mamba3_scan b=2 t=5 h=4 g=2 n=4 p=4 s=2 carry=thkv");
  const Mamba3ScanCase& scan = c.Get<Mamba3ScanCase>();
  const Mamba3ScanData source = std::move(MaterialiseMamba3Scan(c, {}).value());
  const ScanPick all = PickAll(source);
  EXPECT_TRUE(PickScan(source, all, scan).ok());
  using Change = std::function<void(ScanPick*)>;
  const Change wrong[] = {
      [](ScanPick* p) { p->tokens.back() = 10; },
      [](ScanPick* p) { p->tokens.front() = -1; },
      [](ScanPick* p) { p->tokens.pop_back(); },
      [](ScanPick* p) { p->heads[0] = 4; },
      [](ScanPick* p) { p->heads.pop_back(); },
      [](ScanPick* p) { p->runs[1] = 2; },
      [](ScanPick* p) { p->runs.pop_back(); },
  };
  for (size_t n = 0; n < std::size(wrong); ++n) {
    ScanPick pick = all;
    wrong[n](&pick);
    EXPECT_FALSE(PickScan(source, pick, scan).ok()) << n;
  }
}

// Shard 2 goes on with the second run of shard 1, and shard 0 has one run.
TEST(Picks, CarriesOfRunsThatAnAnswerLacksAreZeros) {
  const auto trial =
      Open("mamba3_scan t=24 n=4 p=4 s=2 seg=runs:8,10,6 shard=time:4");
  const Shards shards = std::move(
      trial->laws().MakeShards({ReadShard("time:4").value(), nullptr}).value());
  const LawCall first = std::move(shards.calls[0].make().value());
  const LawCall third = std::move(shards.calls[2].make().value());
  third.take(Reference(*first.trial));
  const auto& made = static_cast<const Mamba3ScanTrial&>(*third.trial).data();
  const LaneView carry = made.at(ScanTensor::kCarryH).tensor.const_view();
  ForElements(carry.shape,
              [&](const At& at) { EXPECT_EQ(ElementBits(carry, at), 0u); });
}

TEST(Picks, OfMergesLieInTheirSource) {
  const Case c = Read("attention_merge s=3 h=2 n=4 dv=4");
  const AttentionMergeData source = std::move(MaterialiseMerge(c, {}).value());
  const auto picked = [&](const std::vector<int64_t>& parts) {
    AttentionMergeCase to = c.Get<AttentionMergeCase>();
    return PickParts(source, parts, 0, &to).ok();
  };
  EXPECT_TRUE(picked({2, -1, 0, 0}));
  EXPECT_FALSE(picked({3}));
  EXPECT_FALSE(picked({0, -2}));
  EXPECT_FALSE(picked({}));
}

// A kernel in shards takes what a line with its shard= may ask for.
TEST(Picks, CutsOfKernelsAreHeldAgainstEachCase) {
  const std::string lines[] = {
      "attention_forward hq=6 hkv=3 sq=20 skv=24 d=4",
      "attention_forward hq=8 hkv=1 sq=1 skv=3 d=4 mask=causal align=br",
      "attention_forward hq=8 hkv=2 sq=3 skv=40 d=4 kvlane=e4m3",
      "attention_forward b=2 hq=2 sq=4 skv=4 d=4 layout=varlen valid_q=4,3 "
      "valid_kv=4,3",
      "attention_backward hq=6 hkv=3 sq=9 skv=9 d=4",
      "attention_merge s=3 h=2 n=4 dv=4",
      "mamba3_scan h=2 t=5 n=4 p=4 s=2",
      "mamba3_step h=2 t=1 n=4 p=4 s=2",
      "mamba3_scan_backward h=2 t=5 n=4 p=4 s=2",
      "ssd_scan t=9 h=2 n=4 p=4",
  };
  int64_t ran = 0, refused = 0;
  for (const std::string& line : lines) {
    const Case c = Read(line);
    const auto trial = Open(c);
    for (const ShardBug& bug : ShardBugs()) {
      const std::string usual = bug.shard;
      const std::string axis = usual.substr(0, usual.find(':') + 1);
      for (const char* count : {"1", "2", "3", "4", "6", "8", "64"}) {
        const std::string spec =
            std::string("mutant:") + bug.name + ",shard=" + axis + count;
        Case cut = c;
        cut.shard = ReadShard(axis + count).value();
        OutputSet outputs = std::move(trial->Allocate(0).value());
        Execution execution;
        const RunOutcome outcome = ParseCandidate(spec).value()->Run(
            {}, *trial, {}, outputs, &execution);
        const std::string op = OpName(c);
        const bool own = bug.scan ? op == "mamba3_scan" || op == "ssd_scan"
                                  : op == "attention_forward";
        const bool may = own && ValidateCase(cut).ok();
        EXPECT_EQ(outcome.state, may ? RunOutcome::State::kRan
                                     : RunOutcome::State::kUnsupported)
            << spec << " on " << line << ": " << outcome.message;
        (may ? ran : refused) += 1;
        for (const LaneTensor& tensor : outputs.tensors) {
          EXPECT_TRUE(tensor.buffer.GuardsIntact()) << spec << " on " << line;
        }
      }
    }
  }
  EXPECT_GT(ran, 100);
  EXPECT_GT(refused, 100);
}

TEST(Picks, ACutThatDoesNotFitSaysWhy) {
  const auto trial = Open("attention_forward hq=6 hkv=3 sq=20 skv=24 d=4");
  OutputSet outputs = std::move(trial->Allocate(0).value());
  Execution execution;
  const auto kernel =
      ParseCandidate("mutant:shard.other_key_head,shard=heads:8");
  ASSERT_TRUE(kernel.ok()) << kernel.message();
  EXPECT_EQ(kernel.value()->Run({}, *trial, {}, outputs, &execution).message,
            "mutant:shard.other_key_head,shard=heads:8: shard=heads:8: hq=6 on "
            "hkv=3; want no more shards than key heads, or as many to each key "
            "head as divide its query heads");
  EXPECT_FALSE(ReadShard("kv:8x").ok());
}

}  // namespace
}  // namespace lockstep::verify
