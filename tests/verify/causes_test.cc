// Known bugs are named by what they do: in other arithmetic and other tiles
// than they are replayed in, in some heads or rows only; and what is no known
// bug is not named.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/verify/answers.h"
#include "tests/verify/trials.h"
#include "verify/candidate/candidate.h"
#include "verify/causes/block_plan.h"
#include "verify/causes/explain.h"
#include "verify/causes/hypotheses.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"
#include "verify/tables/mutants.h"
#include "verify/tables/planner.h"

namespace lockstep::verify {
namespace {

constexpr const char* kCausal =
    "attention_forward hq=4 hkv=2 sq=40 skv=40 d=8 mask=causal&window:9,0 "
    "seed=5";

Explanation First(const std::string& line, const std::string& kernel,
                  const char* profile = nullptr) {
  const auto trial = Open(line);
  std::optional<NumericProfile> claims;
  if (profile != nullptr) claims = LoadProfile(profile).value();
  const Case c = ParseCase(line, Ops()).value();
  Explainer explainer(OpName(c), claims ? &*claims : nullptr, nullptr,
                      std::numeric_limits<double>::infinity(), c.shard);
  explainer.AddWrong(*trial, AnswerOf(kernel, *trial));
  const std::vector<Explanation> causes = explainer.Causes();
  return causes.empty() ? Explanation{} : causes[0];
}

TEST(Causes, ABugIsNamedByItsBits) {
  const Explanation cause = First(kCausal, "mutant:attn.window_left_plus_one");
  EXPECT_EQ(cause.bug, "attn.window_left_plus_one");
  EXPECT_TRUE(cause.same_bits);
  EXPECT_EQ(cause.explained, 1);
  EXPECT_EQ(cause.where, "");
  EXPECT_EQ(ExplanationText(cause),
            "each query sees one key too many to the left: behaves like "
            "attn.window_left_plus_one, the same bits");
}

// Of a kernel whose shards are right, and which puts their answers together
// wrongly: in as many shards as its row of the catalogue has not, where the
// case says how many.
TEST(Causes, WrongGlueOfShardsIsNamed) {
  const struct {
    const char* line;
    const char* bug;
    const char* shard;
  } kernels[] = {
      {"attention_forward hq=2 sq=20 skv=40 d=8 mask=causal align=br",
       "shard.unnormalised", "kv:2"},
      {"attention_forward hq=2 sq=20 skv=40 d=8 mask=causal align=br",
       "shard.mean_of_shards", "kv:8"},
      {"attention_forward hq=2 sq=40 skv=40 d=8 mask=causal",
       "shard.offset_of_whole", "ring:2"},
      {"attention_forward hq=2 sq=40 skv=40 d=8 q_seg=runs:18,22 "
       "kv_seg=runs:18,22",
       "shard.last_step_dropped", "ring:3"}};
  for (const auto& [line, bug, shard] : kernels) {
    const std::string kernel = std::string("mutant:") + bug + ",shard=" + shard;
    const Explanation cause =
        First(std::string(line) + " shard=" + shard, kernel, "cpu-f32");
    EXPECT_EQ(cause.bug, bug);
    EXPECT_TRUE(cause.same_bits) << bug;
    EXPECT_EQ(cause.candidate, kernel + ",base=cpu");
  }
  const Explanation elsewhere =
      First(kernels[0].line, "mutant:shard.unnormalised,shard=kv:2", "cpu-f32");
  EXPECT_FALSE(elsewhere.bug.starts_with("shard.")) << elsewhere.bug;
}

// Eight shards of three key heads, which no line may ask for, were replayed,
// and the judge wrote beyond its tensors.
TEST(Causes, CutsThatDoNotFitAreNotReplayed) {
  const Explanation cause =
      First("attention_forward hq=6 hkv=3 sq=20 skv=24 d=4 shard=kv:8",
            "mutant:attn.rescale_stale", "cpu-f32");
  EXPECT_NE(cause.bug, "shard.other_key_head");
}

// An lse where there should be minus infinity, rounded in other tiles.
TEST(Causes, NumbersInPlaceOfInfinities) {
  const Explanation cause = First(
      "attention_forward hq=2 sq=128 skv=20 d=64 mask=window:inf,30 align=br",
      "mutant:attn.window_right_to_unlimited,base=cpu,tile=32x32", "cpu-f32");
  EXPECT_EQ(std::count(cause.alike.begin(), cause.alike.end(),
                       "attn.window_right_to_unlimited"),
            1)
      << cause.bug;
}

// The rows end in one vector, and in one tile.
TEST(Causes, TilesThatLookLikeVectors) {
  const Explanation cause =
      First("attention_forward hq=2 sq=8 skv=64 d=8 mask=causal align=br",
            "mutant:attn.tiles_unmasked,base=cpu,tile=32x32", "cpu-f32");
  EXPECT_EQ(cause.bug, "attn.tiles_unmasked");
}

// Every lse is off by a ten-thousandth.
TEST(Causes, LittleIsEnough) {
  const Explanation cause = First(
      "attention_forward sq=2 skv=4096 d=8 cap=5 mask=causal align=br "
      "fill=probe:holes",
      "mutant:attn.tanh_coarse,base=cpu,tile=32x32", "cpu-f32");
  EXPECT_EQ(cause.bug, "attn.tanh_coarse");
}

TEST(Causes, OtherArithmeticIsTheSameBug) {
  const Explanation cause =
      First(kCausal, "mutant:attn.window_left_plus_one,base=cpu");
  EXPECT_EQ(cause.bug, "attn.window_left_plus_one");
  EXPECT_FALSE(cause.same_bits);
  EXPECT_GT(cause.explained, 0.999);
  EXPECT_LT(cause.explained, 1);
}

// The catalogue of mamba3_scan knows most bugs of ssd_scan, too.
TEST(Causes, ABugOfTwoCataloguesIsSaidOnce) {
  for (const char* arithmetic : {"", ",chunk=16"}) {
    const auto trial = Open("ssd_scan t=20 h=2 n=8 p=4 carry=yes seed=3");
    Explainer explainer("ssd_scan", nullptr);
    const std::string kernel =
        std::string("mutant:ssd.skip_missing") + arithmetic;
    explainer.AddWrong(*trial, AnswerOf(kernel, *trial));
    const std::vector<Explanation> causes = explainer.Causes();
    ASSERT_EQ(causes.size(), 1u);
    EXPECT_EQ(causes[0].bug, "ssd.skip_missing");
  }
}

TEST(Causes, EdgesLieWhereTheKernelHasThem) {
  const Explanation cause =
      First("attention_forward hq=2 sq=80 skv=80 d=8 mask=causal",
            "mutant:attn.double_edge_key,base=cpu,tile=32x32", "cpu-f32");
  EXPECT_EQ(cause.bug, "attn.double_edge_key");
  EXPECT_NE(cause.candidate.find(",tile=32x32"), std::string::npos)
      << cause.candidate;
}

TEST(Causes, DialsAreTurned) {
  const Explanation cause =
      First("attention_forward hq=2 sq=24 skv=24 d=8 cap=3 mask=causal",
            "mutant:attn.cap_wrong_value@5");
  EXPECT_EQ(cause.bug, "attn.cap_wrong_value");
  EXPECT_EQ(cause.candidate, "mutant:attn.cap_wrong_value@5");
  EXPECT_TRUE(cause.same_bits);
}

TEST(Causes, SomeHeadsAlone) {
  const auto trial = Open(kCausal);
  const OutputSet answer = AnswerOf("variant:exact", *trial);
  Mix(AnswerOf("mutant:attn.causal_strict", *trial), answer,
      [](int64_t h, int64_t) { return h >= 2; });
  Explainer explainer("attention_forward", nullptr);
  explainer.AddWrong(*trial, answer);
  const Explanation cause = explainer.Causes().at(0);
  EXPECT_EQ(cause.bug, "attn.causal_strict");
  EXPECT_EQ(cause.where, "h 2, 3 of 4");
  EXPECT_EQ(cause.explained, 1);
  // An answer that is right does not speak against a bug of some heads.
  const auto other = Open("attention_forward sq=12 skv=12 d=8 mask=causal");
  explainer.AddRight(*other);
  EXPECT_EQ(explainer.Causes().at(0).where, "h 2, 3 of 4");
  EXPECT_EQ(explainer.Causes().at(0).explained, 1);
}

TEST(Causes, SomeRowsAlone) {
  const auto trial = Open(kCausal);
  const OutputSet answer = AnswerOf("variant:exact", *trial);
  Mix(AnswerOf("mutant:attn.causal_strict", *trial), answer,
      [](int64_t, int64_t i) { return i >= 10 && i < 20; });
  Explainer explainer("attention_forward", nullptr);
  explainer.AddWrong(*trial, answer);
  EXPECT_EQ(explainer.Causes().at(0).where, "i 10 to 19 of 40");
}

// An output without heads is not forgotten where a bug acts in some heads: it
// is wrong here, and the bug leaves it right.
TEST(Causes, NoOutputIsLeftOutOfAScope) {
  const std::vector<Explanation> causes = [] {
    const auto trial = Open("mamba3_scan t=33 h=2 n=8 p=4");
    Explainer explainer("mamba3_scan", nullptr);
    explainer.AddWrong(
        *trial, AnswerOf("mutant:scan.conjugate+scan.skip_missing", *trial));
    return explainer.Causes();
  }();
  EXPECT_TRUE(causes.empty() || !causes[0].Reproduced()) << causes[0].where;
}

// An answer that no bug gives: signs of every second channel turned.
TEST(Causes, WhatIsNoKnownBugIsNotNamed) {
  const auto trial = Open(kCausal);
  const OutputSet answer = AnswerOf("variant:exact", *trial);
  const auto view = answer.tensors[0].view;
  for (int64_t h = 0; h < 4; ++h) {
    for (int64_t i = 0; i < 40; ++i) {
      for (int64_t c = 0; c < 8; c += 2) {
        view.As<float>()(0, h, i, c) *= -1.0f;
      }
    }
  }
  Explainer explainer("attention_forward", nullptr);
  explainer.AddWrong(*trial, answer);
  EXPECT_TRUE(explainer.Causes().empty());
  ASSERT_TRUE(explainer.Nearest().has_value());
  EXPECT_LT(explainer.Nearest()->explained, kCauseStated);
}

// Any bug that makes a row NaN gives this answer.
TEST(Causes, NaNAloneIsNoProof) {
  const Explanation cause =
      First("attention_forward hq=2 sq=24 skv=24 d=8 valid_q=17 seed=5",
            "mutant:attn.empty_row_nan");
  EXPECT_EQ(cause.bug, "attn.empty_row_nan");
  EXPECT_EQ(cause.doubt, "only NaN, infinity, zeros or noise agree");
}

TEST(Causes, OneKeyIsSaidInTheSingular) {
  const std::string line = "attention_forward sq=12 skv=20 d=8";
  EXPECT_EQ(First(line, "mutant:attn.drop_last_key").what,
            "the last visible key is left out");
  EXPECT_EQ(First(line, "mutant:attn.drop_last_key@3").what,
            "the last 3 visible keys are left out");
}

// Dropping the last key and a strict mask are one where every row ends on the
// diagonal, and two where none does.
TEST(Causes, AlikeBugsAreSaidToBeAndToldApart) {
  const auto narrow = Open("attention_forward sq=12 skv=12 d=8 mask=causal");
  const auto wide = Open("attention_forward sq=12 skv=12 d=8 mask=full");
  Explainer explainer("attention_forward", nullptr);
  explainer.AddWrong(*narrow, AnswerOf("mutant:attn.causal_strict", *narrow));
  const Explanation torn = explainer.Causes().at(0);
  EXPECT_EQ(torn.bug, "attn.causal_strict");
  EXPECT_EQ(torn.alike, std::vector<std::string>{"attn.drop_last_key"});
  EXPECT_NE(ExplanationText(torn).find(
                "indistinguishable here from attn.drop_last_key"),
            std::string::npos);
  explainer.AddRight(*wide);
  const Explanation sure = explainer.Causes().at(0);
  EXPECT_EQ(sure.bug, "attn.causal_strict");
  EXPECT_TRUE(sure.alike.empty());
  EXPECT_EQ(explainer.Causes().size(), 1u);
  EXPECT_TRUE(sure.Reproduced());
}

TEST(Causes, OfScans) {
  const Explanation cause =
      First("mamba3_scan t=33 h=2 n=8 p=4", "mutant:scan.ahead_cut_at_chunk");
  EXPECT_EQ(cause.bug, "scan.ahead_cut_at_chunk");
  const Explanation ssd =
      First("ssd_scan t=33 h=2 n=8 p=4", "mutant:ssd.dt_at_chunk,chunk=16");
  EXPECT_EQ(ssd.bug, "ssd.dt_at_chunk");
  EXPECT_NE(ssd.candidate.find("chunk=16"), std::string::npos);
  // Both ops have this bug: the name is the one of the case's op.
  EXPECT_EQ(First("ssd_scan t=40 h=2 n=16 p=8",
                  "mutant:scan.exp2_of_natural,chunk=16")
                .bug,
            "ssd.exp2_of_natural");
}

TEST(Causes, OfTables) {
  for (const PlanMutantInfo& bug : PlanMutants()) {
    const auto trial = Open(std::string("block_plan ") + bug.pattern);
    PlanTrace trace;
    ASSERT_EQ(PlanWith(bug.bug, *trial->scene(), &trace).state,
              RunOutcome::State::kRan);
    const auto causes = CausesOfTables(*trial->scene(), trace);
    if (causes.empty()) {
      ADD_FAILURE() << bug.name << " is not named";
      continue;
    }
    std::vector<std::string> names = causes[0].alike;
    names.push_back(causes[0].bug);
    EXPECT_EQ(std::count(names.begin(), names.end(), bug.name), 1) << bug.name;
    EXPECT_TRUE(causes[0].same_bits) << bug.name;
  }
}

std::vector<Explanation> PairsOf(const std::string& line,
                                 const std::string& kernel) {
  const auto trial = Open(line);
  Explainer explainer(OpName(ParseCase(line, Ops()).value()), nullptr);
  explainer.AddWrong(*trial, AnswerOf(kernel, *trial));
  EXPECT_TRUE(explainer.Causes().empty() ||
              !explainer.Causes()[0].Reproduced());
  explainer.TryPairs();
  return explainer.Causes();
}

TEST(Causes, TwoBugsAtOnce) {
  const std::string line =
      "attention_forward hq=2 hkv=1 sq=20 skv=20 d=8 cap=3 mask=causal "
      "sinklogit=normal:1";
  const std::vector<Explanation> causes =
      PairsOf(line, "mutant:attn.causal_strict+attn.sink_dropped,base=cpu");
  ASSERT_FALSE(causes.empty());
  EXPECT_TRUE(causes[0].bug == "attn.causal_strict+attn.sink_dropped" ||
              causes[0].bug == "attn.sink_dropped+attn.causal_strict")
      << causes[0].bug;
  EXPECT_TRUE(causes[0].Reproduced());
  EXPECT_NE(causes[0].what.find("; "), std::string::npos);
}

TEST(Causes, TwoBugsOfScans) {
  const std::vector<Explanation> causes =
      PairsOf("mamba3_scan t=33 h=2 n=8 p=4",
              "mutant:scan.conjugate+scan.skip_missing");
  ASSERT_FALSE(causes.empty());
  EXPECT_NE(causes[0].bug.find("scan.conjugate"), std::string::npos);
  EXPECT_NE(causes[0].bug.find("scan.skip_missing"), std::string::npos);
}

// What no pair gives is not given a pair that is merely near.
TEST(Causes, PairsDoNotExplainAnything) {
  const auto trial = Open("attention_forward hq=2 sq=12 skv=12 d=8");
  const OutputSet answer = AnswerOf("variant:exact", *trial);
  const auto view = answer.tensors[0].view;
  for (int64_t i = 0; i < 12; ++i) {
    for (int64_t c = 0; c < 8; c += 2) {
      view.As<float>()(0, i % 2, i, c) *= -1.0f;
    }
  }
  Explainer explainer("attention_forward", nullptr);
  explainer.AddWrong(*trial, answer);
  explainer.TryPairs();
  EXPECT_TRUE(explainer.Causes().empty());
}

TEST(Causes, AdditionsToTheCatalogue) {
  EXPECT_EQ(First("attention_forward hq=2 sq=24 skv=24 d=8 mask=random:0.4",
                  "mutant:attn.mask_of_previous_row,base=cpu")
                .bug,
            "attn.mask_of_previous_row");
  for (const char* bug : {"scan.skip_missing", "scan.init_ignored",
                          "scan.angle_not_halved", "scan.key_wrong_pairing"}) {
    EXPECT_EQ(First("mamba3_scan t=33 h=2 n=8 p=4 carry=yes",
                    std::string("mutant:") + bug + ",chunk=16")
                  .bug,
              bug);
  }
}

TEST(Causes, AShareIsRoundedDown) {
  Explanation cause;
  cause.bug = "attn.x";
  cause.what = "y";
  cause.explained = 0.99999;
  cause.alike = {"a", "b", "c", "d", "e", "f"};
  EXPECT_EQ(ExplanationText(cause),
            "y: behaves like attn.x, 99.9 % of the error; indistinguishable "
            "here from a, b, c, d and 2 more");
}

TEST(Fit, APlaceCountsOneAtMost) {
  const auto trial = Open("attention_forward sq=2 skv=2 d=4");
  const Numbers right = {{1, 1, 1, 1, 1, 1, 1, 1}, {1, 1}};
  Numbers produced = right;
  produced[0][0] = 1e30f;
  produced[0][5] = std::nanf("");
  Numbers bug = right;
  bug[0][0] = -1e30f;
  bug[0][5] = std::nanf("");
  const Fit fit = FitOf(*trial, right, produced, bug);
  EXPECT_EQ(fit.all.wrong, 2);
  EXPECT_EQ(fit.all.left, 1);
  EXPECT_EQ(fit.all.moved, 2);
  EXPECT_FALSE(fit.same_bits);
  EXPECT_NEAR(Left(fit.all), std::sqrt(0.5), 1e-12);
  EXPECT_EQ(Left({}), 1);
}

}  // namespace
}  // namespace lockstep::verify
