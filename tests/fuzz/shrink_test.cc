// Shrinking: smaller, alike, and reproducible by the line it ends in.
#include "fuzz/shrink.h"
#include "verify/case/attention_forward/case.h"
#include "verify/registry/ops.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace lockstep::fuzz {
namespace {

constexpr const char* kLarge =
    "attention_forward b=2 hq=4 hkv=2 sq=37 skv=61 d=16 dv=5 cap=5 "
    "mask=(causal&window:9,2)|sink:2 mask.h1=causal align=24 layout=bshd "
    "valid_kv=61,40 sinklogit=const:0.5 fill=normal:1+k.ramp:8 seed=77";

Shrunk ShrinkOf(const std::string& line, const Target& target) {
  const auto sequence = verify::ParseCaseSequence(line).value();
  const Outcome outcome = TryCase(sequence, target, 2);
  EXPECT_TRUE(outcome.Found()) << line;
  return Shrink(*verify::FindDomain("attention_forward").value(), sequence,
                outcome, target, 60);
}

TEST(ShrinkTest, EndsSmallWithTheSameSignature) {
  for (const char* mutant :
       {"attn.causal_strict", "attn.window_left_plus_one", "attn.drop_last_key",
        "attn.value_head_zero", "attn.valid_kv_ignored",
        "attn.tail_tile_dropped"}) {
    const Target target =
        Target::Open(std::string("mutant:") + mutant, "").value();
    const auto sequence = verify::ParseCaseSequence(kLarge).value();
    const std::string signature = TryCase(sequence, target, 2).signature;
    const Shrunk shrunk = ShrinkOf(kLarge, target);
    EXPECT_TRUE(shrunk.finished) << mutant;
    EXPECT_EQ(shrunk.outcome.signature, signature) << mutant;
    ASSERT_EQ(shrunk.sequence.size(), 1u);
    const auto& a = shrunk.sequence[0].Get<verify::AttentionForwardCase>();
    EXPECT_LE(a.q_len, 8) << mutant;
    EXPECT_LE(a.kv_len, 8) << mutant;
    EXPECT_LE(a.batch, 2) << mutant;
    EXPECT_EQ(shrunk.sequence[0].seed, 0u) << mutant;
    // The line alone shows it again.
    const auto again =
        verify::ParseCaseSequence(verify::MinimalLine(shrunk.sequence));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(TryCase(again.value(), target, 2).signature, signature);
  }
}

TEST(ShrinkTest, KeepsTheCallsThatMatter) {
  const Target target = Target::Open("mutant:attn.cap_stale", "").value();
  const Shrunk shrunk = ShrinkOf(
      "attention_forward sq=5 skv=9 d=8 cap=1 ;; attention_forward sq=5 skv=9 "
      "d=8 cap=1 seed=3 ;; attention_forward sq=5 skv=9 d=8 cap=5",
      target);
  EXPECT_EQ(shrunk.sequence.size(), 2u);
  EXPECT_LE(shrunk.sequence[1].Get<verify::AttentionForwardCase>().kv_len, 2);
}

// A right answer to every id below 256: only the law of names sees it, and
// goes on being tried while the case shrinks.
TEST(ShrinkTest, KeepsTheLawThatIsBroken) {
  Target target = Target::Open("mutant:attn.segments_8bit", "").value();
  target.law = "";
  const Shrunk shrunk = ShrinkOf(
      "attention_forward b=2 hq=2 hkv=2 sq=7 skv=9 d=8 q_seg=runs:3,4 "
      "kv_seg=runs:5,4 cap=5 seed=3",
      target);
  EXPECT_EQ(shrunk.outcome.signature, "invariance:law_relabel");
  EXPECT_LE(shrunk.sequence[0].Get<verify::AttentionForwardCase>().q_len, 4);
  EXPECT_LE(shrunk.sequence[0].Get<verify::AttentionForwardCase>().kv_len, 2);
  target.law = "scale";
  EXPECT_FALSE(TryCase(shrunk.sequence, target, 1).Found());
}

// Whoever wants a case that is small enough gets one that still has sides: at
// one row and one key most bugs look alike.
TEST(ShrinkTest, GoesNoFurtherThanItsGoal) {
  const Target target = Target::Open("mutant:attn.cap_ignored", "").value();
  const auto sequence = verify::ParseCaseSequence(
                            "attention_forward hq=4 hkv=2 sq=32 skv=32 d=32 "
                            "cap=5 mask=causal seed=3")
                            .value();
  const auto extents = [](const std::vector<verify::Case>& of) {
    const auto& a = of[0].Get<verify::AttentionForwardCase>();
    return std::array{a.q_heads, a.q_len, a.kv_len, a.head_dim};
  };
  const ShrinkGoal goal = {[&](const std::vector<verify::Case>& of) {
                             int64_t size = 1;
                             for (const int64_t n : extents(of)) size *= n;
                             return size;
                           },
                           4096};
  const Outcome outcome = TryCase(sequence, target, 2);
  const Shrunk shrunk = Shrink(*verify::FindDomain("attention_forward").value(),
                               sequence, outcome, target, 60, &goal);
  EXPECT_LE(goal.size(shrunk.sequence), goal.most);
  EXPECT_GT(goal.size(shrunk.sequence), goal.most / 8);
  const auto left = extents(shrunk.sequence);
  for (size_t n = 1; n < left.size(); ++n) {
    EXPECT_GE(left[n], 4) << verify::MinimalLine(shrunk.sequence);
  }
}

TEST(ShrinkTest, StopsWhenTimeIsUp) {
  const Target target = Target::Open("mutant:attn.zeros", "").value();
  const auto sequence = verify::ParseCaseSequence(kLarge).value();
  const Outcome outcome = TryCase(sequence, target, 2);
  const Shrunk shrunk = Shrink(*verify::FindDomain("attention_forward").value(),
                               sequence, outcome, target, 0);
  EXPECT_FALSE(shrunk.finished);
  EXPECT_EQ(shrunk.tried, 0);
  EXPECT_EQ(shrunk.sequence, sequence);
}

}  // namespace
}  // namespace lockstep::fuzz
