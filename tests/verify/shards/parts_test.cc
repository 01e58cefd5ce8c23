// Shards of keys as parts: the states that our kernels return for them.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/verify/fake_candidate.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/shards/only_shards.h"

namespace lockstep::verify {
namespace {

// If shards are the parts of split=N, the joined states of our kernels have its
// bits; else the result says why not.
TEST(Parts, OfOursHaveTheBitsOfSplit) {
  const struct {
    const char* line;
    const char* parts;
  } kCases[] = {
      {"attention_forward hq=2 sq=5 skv=64 d=4 mask=causal align=br shard=kv:4",
       "the bits of split=4"},
      {"attention_forward b=2 hq=4 hkv=2 sq=8 skv=96 d=4 dv=3 lane=bf16 p=bf16 "
       "cap=5 sinklogit=const:2 q_seg=runs:8 kv_seg=runs:50,46 "
       "valid_kv=96,40 mask=(chunked:24|sink:2) shard=ring:3 split=3",
       "the bits of split=3"},
      {"attention_forward sq=3 skv=20 d=4 lane=f16 page=4 shard=kv:1",
       "the bits of split=1"},
      // The first part's values make infinite sums. Both parts' values are too
      // large for the usual weights.
      {"attention_forward sq=32 skv=32 d=8 mask=causal "
       "fill=normal:1+v.huge:0.02 shard=kv:2",
       "the bits of split=2; merged by their lse: the profile bounds next to "
       "nothing of o in merged shards"},
      // No bound is derived for what is merged in such an order.
      {"attention_forward sq=3 skv=64 d=4 lane=bf16 p=bf16 order=hopper "
       "shard=kv:4",
       "the bits of split=4; merged by their lse: no bound is derived for "
       "merged parts under order=hopper"},
      {"attention_forward sq=3 skv=48 d=4 shard=kv:3 split=2",
       "the case has split=2, not split=3"},
      {"attention_forward sq=3 skv=50 d=4 shard=kv:3",
       "split=3 has parts of 32 keys, and a shard has 17"},
      {"attention_forward sq=3 skv=50 d=4 shard=queries:3", ""},
  };
  for (const auto& [line, parts] : kCases) {
    for (const char* spec : {"builtin:optimized", "builtin:reference"}) {
      const CaseResult result = JudgeSpec(line, spec, OnlyShards());
      EXPECT_EQ(result.verdict, Verdict::kPass)
          << line << " " << WhatWasFound(result);
      EXPECT_EQ(result.shards->parts, parts) << line;
    }
    const CaseResult other = JudgeSpec(line, "variant:exact", OnlyShards());
    EXPECT_EQ(other.shards->parts, "") << line;
  }
}

// A wrong bit in m, l or acc of any part is found.
TEST(Parts, AWrongOneIsFound) {
  const std::string line =
      "attention_forward hq=2 sq=5 skv=64 d=4 mask=causal align=br shard=kv:4";
  for (int64_t part = 0; part < 4; ++part) {
    for (const size_t tensor : {0u, 1u, 2u}) {
      int64_t asked = 0;
      FakeCandidate candidate(
          [&](int64_t, const Variation&, const OutputSet& outputs, Execution*) {
            const bool is_part = outputs.tensors.size() == 3;
            if (is_part && asked++ == part) ElementOf(outputs, tensor, 0) *= 2;
            return RunOutcome{};
          });
      candidate.parts = true;
      const CaseResult result = JudgeLine(line, candidate, OnlyShards());
      EXPECT_EQ(result.verdict, Verdict::kFail)
          << "part " << part << " tensor " << tensor;
      EXPECT_NE(
          WhatWasFound(result).find("other bits than the case with split=4"),
          std::string::npos)
          << WhatWasFound(result);
    }
  }
}

}  // namespace
}  // namespace lockstep::verify
