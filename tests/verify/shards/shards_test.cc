// Cases in shards: kernels whose shards add up, and those whose do not.
#include "verify/judge/shards/shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/verify/fake_candidate.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/shards/only_shards.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/shards/mutant_shards.h"
#include "verify/emulator/mutants_shards/bugs.h"
#include "verify/ops/attention_forward/shards/shards.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {
namespace {

// What sums over many keys hide, exact probes show.
JudgeOptions WithProbes() {
  JudgeOptions options = OnlyShards();
  options.probes = true;
  return options;
}

JudgeOptions Claiming(const char* profile) {
  JudgeOptions options;
  options.profile = ParseProfile(profile, "test").value();
  return options;
}

int64_t ShardRuns(const CaseResult& result) {
  for (const Check& check : result.checks) {
    if (check.name == "law_shard") return check.runs;
  }
  return 0;
}

std::string Sharded(const std::string& line, const std::string& shard) {
  return line + " shard=" + shard;
}

struct Cut {
  const char* line;
  std::vector<const char*> shards;
};

// A line for each feature that a shard has to carry over.
const Cut kCuts[] = {
    {"attention_forward hq=4 hkv=2 sq=24 skv=40 d=8 mask=causal align=br cap=5 "
     "sinklogit=const:1",
     {"heads:2", "heads:4", "queries:3", "kv:3", "ring:4"}},
    {"attention_forward b=3 hq=2 sq=9 skv=40 d=16 lane=bf16 p=bf16 "
     "mask=window:7,0 align=br q_seg=runs:9 kv_seg=runs:31,9 "
     "valid_kv=40,33,5 valid_q=9,4,9",
     {"heads:2", "queries:4", "kv:7", "ring:3"}},
    {"attention_forward sq=30 skv=30 d=8 mask=(causal&random:0.5) layout=bshd",
     {"queries:4", "kv:4", "ring:7"}},
    {"attention_forward b=2 hq=2 hkv=2 sq=12 skv=20 d=4 dv=6 valid_kv=20,11 "
     "mask=(prefix:3|chunked:8|sink:2) mask.h1=blocks:4x8:0.5",
     {"heads:2", "queries:5", "kv:3", "ring:3"}},
    // More shards than positions.
    {"attention_forward sq=3 skv=5 d=4", {"queries:7", "kv:64", "ring:4"}},
    {"attention_backward hq=4 hkv=2 sq=12 skv=12 d=8 mask=causal cap=3 "
     "sinklogit=const:1 dlse=normal:1",
     {"heads:2", "heads:1"}},
    {"mamba3_scan h=4 g=2 t=24 n=8 p=4 s=3 gate=yes", {"time:3", "time:64"}},
    {"mamba3_scan variant=mimo reduce=yes bias=yes skip=yes gate=yes norm=1e-5 "
     "carry=yes layout=bhtp lane=bf16 r=2 h=4 g=1 t=24 n=8 p=4 s=3 "
     "seg=runs:10,14",
     {"time:4", "time:7"}},
    {"mamba3_scan b=2 h=2 t=20 n=4 p=4 seg=[runs:3,17;runs:9,1,10]",
     {"time:2", "time:4"}},
    {"mamba3_scan h=2 t=24 n=4 p=4 cu=0,5,5,24,24", {"time:3", "time:24"}},
    {"ssd_scan h=4 g=2 t=24 n=4 p=4", {"time:5"}},
};

TEST(Shards, OursAddUp) {
  for (const Cut& cut : kCuts) {
    for (const char* shard : cut.shards) {
      const std::string line = Sharded(cut.line, shard);
      for (const char* spec :
           {"builtin:optimized,threads=1", "builtin:reference"}) {
        // One cut shows that the reference is asked as others are.
        if (shard != cut.shards[0] && spec[8] == 'r') continue;
        const CaseResult result = JudgeSpec(line, spec, OnlyShards());
        EXPECT_EQ(result.verdict, Verdict::kPass)
            << line << " " << spec << " " << WhatWasFound(result);
        EXPECT_GT(ShardRuns(result), 0) << line;
        EXPECT_GT(result.shards->elements, 0) << line;
      }
    }
  }
}

TEST(Shards, CorrectKernelsOfOthersAddUp) {
  const struct {
    const char* spec;
    const char* line;
  } kOthers[] = {
      {"variant:cpu", kCuts[0].line},
      {"variant:flash", kCuts[1].line},
      {"variant:cpu-lanes", kCuts[2].line},
      {"variant:cpu-split3", kCuts[3].line},
      {"variant:cpu-posinf", kCuts[2].line},
  };
  for (const auto& [spec, line] : kOthers) {
    for (const char* shard : {"heads:1", "queries:3", "kv:3", "ring:3"}) {
      const CaseResult result =
          JudgeSpec(Sharded(line, shard), spec, OnlyShards());
      EXPECT_EQ(result.verdict, Verdict::kPass)
          << spec << " " << Sharded(line, shard) << " " << WhatWasFound(result);
      EXPECT_GT(result.shards->elements, 0) << spec << " " << line;
    }
  }
  for (const char* spec : {"variant:scan-turns", "variant:scan-recurrent-turns",
                           "builtin:optimized,chunk=8"}) {
    const CaseResult result = JudgeSpec(
        "mamba3_scan h=4 g=2 t=24 n=8 p=4 s=3 gate=yes seg=runs:7,17 "
        "shard=time:4",
        spec, OnlyShards());
    EXPECT_EQ(result.verdict, Verdict::kPass) << spec << WhatWasFound(result);
    EXPECT_GT(result.shards->elements, 0) << spec;
  }
}

// A NaN, an infinite score and a shard that nobody sees stay what they are.
TEST(Shards, WhatIsNoNumberStays) {
  for (const char* shard : {"kv:4", "ring:4", "queries:4", "heads:2"}) {
    for (const char* fill :
         {"normal:1+k.special:0.02", "normal:1+v.special:0.02",
          "normal:1+special:0.05", "normal:1+poison:masked"}) {
      const std::string line =
          "attention_forward hq=2 sq=16 skv=32 d=4 mask=window:9,0 align=br "
          "fill=" +
          std::string(fill);
      const CaseResult result = JudgeSpec(
          Sharded(line, shard), "builtin:optimized,threads=1", OnlyShards());
      EXPECT_EQ(result.verdict, Verdict::kPass)
          << Sharded(line, shard) << " " << WhatWasFound(result);
    }
  }
}

TEST(Shards, SpecsOfWrongGlue) {
  for (const char* spec : {"mutant:shard.unnormalised,shard=kv:2",
                           "mutant:shard.unnormalised,shard=kv:2,base=flash"}) {
    const auto kernel = ParseCandidate(spec);
    ASSERT_TRUE(kernel.ok()) << kernel.message();
    EXPECT_EQ(kernel.value()->Spec({}), spec);
  }
  const auto refused = [](const char* spec) {
    return ParseCandidate(std::string("mutant:shard.unnormalised,") + spec)
        .message();
  };
  EXPECT_EQ(refused("shard=ring:2"), "shard=ring:2: the bug is of kv:N");
  EXPECT_EQ(refused("base=exact"),
            "base=exact: answers of the exact contract are not merged; want a "
            "variant with a profile, such as base=cpu");
  EXPECT_EQ(refused("tile=4x4"),
            "candidate argument 'tile=4x4': want shard=AXIS:N or base=VARIANT");
}

// The same kernels without their bug.
TEST(Shards, RightGluePasses) {
  for (const ShardBug& bug : ShardBugs()) {
    ShardBug right = bug;
    right.glue = ShardGlue::kRight;
    const auto kernel = MakeShardedKernel(right);
    ASSERT_TRUE(kernel.ok()) << kernel.message();
    const CaseResult result = JudgeLine(bug.pattern, *kernel.value());
    EXPECT_EQ(result.verdict, Verdict::kPass)
        << bug.name << " " << WhatWasFound(result);
  }
}

class LongShards : public testing::TestWithParam<int64_t> {};

TEST_P(LongShards, WrongGlueFails) {
  const std::string keys = std::to_string(GetParam());
  for (const char* name : {"shard.last_step_dropped", "shard.unnormalised",
                           "shard.sink_in_each", "shard.offset_of_whole"}) {
    const CaseResult result =
        JudgeSpec("attention_forward sq=8 skv=" + keys +
                      " d=4 mask=causal align=br sinklogit=const:3",
                  std::string("mutant:") + name, WithProbes());
    EXPECT_EQ(result.verdict, Verdict::kFail)
        << name << " at " << keys << " keys: " << WhatWasFound(result);
  }
  const CaseResult scan =
      JudgeSpec("mamba3_scan t=" + keys + " n=4 p=2 s=1 regime=long",
                "mutant:shard.carry_of_first", OnlyShards());
  EXPECT_EQ(scan.verdict, Verdict::kFail) << keys << WhatWasFound(scan);
}
INSTANTIATE_TEST_SUITE_P(Keys, LongShards, testing::Values(1024, 4096, 16384),
                         testing::PrintToStringParamName());

// A shard asks for an offset where the whole does not.
TEST(Shards, AKernelWithoutOffsetsIsFoundOrLeftOut) {
  const std::string line = "attention_forward sq=16 skv=16 d=4 mask=causal";
  const char* silent = "mutant:attn.offset_ignored";
  EXPECT_EQ(JudgeSpec(line, silent, OnlyShards()).verdict, Verdict::kPass);
  const CaseResult wrong =
      JudgeSpec(Sharded(line, "ring:2"), silent, OnlyShards());
  EXPECT_EQ(wrong.verdict, Verdict::kFail) << WhatWasFound(wrong);
  FakeCandidate refusing([](int64_t, const Variation&, const OutputSet& outputs,
                            Execution*) -> RunOutcome {
    if (outputs.tensors[0].view.shape[2] == 16) return {};
    return {RunOutcome::State::kUnsupported, "it takes no offset", ""};
  });
  const CaseResult refused =
      JudgeLine(Sharded(line, "ring:2"), refusing, OnlyShards());
  EXPECT_EQ(refused.verdict, Verdict::kSkipped) << WhatWasFound(refused);
  EXPECT_NE(refused.reason.find("it takes no offset"), std::string::npos)
      << refused.reason;
}

TEST(Shards, WhatCannotBeMergedIsNoPass) {
  const std::string line =
      "attention_forward sq=16 skv=16 d=4 mask=causal shard=kv:4";
  const struct {
    const char* spec;
    const char* why;
  } kWhy[] = {
      {"variant:cpu-no-lse", "no lse"},
      {"variant:flash-lse-bf16", "rounded to bf16"},
      {"variant:cpu-lse-base2", "some queries see no key"},
  };
  for (const auto& [spec, why] : kWhy) {
    const std::string of = spec;
    const CaseResult result =
        JudgeSpec(line + (of.find("bf16") != of.npos ? " lane=bf16" : ""), spec,
                  OnlyShards());
    EXPECT_EQ(result.verdict, Verdict::kSkipped)
        << spec << " " << WhatWasFound(result);
    EXPECT_NE(result.reason.find(why), std::string::npos) << result.reason;
    EXPECT_EQ(ShardRuns(result), 0) << spec;
  }
  // The sink is in the first shard, whoever sees its keys.
  const CaseResult sink = JudgeSpec(
      "attention_forward sq=1 skv=2 d=1 mask=window:0,inf align=1 "
      "sinklogit=normal:1 shard=kv:2",
      "variant:cpu-lse-base2", OnlyShards());
  EXPECT_EQ(sink.verdict, Verdict::kPass) << WhatWasFound(sink);
  EXPECT_EQ(sink.shards->calls.size(), 2u);
  // One of -infinity weighs nothing, and marks nothing.
  const CaseResult none = JudgeSpec(
      "attention_forward sq=1 skv=2 d=1 mask=random:0 sinklogit=const:-inf "
      "shard=kv:2",
      "variant:cpu-lse-base2", OnlyShards());
  EXPECT_NE(none.verdict, Verdict::kFail) << WhatWasFound(none);
  EXPECT_EQ(none.shards->calls.size(), 0u);
  // Steps of a causal ring that nobody sees are not asked for.
  const CaseResult ring = JudgeSpec(
      "attention_forward sq=16 skv=16 d=4 mask=causal shard=ring:4",
      "variant:cpu",
      OnlyShards(
          Claiming("base = cpu-f32\nname = mine\nempty_row = unspecified")));
  EXPECT_EQ(ring.verdict, Verdict::kPass) << WhatWasFound(ring);
  EXPECT_EQ(ring.shards->calls.size(), 10u);
  EXPECT_EQ(ring.shards->empty.size(), 6u);
}

// A judge that cut wrongly says so of itself.
TEST(Shards, AWrongCutIsTheJudgesOwnFault) {
  const Case c = ParseCase("attention_forward sq=4 skv=16 d=4").value();
  auto opened = AttentionForwardTrial::Open(c, {});
  ASSERT_TRUE(opened.ok()) << opened.message();
  const auto& whole =
      static_cast<const AttentionForwardTrial&>(*opened.value());
  for (const bool wrong : {false, true}) {
    AttentionCut cut = CutAttention(whole.data(), {ShardAxis::kKv, 2});
    if (wrong) cut.shards[1].pick = cut.shards[0].pick;
    Shards shards;
    MergeKeys(whole, cut, 2, nullptr, &shards);
    EXPECT_EQ(shards.allowed({0, 1, 2, 3}, 1).ok(), !wrong);
  }
}

TEST(Shards, TheKeyIsReadAndRefused) {
  const std::string line = "attention_forward hq=6 hkv=2 sq=4 skv=4 d=4";
  EXPECT_EQ(MinimalLine(ParseCase(line + " shard=none").value()), line);
  EXPECT_EQ(MinimalLine(ParseCase(line + " shard=ring:4").value()),
            line + " shard=ring:4");
  EXPECT_EQ(CanonicalLine(ParseCase(line).value()).find("shard"),
            std::string::npos);
  for (const char* wrong : {"shard=rows:2", "shard=ring", "shard=ring:0",
                            "shard=ring:65", "shard=ring:4x"}) {
    EXPECT_FALSE(ParseCase(line + " " + wrong).ok()) << wrong;
  }
  for (const char* wrong :
       {"shard=time:2", "shard=heads:4", "shard=heads:12"}) {
    EXPECT_FALSE(ValidateCase(ParseCase(line + " " + wrong).value()).ok())
        << wrong;
  }
  for (const char* right :
       {"shard=heads:1", "shard=heads:2", "shard=heads:6"}) {
    EXPECT_TRUE(ValidateCase(ParseCase(line + " " + right).value()).ok())
        << right;
  }
  EXPECT_FALSE(
      ValidateCase(ParseCase("mamba3_step t=4 n=4 p=4 shard=time:2").value())
          .ok());
}

}  // namespace
}  // namespace lockstep::verify
