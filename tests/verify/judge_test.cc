// The judge against candidates with planted defects, one per promise.
#include "verify/judge/judge.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <string>

#include "tests/verify/fake_candidate.h"
#include "tests/verify/judge_line.h"

namespace lockstep::verify {
namespace {

constexpr const char* kCase =
    "attention_forward hq=2 sq=5 skv=9 d=8 cap=30 mask=causal seed=3";

CaseResult JudgeDefect(const Defect& defect, JudgeOptions options = {}) {
  FakeCandidate candidate(defect);
  return JudgeLine(kCase, candidate, options);
}

const Check* FindCheck(const CaseResult& result, const std::string& name) {
  for (const Check& check : result.checks) {
    if (check.name == name) return &check;
  }
  return nullptr;
}

void ExpectFinding(const CaseResult& result, Verdict verdict, Tier tier,
                   const std::string& check) {
  EXPECT_EQ(result.verdict, verdict) << result.reason;
  bool found = false;
  for (const Finding& finding : result.findings) {
    found = found || (finding.tier == tier && finding.check == check);
  }
  EXPECT_TRUE(found) << TierName(tier) << " " << check << " not among "
                     << result.findings.size()
                     << " findings, first: " << result.reason;
}

RunOutcome Nothing(int64_t, const Variation&, const OutputSet&, Execution*) {
  return {};
}

TEST(Judge, TheReferenceItselfPasses) {
  const CaseResult result = JudgeDefect(Nothing);
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
  EXPECT_TRUE(result.findings.empty());
  for (const char* name :
       {"bits", "written", "repeat", "threads", "tiles", "targets", "alignment",
        "guard_zones", "inputs_unchanged"}) {
    const Check* check = FindCheck(result, name);
    ASSERT_NE(check, nullptr) << name;
    EXPECT_TRUE(check->passed) << name;
    EXPECT_GT(check->runs, 0) << name;
  }
  EXPECT_EQ(result.rows, 10);
  EXPECT_EQ(result.rows_compared, 10);
}

TEST(Judge, EachOutputIsCompared) {
  for (const size_t tensor : {size_t{0}, size_t{1}}) {
    for (const int64_t n : {int64_t{0}, int64_t{9}}) {
      const CaseResult result = JudgeDefect(
          [=](int64_t, const Variation&, const OutputSet& out, Execution*) {
            FlipBit(&ElementOf(out, tensor, n));
            return RunOutcome{};
          });
      ExpectFinding(result, Verdict::kFail, Tier::kBits,
                    tensor == 0 ? "o" : "lse");
      ASSERT_FALSE(result.comparisons.empty());
      EXPECT_EQ(result.comparisons[tensor].Over(), 1);
      EXPECT_EQ(result.comparisons[1 - tensor].Over(), 0);
    }
  }
}

TEST(Judge, NaNHolesFail) {
  const CaseResult result = JudgeDefect(
      [](int64_t, const Variation&, const OutputSet& out, Execution*) {
        ElementOf(out, 0, 79) = std::numeric_limits<float>::quiet_NaN();
        return RunOutcome{};
      });
  ExpectFinding(result, Verdict::kFail, Tier::kBits, "o");
  EXPECT_EQ(result.comparisons[0].count(PairClass::kNaNProduced), 1);
  EXPECT_NE(result.findings[0].message.find("[b=0 h=1 i=4 c=7]"),
            std::string::npos)
      << result.findings[0].message;
}

TEST(Judge, UnwrittenElementsFail) {
  const CaseResult result = JudgeDefect(
      [](int64_t run, const Variation&, const OutputSet& out, Execution*) {
        const uint32_t poison = run == 0 ? kFirstPoison.f32 : kSecondPoison.f32;
        ElementOf(out, 0, 17) = std::bit_cast<float>(poison);
        return RunOutcome{};
      });
  ExpectFinding(result, Verdict::kFail, Tier::kInvariance, "written");
  ExpectFinding(result, Verdict::kFail, Tier::kBits, "o");
  EXPECT_EQ(result.comparisons[0].unwritten, 1);
}

// A kernel that does nothing at all.
TEST(Judge, NothingWrittenFails) {
  FakeCandidate candidate(Nothing);
  candidate.skip_computing = true;
  const CaseResult result = JudgeLine(kCase, candidate);
  ExpectFinding(result, Verdict::kFail, Tier::kInvariance, "written");
  EXPECT_EQ(result.comparisons[0].unwritten, 80);
  EXPECT_EQ(result.comparisons[1].unwritten, 10);
}

TEST(Judge, OtherBitsWhenRunAgainFail) {
  const CaseResult result = JudgeDefect(
      [](int64_t run, const Variation&, const OutputSet& out, Execution*) {
        if (run == 1) FlipBit(&ElementOf(out, 1, 9));
        return RunOutcome{};
      });
  ExpectFinding(result, Verdict::kFail, Tier::kInvariance, "repeat");
}

TEST(Judge, BitsThatDependOnHowItRunsFail) {
  const auto judge = [](auto&& applies) {
    return JudgeDefect(
        [=](int64_t, const Variation& how, const OutputSet& out, Execution*) {
          if (applies(how)) FlipBit(&ElementOf(out, 0, 40));
          return RunOutcome{};
        });
  };
  ExpectFinding(judge([](const Variation& v) { return v.threads == 2; }),
                Verdict::kFail, Tier::kInvariance, "threads");
  ExpectFinding(judge([](const Variation& v) { return v.tile.has_value(); }),
                Verdict::kFail, Tier::kInvariance, "tiles");
  ExpectFinding(judge([](const Variation& v) { return v.target == "OTHER"; }),
                Verdict::kFail, Tier::kInvariance, "targets");
  const CaseResult shifted =
      judge([](const Variation& v) { return v.shift == 7; });
  ExpectFinding(shifted, Verdict::kFail, Tier::kInvariance, "alignment");
  EXPECT_NE(ReplayLine(shifted, shifted.findings[0]).find("shift=7"),
            std::string::npos);
}

TEST(Judge, WritingOutsideIsAnError) {
  for (const int64_t at : {int64_t{-1}, int64_t{80}}) {
    for (const int64_t when : {int64_t{0}, int64_t{1}, int64_t{3}}) {
      const CaseResult result = JudgeDefect(
          [=](int64_t run, const Variation&, const OutputSet& out, Execution*) {
            if (run == when) ElementOf(out, 0, at) = 1.0f;
            return RunOutcome{};
          });
      ExpectFinding(result, Verdict::kError, Tier::kCandidate, "guard_zones");
    }
  }
}

// Between the rows of a strided output.
TEST(Judge, WritingPaddingIsAnError) {
  FakeCandidate candidate(
      [](int64_t, const Variation&, const OutputSet& out, Execution*) {
        ElementOf(out, 0, 8) = 1.0f;  // rows are 8 of 11 elements
        return RunOutcome{};
      });
  const CaseResult result = JudgeLine(
      "attention_forward sq=3 skv=3 d=8 strides=o:33/33/11/1", candidate);
  ExpectFinding(result, Verdict::kError, Tier::kCandidate, "guard_zones");
}

TEST(Judge, AFailingCandidateIsAnError) {
  const CaseResult result =
      JudgeDefect([](int64_t, const Variation&, const OutputSet&, Execution*) {
        return RunOutcome{RunOutcome::State::kError, "boom", ""};
      });
  ExpectFinding(result, Verdict::kError, Tier::kCandidate, "run");
}

TEST(Judge, AnUnsupportedTargetIsSkipped) {
  const CaseResult result =
      JudgeDefect([](int64_t, const Variation&, const OutputSet&, Execution*) {
        return RunOutcome{RunOutcome::State::kUnsupported, "no such CPU", ""};
      });
  EXPECT_EQ(result.verdict, Verdict::kSkipped);
  EXPECT_EQ(result.skip, Skip::kUnsupported);
  EXPECT_EQ(result.reason, "no such CPU");
}

TEST(Judge, WrongShapesFail) {
  const CaseResult result =
      JudgeDefect([](int64_t, const Variation&, const OutputSet&, Execution*) {
        return RunOutcome{RunOutcome::State::kMismatch, "expected F32", "lse"};
      });
  ExpectFinding(result, Verdict::kFail, Tier::kBits, "lse");
}

TEST(Judge, WhatRanIsNotWhatWasAsked) {
  const Defect fallback = [](int64_t, const Variation&, const OutputSet&,
                             Execution* execution) {
    execution->backend = "reference";
    execution->fallback_reason = "this CPU supports no compiled SIMD target";
    return RunOutcome{};
  };
  const CaseResult recorded = JudgeDefect(fallback);
  EXPECT_EQ(recorded.verdict, Verdict::kPass);
  EXPECT_FALSE(recorded.executed_as_requested);
  JudgeOptions strict;
  strict.require_executed = true;
  const CaseResult required = JudgeDefect(fallback, strict);
  ExpectFinding(required, Verdict::kFail, Tier::kExecution,
                "executed_as_requested");
}

TEST(Judge, CasesThatProveNothingAreUntrusted) {
  for (const char* line :
       {"attention_forward sq=4 skv=4 d=8 align=-9 mask=causal",
        "attention_forward sq=4 skv=4 d=8 fill=const:0"}) {
    FakeCandidate candidate(Nothing);
    const CaseResult result = JudgeLine(line, candidate);
    ExpectFinding(result, Verdict::kUntrusted, Tier::kPower, "nulls");
    FakeCandidate again(Nothing);
    const CaseResult expected =
        JudgeLine(std::string(line) + " expect=vacuous", again);
    EXPECT_EQ(expected.verdict, Verdict::kPass) << expected.reason;
  }
}

TEST(Judge, FeaturesLeftOutAreRejected) {
  FakeCandidate candidate(Nothing);
  const CaseResult result = JudgeLine(
      "attention_forward hq=2 sq=20 skv=20 d=8 cap=2 mask=causal "
      "q_seg=runs:8,12 kv_seg=runs:8,12 sinklogit=const:1",
      candidate);
  EXPECT_EQ(result.verdict, Verdict::kPass);
  std::string rejected;
  for (const Power& null : result.power) {
    EXPECT_TRUE(null.rejected) << null.null;
    rejected += null.null + " ";
  }
  EXPECT_EQ(rejected,
            "zeros mean_of_v unmasked mask_off_by_one no_segments no_softcap "
            "no_sink ");
}

TEST(Judge, ExpectationsTurnTheVerdict) {
  const auto judge = [](const char* expect, bool wrong) {
    FakeCandidate candidate(
        [=](int64_t, const Variation&, const OutputSet& out, Execution*) {
          if (wrong) FlipBit(&ElementOf(out, 0, 3));
          return RunOutcome{};
        });
    return JudgeLine(std::string(kCase) + " expect=" + expect, candidate)
        .verdict;
  };
  EXPECT_EQ(judge("pass", false), Verdict::kPass);
  EXPECT_EQ(judge("pass", true), Verdict::kFail);
  EXPECT_EQ(judge("fail", true), Verdict::kPass);
  EXPECT_EQ(judge("fail", false), Verdict::kFail);
  EXPECT_EQ(judge("vacuous", false), Verdict::kFail);
  EXPECT_EQ(judge("vacuous", true), Verdict::kFail);
}

TEST(Judge, ProfilesCoverTheirLane) {
  JudgeOptions options;
  options.profile = LoadProfile("exact-bf16").value();
  EXPECT_EQ(JudgeDefect(Nothing, options).skip, Skip::kUndeclared);
  options.profile = LoadProfile("exact-f32").value();
  EXPECT_EQ(JudgeDefect(Nothing, options).verdict, Verdict::kPass);
}

// An answer is not run again: files.
TEST(Judge, OneRunIsEnoughForWhatCannotBeRepeated) {
  FakeCandidate candidate(Nothing);
  candidate.repeatable = false;
  EXPECT_EQ(JudgeLine(kCase, candidate).verdict, Verdict::kPass);
  EXPECT_EQ(candidate.runs, 1);
}

}  // namespace
}  // namespace lockstep::verify
