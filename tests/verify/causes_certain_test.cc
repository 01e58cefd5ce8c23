// What is stated as certain is what independent rows show.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/verify/answers.h"
#include "tests/verify/trials.h"
#include "verify/base/elements.h"
#include "verify/causes/explain.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {
namespace {

constexpr const char* kWindowed =
    "attention_forward hq=4 hkv=2 sq=40 skv=40 d=8 mask=causal&window:9,0 "
    "seed=5";

using Change = std::function<void(const Trial&, const OutputSet&)>;

// `value` in all of o, or in one row of it.
Change Everywhere(float value) {
  return [value](const Trial&, const OutputSet& answer) {
    const auto o = answer.tensors[0].view.As<float>();
    for (int64_t h = 0; h < o.shape[1]; ++h) {
      for (int64_t i = 0; i < o.shape[2]; ++i) {
        for (int64_t c = 0; c < o.shape[3]; ++c) o(0, h, i, c) = value;
      }
    }
  };
}
Change OneRow(const std::string& kernel) {
  return [kernel](const Trial& trial, const OutputSet& answer) {
    Mix(AnswerOf(kernel, trial), answer,
        [](int64_t h, int64_t i) { return h == 0 && i == 7; });
  };
}

// What may be named first for an answer that is wrong, and how surely: a cause
// that is stated as certain and is another one is worse than none.
TEST(Causes, CertainIsWhatIndependentRowsShow) {
  const Change none = [](const Trial&, const OutputSet&) {};
  const std::string small =
      "attention_forward sq=12 skv=12 d=8 mask=causal&window:5,0";
  const std::string sinks = "attention_forward hq=2 sq=9 skv=16 d=8 ";
  const struct {
    std::string line, kernel;
    Change change;
    std::vector<std::string> allowed;  // empty: none
    bool proved;
  } kRows[] = {
      {small,
       "mutant:attn.causal_strict,base=cpu",
       none,
       {"attn.causal_strict"},
       true},
      {sinks + "sinklogit=normal:1",
       "mutant:attn.sink_dropped,base=cpu",
       none,
       {"attn.sink_dropped"},
       true},
      // An lse of infinity says that something overflowed, not what.
      {sinks + "sinklogit=const:200",
       "mutant:attn.max_init_zero,base=cpu",
       none,
       {"attn.max_init_zero", "attn.fixed_max", "attn.sink_not_in_max"},
       false},
      {small, "mutant:attn.zeros", none, {}, false},
      {small, "variant:exact", Everywhere(std::nanf("")), {}, false},
      {small, "variant:exact", Everywhere(HUGE_VALF), {}, false},
      {small,
       "variant:exact",
       OneRow("mutant:attn.causal_strict"),
       {"attn.causal_strict"},
       false},
      // A bug and something else is not that bug alone.
      {small,
       "mutant:attn.causal_strict,base=cpu",
       OneRow("mutant:attn.zeros"),
       {},
       false},
  };
  for (const auto& row : kRows) {
    const auto trial = Open(row.line);
    const OutputSet answer = AnswerOf(row.kernel, *trial);
    row.change(*trial, answer);
    Explainer explainer("attention_forward", nullptr);
    explainer.AddWrong(*trial, answer);
    const std::vector<Explanation> causes = explainer.Causes();
    for (const Explanation& cause : causes) {
      const std::string text = ExplanationText(cause);
      const bool allowed =
          std::count(row.allowed.begin(), row.allowed.end(), cause.bug) > 0;
      EXPECT_TRUE(allowed || !cause.Proved()) << row.line << " " << text;
      EXPECT_EQ(text.starts_with("perhaps "), !cause.Proved()) << text;
    }
    if (row.allowed.empty()) continue;
    ASSERT_FALSE(causes.empty()) << row.line;
    EXPECT_EQ(std::count(row.allowed.begin(), row.allowed.end(), causes[0].bug),
              1)
        << ExplanationText(causes[0]);
    EXPECT_EQ(causes[0].Proved(), row.proved) << ExplanationText(causes[0]);
  }
}

// Many bugs leave zeros, everywhere or in some rows.
TEST(Causes, ZerosProveNothing) {
  for (const char* line :
       {"attention_forward hq=2 sq=20 skv=20 d=8 mask=causal",
        "attention_backward hq=2 sq=20 skv=20 d=8 mask=causal",
        "mamba3_scan t=20 h=2 n=8 p=4", "ssd_scan t=20 h=2 n=8 p=4"}) {
    const auto trial = Open(line);
    for (const int64_t end : {int64_t{8}, int64_t{1000}}) {
      const OutputSet answer = Reference(*trial);
      for (size_t t = 0; t < answer.tensors.size(); ++t) {
        const OutputSpec& spec = trial->outputs()[t];
        ForElements(spec.shape, [&](const At& at) {
          const int64_t row = at[spec.down];
          if (row >= 4 && row < end) SetElement(answer.tensors[t].view, at, 0);
        });
      }
      Explainer explainer(OpName(ParseCase(line, Ops()).value()), nullptr);
      explainer.AddWrong(*trial, answer);
      for (const Explanation& cause : explainer.Causes()) {
        EXPECT_FALSE(cause.Proved() || cause.same_bits)
            << line << ": " << ExplanationText(cause);
      }
    }
  }
}

// On one tile two bugs are one but for roundings: the one with the same bits
// comes first.
TEST(Causes, TheSameBitsAreNearerThanTheSameNumbers) {
  const NumericProfile claims = LoadProfile("cpu-f32").value();
  const auto trial = Open("attention_forward sq=4 skv=4 d=24");
  Explainer explainer("attention_forward", &claims);
  explainer.AddWrong(
      *trial, AnswerOf("mutant:attn.scale_twice_last_tile,base=cpu", *trial));
  ASSERT_FALSE(explainer.Causes().empty());
  EXPECT_EQ(explainer.Causes()[0].bug, "attn.scale_twice_last_tile");
  EXPECT_TRUE(explainer.Causes()[0].same_bits);
}

// An output that the profile excludes is no evidence, whatever it holds.
TEST(Causes, WhatTheKernelDoesNotHaveIsNotLookedAt) {
  NumericProfile claims = LoadProfile("cpu-f32").value();
  claims.lse = LseLane::kNone;
  const auto trial = Open(kWindowed);
  const OutputSet answer =
      AnswerOf("mutant:attn.window_left_plus_one,base=cpu", *trial);
  const auto lse = answer.tensors[1].view.As<float>();
  for (int64_t h = 0; h < lse.shape[1]; ++h) {
    for (int64_t i = 0; i < lse.shape[2]; ++i) {
      lse(0, h, i, 0) = std::nanf("");
    }
  }
  Explainer explainer("attention_forward", &claims);
  explainer.AddWrong(*trial, answer);
  ASSERT_FALSE(explainer.Causes().empty());
  EXPECT_EQ(explainer.Causes()[0].bug, "attn.window_left_plus_one");
  EXPECT_GT(explainer.Causes()[0].explained, 0.999);
  EXPECT_TRUE(explainer.Causes()[0].Proved());
}

}  // namespace
}  // namespace lockstep::verify
