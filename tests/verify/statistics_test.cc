// The statistics of errors on trial: each threshold from both sides, planted
// biases that no bound can see, correct kernels, and what is not looked at.
#include "verify/judge/statistics/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/power/attention_forward_nulls.h"
#include "tests/verify/fake_candidate.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/statistics_lines.h"
#include "verify/judge/judge.h"

namespace lockstep::verify {
namespace {

constexpr auto kGain = static_cast<size_t>(ErrorDirection::kGain);

// Rows whose errors along the gain are +1 or -1 and sum to `sum`, and along the
// others to 0, in one head, of 16 channels whose squares are `square` in the
// mean.
ErrorSample Sample(int64_t rows, int64_t sum, double drift = 0,
                   double square = 0.5) {
  ErrorSample sample;
  sample.tensor = "o";
  sample.judged = rows;
  sample.columns = sample.column_tile = 16;
  for (int64_t r = 0; r < rows; ++r) {
    RowErrors row;
    row.row = row.draw = r;
    row.squares = {16 * square};
    row.along.fill(r % 2 == 0 ? 1 : -1);
    row.along[kGain] = r < (rows + sum) / 2 ? 1 : -1;
    row.drift[kGain] = drift;
    sample.rows.push_back(row);
  }
  return sample;
}

std::string Alarm(const StatisticsResult& result) {
  return result.alarms.empty() ? "" : result.alarms.front().name;
}

// Of 6 statistics of the whole, which share 5e-4, one may alarm where its
// probability is below 8.3e-5: from 4.491 on, by 2 exp(-x^2 / 2).
TEST(Statistics, ABiasAlarmsFromItsLimitOn) {
  EXPECT_EQ(Alarm(JudgeErrors(Sample(400, 90))), "gain");  // 4.5
  EXPECT_EQ(Alarm(JudgeErrors(Sample(400, -90))), "gain");
  EXPECT_EQ(Alarm(JudgeErrors(Sample(400, 88))), "");  // 4.4
  EXPECT_NEAR(LogBiasBound(4.491), std::log(5e-4 / 6), 1e-2);
}

// exp(-R/2 (a - 1 - ln a)) is 8.3e-5 at R = 100 and a = 1.745.
TEST(Statistics, ASizeAlarmsFromItsLimitOn) {
  EXPECT_EQ(Alarm(JudgeErrors(Sample(100, 0, 0, 1.76))), "rms");
  EXPECT_EQ(Alarm(JudgeErrors(Sample(100, 0, 0, 1.73))), "");
  EXPECT_EQ(LogSizeBound(0.9, 1000), 0);
}

// Copies are one draw: 400 rows that pull one way are nothing where they are
// copies of 20, and 20 times the same row has no weight of 20.
TEST(Statistics, CopiesAreCountedOnce) {
  ErrorSample copies = Sample(400, 400);
  for (RowErrors& row : copies.rows) row.draw = row.row % 20;
  EXPECT_NE(JudgeErrors(copies).why_not, "");
  for (RowErrors& row : copies.rows) row.draw = row.row % 40;
  EXPECT_EQ(JudgeErrors(copies).rows, 40);
  ASSERT_EQ(Alarm(JudgeErrors(copies)), "gain");
  EXPECT_NEAR(JudgeErrors(copies).alarms[0].value, std::sqrt(40), 1e-9);
  // Sizes, too: 400 rows of 1.4 alarm, 40 do not.
  EXPECT_EQ(Alarm(JudgeErrors(Sample(400, 0, 0, 1.4))), "rms");
  copies = Sample(400, 0, 0, 1.4);
  for (RowErrors& row : copies.rows) row.draw = row.row / 10;
  EXPECT_EQ(Alarm(JudgeErrors(copies)), "");
}

// What functions may err is no bias: all rows pull one way by 1, of which 0.9
// may be theirs; (1 - 0.9) 20 / (1 + 0.9) is nothing, (1 - 0.5) 20 / 1.5 is.
TEST(Statistics, DriftsAreTakenOff) {
  EXPECT_EQ(Alarm(JudgeErrors(Sample(400, 400, 0.9))), "");
  EXPECT_EQ(Alarm(JudgeErrors(Sample(400, 400, 0.5))), "gain");
  EXPECT_EQ(Alarm(JudgeErrors(Sample(400, 400, 1.1))), "");
}

TEST(Statistics, TooFewRowsAreNotLookedAt) {
  const StatisticsResult few = JudgeErrors(Sample(20, 20));
  EXPECT_NE(few.why_not, "");
  EXPECT_EQ(few.tests, 0);
  EXPECT_EQ(JudgeErrors(Sample(21, 21)).why_not, "");
  EXPECT_EQ(Alarm(JudgeErrors(Sample(21, 21))), "gain");
}

// Heads, columns and blocks share a quarter of the rate: one head of four,
// among 22 statistics that can alarm, from 4.92 on.
TEST(Statistics, OneHeadAlarmsAlone) {
  ErrorSample sample = Sample(400, 0);
  for (size_t r = 0; r < 400; ++r) {
    sample.rows[r].head = static_cast<int64_t>(r % 4);
    sample.rows[r].along.fill(r / 4 % 2 == 0 ? 1 : -1);
  }
  EXPECT_EQ(Alarm(JudgeErrors(sample)), "");
  // 74 of 100 rows of head 2 pull one way: 4.8; 76: 5.2.
  const auto bend = [&](int more) {
    ErrorSample bent = sample;
    for (size_t r = 0; r < 400; ++r) {
      const bool turned =
          r % 4 == 2 && r / 4 % 2 == 1 && static_cast<int>(r / 8) < more;
      if (turned) bent.rows[r].along[kGain] = 1;
    }
    return JudgeErrors(bent);
  };
  EXPECT_EQ(Alarm(bend(24)), "");
  ASSERT_EQ(Alarm(bend(26)), "gain");
  EXPECT_EQ(bend(26).alarms.front().where, "head 2");
}

// One key of 1000 that 100 rows see: a quarter of the rate for all of them,
// from 5.64 on.
TEST(Statistics, OneKeyAlarmsAlone) {
  ErrorSample sample = Sample(100, 0);
  sample.pools = {{"key", 0, {}}};
  for (int key = 0; key < 1000; ++key) {
    SignedSum sum;
    for (int r = 0; r < 100; ++r) sum.Add(r % 2 == 0 ? 1 : -1);
    sample.pools[0].places.push_back(sum);
  }
  EXPECT_EQ(Alarm(JudgeErrors(sample)), "");
  sample.pools[0].places[7].sum = 57;
  ASSERT_EQ(Alarm(JudgeErrors(sample)), "key");
  EXPECT_EQ(JudgeErrors(sample).alarms.front().where, "key 7");
  sample.pools[0].places[7].sum = 56;
  EXPECT_EQ(Alarm(JudgeErrors(sample)), "");
}

TEST(Statistics, ASecondDrawMustHaveTheSameSign) {
  const Statistic first = JudgeErrors(Sample(400, 120)).alarms.front();
  EXPECT_LT(LogBoundAgain(first, Sample(400, 100)), std::log(1e-3));
  EXPECT_EQ(LogBoundAgain(first, Sample(400, -100)), 0);
  EXPECT_GT(LogBoundAgain(first, Sample(400, 40)), std::log(1e-3));
  ErrorSample none = Sample(400, 100);
  none.why_not = "none";
  EXPECT_EQ(LogBoundAgain(first, none), 0);
}

TEST(Statistics, FindBiasesWithinTheEnvelope) {
  for (const char* bug : {"attn.p_truncated", "attn.out_truncated"}) {
    const CaseResult result =
        JudgeSpec(Weak(1024), std::string("mutant:") + bug + ",base=flash",
                  Quick("flash-bf16"));
    EXPECT_EQ(result.verdict, Verdict::kFail) << bug;
    EXPECT_EQ(Of(result, Tier::kEnvelope), nullptr) << bug;
    const Finding* found = Of(result, Tier::kStatistics);
    ASSERT_NE(found, nullptr) << bug;
    EXPECT_NE(found->message.find("gain -"), std::string::npos)
        << found->message;
    EXPECT_NE(found->message.find("again on a second draw"), std::string::npos);
  }
}

// A softcap that is missing where it hardly bites, and one of 50 for 50.5.
TEST(Statistics, FindAWrongCap) {
  std::string line = Weak(1024);
  line.replace(line.find(" q_seg"), line.find(" fill") - line.find(" q_seg"),
               "");
  const CaseResult missing = JudgeSpec(
      line, "mutant:attn.cap_ignored,base=flash", Quick("flash-bf16"));
  EXPECT_EQ(missing.verdict, Verdict::kFail) << missing.reason;
  ASSERT_NE(Of(missing, Tier::kStatistics), nullptr);
  EXPECT_NE(Of(missing, Tier::kStatistics)->message.find("cap +"),
            std::string::npos);
  // lse alone would prove it.
  JudgeOptions options = Quick("flash-bf16");
  options.profile->lse = LseLane::kNone;
  const CaseResult off = JudgeSpec(
      "attention_forward hq=4 sq=64 skv=256 d=64 lane=bf16 cap=50.5 "
      "fill=qk.normal:0.4+v.normal:1 seed=5",
      "mutant:attn.cap_integer,base=flash", options);
  EXPECT_EQ(off.verdict, Verdict::kFail) << off.reason;
  EXPECT_NE(Of(off, Tier::kStatistics), nullptr) << off.reason;
}

TEST(Statistics, NameADroppedKey) {
  JudgeOptions options = Quick("flash-bf16");
  options.profile->lse = LseLane::kNone;
  const CaseResult result = JudgeSpec(
      "attention_forward hq=4 sq=16 skv=2048 d=64 lane=bf16 seed=5 "
      "fill=qk.normal:0.5+v.normal:1",
      "mutant:attn.drop_last_key,base=flash", options);
  const Finding* found = Of(result, Tier::kStatistics);
  ASSERT_NE(found, nullptr) << result.reason;
  EXPECT_NE(found->message.find("most at key 2047 "), std::string::npos)
      << found->message;
}

TEST(Statistics, PassCorrectKernels) {
  for (const char* spec : {"variant:flash", "builtin:reference"}) {
    const CaseResult result = JudgeSpec(Weak(1024), spec, Quick("flash-bf16"));
    EXPECT_EQ(result.verdict, Verdict::kPass) << spec << result.reason;
    ASSERT_TRUE(result.statistics);
    EXPECT_EQ(result.statistics->why_not, "");
    EXPECT_EQ(result.statistics->rows, 128);
    EXPECT_GT(result.statistics->tests, 2000);
  }
}

// Scores at minus the cap have one weight, e^-2cap, whose rounding all of them
// share: along the softcap it is the same error in every row.
TEST(Statistics, ScoresAtMinusTheCapRoundAlike) {
  JudgeOptions options = Quick("flash-bf16");
  options.profile->l_from = LFrom::kRounded;
  const CaseResult right = JudgeSpec(
      "attention_forward sq=57 skv=124 b=2 hq=2 d=32 mask=causal align=br "
      "cap=2 fill=normal:4 sinklogit=normal:1 q_seg=ids:0*28,1*29 "
      "kv_seg=ids:0*62,1*62 lane=bf16 seed=1018868",
      "variant:flash-l-rounded", options);
  ASSERT_TRUE(right.statistics);
  EXPECT_EQ(right.statistics->why_not, "");
  EXPECT_TRUE(right.statistics->alarms.empty()) << right.reason;
}

// Scores at the cap have one weight, e^cap: without a maximum it is rounded, by
// the same factor in every row.
TEST(Statistics, SaturatedScoresRoundAlike) {
  const auto candidate = ParseCandidate("variant:flash-no-max");
  JudgeOptions options = Quick("flash-bf16");
  options.profile->max = {MaxPolicy::Kind::kNone, 0};
  const CaseResult right = JudgeLine(
      "attention_forward sq=57 skv=214 hq=3 hkv=1 d=32 mask=causal align=br "
      "cap=2 fill=normal:4 lane=bf16 seed=1006228",
      *candidate.value(), options);
  EXPECT_EQ(right.verdict, Verdict::kPass) << right.reason;
  ASSERT_TRUE(right.statistics);
  EXPECT_EQ(right.statistics->why_not, "");
}

// Every answer of the first two runs one unit nearer to zero; the third run,
// of other inputs, is right, or is not.
CaseResult Towards(int64_t wrong_runs, bool repeatable = true) {
  FakeCandidate candidate(
      [&](int64_t run, const Variation&, const OutputSet& outputs, Execution*) {
        if (run < wrong_runs) {
          const LaneTensor& o = outputs.tensors[0];
          const auto view = o.view.As<Bf16>();
          for (int64_t h = 0; h < view.shape[1]; ++h) {
            for (int64_t i = 0; i < view.shape[2]; ++i) {
              for (int64_t c = 0; c < view.shape[3]; ++c) {
                uint16_t& bits = view(0, h, i, c).bits;
                if (bits % 2 == 1) --bits;
              }
            }
          }
        }
        return RunOutcome{};
      });
  candidate.repeatable = repeatable;
  return JudgeLine("attention_forward hq=2 sq=40 skv=64 d=16 lane=bf16 seed=2",
                   candidate, Quick("flash-bf16"));
}

TEST(Statistics, OneDrawAloneIsNoProof) {
  const CaseResult once = Towards(2);
  EXPECT_EQ(once.verdict, Verdict::kSuspicious) << once.reason;
  ASSERT_NE(Of(once, Tier::kStatisticsOnce), nullptr);
  EXPECT_NE(Of(once, Tier::kStatisticsOnce)
                ->message.find("not so on a second draw (seed="),
            std::string::npos);
  EXPECT_EQ(Of(once, Tier::kStatisticsOnce)->message.find("(seed=2)"),
            std::string::npos);
  const CaseResult always = Towards(100);
  EXPECT_EQ(always.verdict, Verdict::kFail) << always.reason;
  const CaseResult files = Towards(100, false);
  EXPECT_EQ(files.verdict, Verdict::kSuspicious) << files.reason;
  ASSERT_NE(Of(files, Tier::kStatisticsOnce), nullptr);
  EXPECT_NE(
      Of(files, Tier::kStatisticsOnce)->message.find("cannot be answered"),
      std::string::npos);
  EXPECT_EQ(Towards(0).verdict, Verdict::kPass);
}

// What was not looked at says why, and is no check that passed.
TEST(Statistics, SayWhatTheyDoNotLookAt) {
  const auto why = [](const std::string& line, const char* profile,
                      const char* spec) {
    const CaseResult result = JudgeSpec(line, spec, Quick(profile));
    EXPECT_EQ(result.verdict, Verdict::kPass) << line << result.reason;
    for (const Check& check : result.checks) {
      EXPECT_NE(check.name, "statistics") << line;
    }
    return result.statistics ? result.statistics->why_not : "absent";
  };
  const std::string case_line =
      "attention_forward hq=2 sq=20 skv=40 d=8 lane=bf16";
  EXPECT_EQ(why(case_line, "exact-bf16", "builtin:reference"), "absent");
  EXPECT_EQ(why(case_line + " fill=int:-3,3", "flash-bf16", "variant:flash"),
            "inputs that are no random draw");
  EXPECT_EQ(why("attention_forward sq=20 skv=40 d=8 lane=bf16", "flash-bf16",
                "variant:flash"),
            "too few rows whose roundings are like chance");
  // Scores so equal that all weights round alike.
  EXPECT_EQ(why(case_line + " scale=0.001", "flash-bf16", "variant:flash"),
            "too few rows whose roundings are like chance");
}

TEST(Statistics, SeldomAlarmOnCorrectKernels) {
  NullOptions options;
  options.cases = 189;
  options.seed = 77;
  options.threads = 1;
  const NullResult right = RunNulls(options);
  EXPECT_GT(right.cases, 100);
  EXPECT_EQ(right.alarmed, 0) << NullText(right);
  EXPECT_TRUE(right.Passed());
  options.cases = 20;
  options.keys = 64;
  options.kernel = "attn.out_truncated,base=flash";
  const NullResult wrong = RunNulls(options);
  EXPECT_GT(wrong.alarmed, 10) << NullText(wrong);
  EXPECT_FALSE(wrong.Passed());
}

}  // namespace
}  // namespace lockstep::verify
