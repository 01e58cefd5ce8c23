// attention_merge before the judge: right kernels and wrong ones, envelopes,
// probes, laws, conventions.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "tests/verify/judge_claims.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "verify/allowed/attention_merge/envelope.h"
#include "verify/emulator/attention_merge/kernel.h"
#include "verify/ops/attention_merge/trial.h"
#include "verify/ops/laws.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

constexpr const char* kEverything =
    "attention_merge s=7 h=2 n=9 dv=10 empty=0.3 blank=0.2 lse=uniform:-20,20 "
    "base=2 fill=normal:3";

NumericProfile Merging(const std::string& more) {
  return ParseProfile("base = cpu-f32\nname = mine\n" + more, "test").value();
}

TEST(MergeJudge, EveryCorrectKernelPasses) {
  for (const MergeVariant& variant : MergeZoo()) {
    for (const char* lane : {"", " lane=bf16", " lane=bf16 out=f32"}) {
      const CaseResult result = JudgeSpec(std::string(kEverything) + lane,
                                          "variant:" + variant.name());
      EXPECT_EQ(result.verdict, Verdict::kPass)
          << variant.name() << lane << ": " << result.reason;
    }
  }
  EXPECT_GE(MergeZoo().size(), 16u);
}

// A probe brings parts that saw no key: their o holds no NaN for a kernel that
// may multiply it by 0.
TEST(MergeJudge, ProbesKeepToMaskedNanSafe) {
  const Case c =
      ParseCase("attention_merge s=3 dv=4 fill=normal:1+poison:masked").value();
  NumericProfile profile = Profile("cpu-f32");
  for (const MaskedNan safe :
       {MaskedNan::kYes, MaskedNan::kPadding, MaskedNan::kNo}) {
    profile.masked_nan_safe = safe;
    const auto probes = c.op->trial->probe_cases(c, profile);
    ASSERT_EQ(probes.size(), 3u);
    for (const Case& probe : probes) {
      EXPECT_EQ(MinimalLine(probe).find("poison") != std::string::npos,
                safe == MaskedNan::kYes);
    }
  }
}

// A kernel of exactly two parts is asked for others, and may refuse them.
TEST(MergeJudge, OtherNumbersOfPartsMayBeRefused) {
  const auto trial = Open("attention_merge s=2 n=3 dv=4");
  for (const std::string& name : trial->laws().LawNames()) {
    const Result<Law> law = trial->laws().MakeLaw(name, 1);
    ASSERT_TRUE(law.ok()) << law.message();
    const auto& asked = law->calls.front().trial->Inputs();
    const bool other = asked.Find("o_parts")->shape[0] != 2;
    EXPECT_EQ(law->may_be_refused, other) << name;
  }
}

TEST(MergeEnvelope, IsNarrow) {
  const auto trial = Open("attention_merge s=4 h=2 n=3 dv=6 lse=uniform:2,6");
  ExpectNarrow(*trial, "cpu-f32", 1e-4f);
}

// Bounds worked out by hand. One part: nothing but the division's rounding.
TEST(MergeEnvelope, OfOnePartIsARounding) {
  const auto trial = Open("attention_merge s=1 dv=1 fill=const:3 lse=const:7");
  const auto& data = dynamic_cast<const AttentionMergeTrial&>(*trial).data();
  const NumericProfile profile = Merging("division = divide");
  const MergedRowBounds row(profile, data.problem, data.inputs, 0, 0);
  const Bounds o = row.Output(0);
  EXPECT_EQ(o.truth, 3);
  EXPECT_GT(o.error, 0);
  EXPECT_LT(o.error, 3 * 8 * 0x1p-24);
  EXPECT_EQ(row.Lse().truth, 7);
  EXPECT_LT(row.Lse().error, 1e-5);
}

// Two equal parts of 1 and 5 have o = 3 and lse + ln 2.
TEST(MergeEnvelope, HoldsTheTruth) {
  const auto trial =
      Open("attention_merge s=2 dv=1 lse=const:-40 fill=const:5");
  const auto& data = dynamic_cast<const AttentionMergeTrial&>(*trial).data();
  *static_cast<float*>(data.o.view.data) = 1;
  const NumericProfile profile = Merging("");
  const MergedRowBounds row(profile, data.problem, data.inputs, 0, 0);
  EXPECT_NEAR(row.Output(0).truth, 3, 1e-12);
  EXPECT_NEAR(row.Lse().truth, -40 + 0.6931471805599453, 1e-12);
}

// What an lse of 1000 costs: exp(lse - merged lse) is off by its rounding.
TEST(MergeEnvelope, OfTheMergedLseGrowsWithIt) {
  const auto trial =
      Open("attention_merge s=2 dv=1 lse=const:1000 fill=const:1");
  const auto& data = dynamic_cast<const AttentionMergeTrial&>(*trial).data();
  const NumericProfile first = Merging("max = two_pass");
  const NumericProfile merged =
      Merging("normalise = before\nmax = two_pass\nsplits = 1");
  const auto error = [&](const NumericProfile& profile) {
    return MergedRowBounds(profile, data.problem, data.inputs, 0, 0)
        .Output(0)
        .error;
  };
  EXPECT_LT(error(first), 1e-6);
  EXPECT_GT(error(merged), 1000 * 0x1p-24);
  EXPECT_LT(error(merged), 1e-3);
}

// Weights that are subnormal have few bits, and fewer in a narrow type.
TEST(MergeEnvelope, HoldsSubnormalWeights) {
  for (const char* letters : {"0,-145 base=2", "0,-97", "0,-93", "90,-1"}) {
    for (const char* kernel : {"merge-coarse", "merge-weights-bf16",
                               "merge-pairs-bf16", "merge-flush"}) {
      const CaseResult result =
          JudgeSpec(std::string("attention_merge s=2 h=2 n=4 dv=16 "
                                "fill=int:-3,3 letters=") +
                        letters,
                    std::string("variant:") + kernel);
      EXPECT_NE(result.verdict, Verdict::kFail)
          << kernel << " " << letters << result.reason;
    }
  }
}

// o - w (o - o_b) rounds as the larger o: a profile of weights has no room.
TEST(MergeEnvelope, OfDifferencesHoldsTheLargerPart) {
  const auto trial =
      Open("attention_merge s=2 dv=1 letters=0,-20 fill=const:1");
  const auto& data = dynamic_cast<const AttentionMergeTrial&>(*trial).data();
  static_cast<float*>(data.o.view.data)[1] = 1e6f;
  const auto error = [&](const char* more) {
    const NumericProfile profile =
        Merging(std::string("normalise = eager\n") + more);
    return MergedRowBounds(profile, data.problem, data.inputs, 0, 0)
        .Output(0)
        .error;
  };
  EXPECT_LT(error(""), 1e-4);
  EXPECT_GT(error("merge.update = difference"), 1e6 * 0x1p-24);
}

// Another base of the kernel's exp is declared, not forgiven.
TEST(MergeEnvelope, KnowsTheBaseOfTheCase) {
  for (const char* base : {"e", "2"}) {
    const std::string line =
        std::string("attention_merge s=3 n=4 dv=4 base=") + base;
    EXPECT_EQ(JudgeSpec(line, "variant:merge").verdict, Verdict::kPass);
    EXPECT_EQ(JudgeSpec(line, "variant:merge-binary").verdict, Verdict::kPass);
    EXPECT_EQ(JudgeSpec(line, "mutant:merge.base_in").verdict, Verdict::kFail);
    EXPECT_EQ(JudgeSpec(line, "mutant:merge.base_out").verdict, Verdict::kFail);
  }
  // To a kernel that knows base 2 alone the case is put in it.
  EXPECT_EQ(
      JudgeSpec("attention_merge s=3 dv=4", "variant:merge-base-2").verdict,
      Verdict::kPass);
}

// Its inputs, and the truth that its answer is held against, are then in base
// 2.
TEST(MergeEnvelope, PutsTheCaseInTheKernelsBase) {
  const Case c = ParseCase("attention_merge s=3 n=4 dv=4 base=e").value();
  MaterialiseOptions options;
  options.binary_lse = true;
  const auto in_two = TrialRowOf(c).value().open(c, options);
  EXPECT_EQ(in_two.value()->facts().Facts().back().value, "2");
  EXPECT_EQ(Open(c)->facts().Facts().back().value, "e");
}

// One part has nothing that a merge could get wrong.
TEST(MergeJudge, HasCanariesOfSeveralParts) {
  EXPECT_TRUE(Open("attention_merge s=1 dv=2")->kernels().Canaries().empty());
  EXPECT_FALSE(Open("attention_merge s=2 dv=2")->kernels().Canaries().empty());
}

// What a row without a part that saw a key holds is a convention.
TEST(MergeConventions, OfEmptyRows) {
  const std::string line = "attention_merge s=2 n=3 dv=2 blank=0.5 seed=2";
  EXPECT_EQ(JudgeSpec(line, "variant:merge-posinf").verdict, Verdict::kPass);
  EXPECT_EQ(JudgeSpec(line, "variant:merge-zero").verdict, Verdict::kPass);
  EXPECT_EQ(JudgeSpec(line, "mutant:merge.empty_zero_lse").verdict,
            Verdict::kFail);
}

// +inf makes the row NaN, unless the profile says that it marks an empty part.
TEST(MergeConventions, OfPlusInfinity) {
  const std::string line = "attention_merge s=2 dv=2 letters=0,inf";
  EXPECT_EQ(JudgeSpec(line, "variant:merge").verdict, Verdict::kPass);
  EXPECT_EQ(JudgeSpec(line, "variant:merge-posinf").verdict, Verdict::kPass);
  EXPECT_EQ(JudgeSpec(line, "mutant:merge.posinf_dropped").verdict,
            Verdict::kFail);
}

// A kernel that multiplies an o that it must not read by 0 says so.
TEST(MergeConventions, OfUnreadParts) {
  const std::string line =
      "attention_merge s=2 dv=2 letters=0,-inf fill=normal:1+poison:masked";
  EXPECT_EQ(JudgeSpec(line, "variant:merge").verdict, Verdict::kPass);
  EXPECT_EQ(JudgeSpec(line, "variant:merge-reads-empty").verdict,
            Verdict::kSkipped);
  EXPECT_EQ(JudgeSpec(line, "mutant:merge.empty_read").verdict, Verdict::kFail);
}

TEST(MergeProbes, ShowEveryKindOfFault) {
  std::map<std::string, bool> shown;
  const NumericProfile profile = Profile("cpu-f32");
  for (const char* probe : {"select", "count", "shift"}) {
    const auto trial =
        Open("attention_merge s=16 h=3 n=8 dv=8 fill=probe:merge-" +
             std::string(probe));
    for (const PlantedFault& fault : trial->faults().PlantFaults(3)) {
      shown[fault.kind] |= Shows(*trial, profile, fault);
    }
  }
  EXPECT_EQ(shown.size(), 6u);
  for (const auto& [kind, seen] : shown) EXPECT_TRUE(seen) << kind;
}

// 64 parts: each is told from the others where their lse are equal.
TEST(MergeProbes, TellOnePartOfSixtyFour) {
  for (const char* bug : {"merge.last_part_dropped", "merge.part_twice",
                          "merge.first_part_dropped", "merge.part_limit"}) {
    const CaseResult result = JudgeSpec(
        "attention_merge s=64 n=4 dv=8 lane=bf16 "
        "fill=probe:merge-count",
        std::string("mutant:") + bug);
    EXPECT_EQ(result.verdict, Verdict::kFail) << bug;
  }
}

TEST(MergeLaws, HoldForOursAndAreNotEmpty) {
  const auto trial = Open("attention_merge s=3 h=2 n=5 dv=4 empty=0.4 seed=1");
  std::map<std::string, size_t> kept;
  for (const std::string& name : trial->laws().LawNames()) {
    for (uint64_t salt = 0; salt < 6; ++salt) {
      const Result<Law> law = trial->laws().MakeLaw(name, salt);
      ASSERT_TRUE(law.ok()) << law.message();
      for (const LawCall& call : law->calls) {
        kept[name] += call.kept[0].size() + call.kept[1].size();
      }
    }
  }
  EXPECT_EQ(kept.size(), 5u);
  for (const auto& [name, lines] : kept) EXPECT_GT(lines, 0u) << name;
}

}  // namespace
}  // namespace lockstep::verify
