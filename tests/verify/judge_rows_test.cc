// Rows of large cases that the reference does not compute.
#include "verify/judge/rows.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/verify/fake_candidate.h"
#include "tests/verify/judge_line.h"
#include "verify/judge/pictures/guilty_key.h"
#include "verify/ops/envelopes.h"
#include "verify/ops/pictures.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// Above 2^27 multiply-adds: the reference computes a sample.
constexpr const char* kLarge = "attention_forward sq=2112 skv=2112 d=16";
constexpr int64_t kRow = 333;

// Answers that were computed elsewhere, which is as fast as we are, with one
// element of a row changed.
class Elsewhere final : public Candidate {
 public:
  explicit Elsewhere(float change)
      : Candidate({.backend = "elsewhere", .repeatable = false}),
        change_(change) {}
  std::string Spec(const Variation&) const override { return "elsewhere"; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }
  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& out, Execution* execution) override {
    trial.kernels().RunOptimized({}, out, execution);
    execution->backend = "elsewhere";
    ElementOf(out, 0, kRow * 16 + 3) += change_;
    return {};
  }

 private:
  float change_;
};

CaseResult JudgeElsewhere(float change, const JudgeOptions& options) {
  Elsewhere candidate(change);
  return JudgeLine(kLarge, candidate, options);
}

const Finding* FindingOf(const CaseResult& result, Tier tier) {
  for (const Finding& finding : result.findings) {
    if (finding.tier == tier) return &finding;
  }
  return nullptr;
}

JudgeOptions Quick(const char* profile) {
  JudgeOptions options = With(profile);
  options.canaries = options.evidence = false;
  return options;
}

TEST(OtherRows, BitsAreTheOptimizedPaths) {
  const CaseResult right = JudgeElsewhere(0, Quick("exact-f32"));
  EXPECT_EQ(right.verdict, Verdict::kPass) << right.reason;
  EXPECT_EQ(right.rows_optimized, right.rows - right.rows_compared);
  EXPECT_GT(right.rows_optimized, 1000);
  EXPECT_EQ(UnheldRows(right), 0);
  const CaseResult wrong = JudgeElsewhere(0x1p-20f, Quick("exact-f32"));
  EXPECT_EQ(wrong.verdict, Verdict::kFail) << wrong.reason;
  const Finding* finding = FindingOf(wrong, Tier::kBits);
  ASSERT_NE(finding, nullptr);
  ASSERT_TRUE(finding->comparison.has_value());
  EXPECT_EQ(finding->comparison->Over(), 1);
  EXPECT_EQ(finding->comparison->first->index[2], kRow);
}

TEST(OtherRows, TheOptimizedPathIsNotHeldAgainstItself) {
  JudgeOptions options;
  options.invariance = options.canaries = options.evidence = false;
  const CaseResult result = JudgeSpec(kLarge, "builtin:optimized", options);
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
  EXPECT_EQ(result.rows_optimized, 0);
  EXPECT_EQ(UnheldRows(result), result.rows - result.rows_compared);
}

// The first witness vouches for most rows and asks the oracle for the others.
TEST(OtherRows, OfAProfileAreWitnessed) {
  const CaseResult right = JudgeElsewhere(0, Quick("cpu-f32"));
  EXPECT_EQ(right.verdict, Verdict::kPass) << right.reason;
  EXPECT_EQ(right.rows_witnessed + right.rows_oracle,
            right.rows - right.rows_compared);
  EXPECT_GT(right.rows_witnessed, 3 * right.rows_oracle);
  EXPECT_GE(right.rows_oracle, right.rows / 64);
  EXPECT_EQ(right.rows_ranged, 0);
  EXPECT_EQ(UnheldRows(right), 0);
  // Far inside of what no row can leave.
  const CaseResult wrong = JudgeElsewhere(0x1p-6f, Quick("cpu-f32"));
  EXPECT_EQ(wrong.verdict, Verdict::kFail) << wrong.reason;
  const Finding* finding = FindingOf(wrong, Tier::kEnvelope);
  ASSERT_NE(finding, nullptr);
  ASSERT_TRUE(finding->envelope.has_value());
  EXPECT_EQ(finding->envelope->outside, 1);
  EXPECT_EQ(finding->envelope->first->index[2], kRow);
}

JudgeOptions WithCauses() {
  JudgeOptions options;
  options.causes = true;
  options.explain_seconds = 0;  // known bugs have their own tests
  options.canaries = options.evidence = false;
  return options;
}

// Where a case is too large to replay bugs on, a key may still be named.
TEST(GuiltyKey, IsNamedOnALargeCase) {
  constexpr const char* kLong =
      "attention_forward sq=16 skv=4096 d=32 dv=64 mask=causal align=br";
  const struct {
    const char* bug;
    const char* says;
  } kKeys[] = {
      {"attn.drop_first_key", "key 0, which the row sees"},
      {"attn.double_edge_key", "key 64, which the row sees"},
      {"attn.leak_masked_key", "key 4095, which the row does not see"}};
  for (const auto& [bug, says] : kKeys) {
    const CaseResult result = JudgeSpec(
        kLong, std::string("mutant:") + bug + ",tile=64x64", WithCauses());
    ASSERT_EQ(result.causes.size(), 1u) << bug;
    const std::string text = ExplanationText(result.causes[0]);
    EXPECT_EQ(text.find(says), 0u) << text;
    EXPECT_NE(text.find("of the error of row b 0, h 0, i "), std::string::npos)
        << text;
    EXPECT_FALSE(result.no_cause.empty());
    EXPECT_EQ(result.picture, nullptr);
  }
}

// Where one key has most of a row's weight, whatever the others lose or gain
// moves the row along it: such a row blames no key, and one row alone does not.
TEST(GuiltyKey, IsNotNamedByWhatMovesEveryKey) {
  constexpr const char* kSharp =
      "attention_forward sq=16 skv=4096 d=32 dv=64 cap=30 scale=1 mask=causal "
      "align=br";
  for (const char* bug : {"attn.drop_first_key@256", "attn.drop_last_key@512",
                          "attn.exp_coarse@5"}) {
    JudgeOptions options = WithCauses();
    options.probes = false;
    const CaseResult result = JudgeSpec(
        kSharp, std::string("mutant:") + bug + ",tile=64x64", options);
    EXPECT_EQ(result.verdict, Verdict::kFail) << bug;
    EXPECT_TRUE(result.causes.empty()) << ExplanationText(result.causes[0]);
  }
}

// What a profile allows hides one key of so many on the case's own inputs. A
// probe that aims at a key shows it, where o is next to the key's values.
TEST(GuiltyKey, IsNamedFromAProbe) {
  for (const auto& [bug, says] :
       {std::pair{"attn.drop_last_key", "key 16379, which the row sees"},
        std::pair{"attn.leak_masked_key",
                  "key 16383, which the row does not see"}}) {
    JudgeOptions options = WithCauses();
    options.profile = LoadProfile("flash-bf16").value();
    const CaseResult result = JudgeSpec(
        "attention_forward hq=2 hkv=1 sq=8 skv=16384 d=16 dv=32 lane=bf16 "
        "cap=50 mask=causal align=br sinklogit=normal:1",
        std::string("mutant:") + bug + ",base=flash,tile=64x64", options);
    ASSERT_EQ(result.causes.size(), 1u) << bug << result.reason;
    const std::string text = ExplanationText(result.causes[0]);
    EXPECT_EQ(text.find(says), 0u) << text;
    EXPECT_FALSE(result.no_cause.empty());
  }
  // Where every weight is wrong no key is to blame, though rows whose scores
  // are this sharp move along one.
  JudgeOptions options = WithCauses();
  options.profile = LoadProfile("flash-bf16").value();
  const CaseResult other = JudgeSpec(
      "attention_forward hq=2 sq=8 skv=16384 d=16 dv=32 lane=bf16 cap=50",
      "mutant:attn.scale_twice,base=flash", options);
  EXPECT_EQ(other.verdict, Verdict::kFail) << other.reason;
  EXPECT_TRUE(other.causes.empty());
}

// The row is the values of key 7, as where a probe aims at it: from there the
// way to what was produced tells the key, though o itself leaves none.
TEST(GuiltyKey, IsToldWhereTheRowIsItsValues) {
  const auto call = ParseCase("attention_forward sq=1 skv=64 d=4 dv=16");
  ASSERT_TRUE(call.ok());
  const auto trial = TrialRowOf(call.value())->open(call.value(), {});
  ASSERT_TRUE(trial.ok());
  const KernelInputs inputs = trial.value()->Inputs();
  const auto* v = static_cast<const float*>(inputs.Find("v")->data);
  std::vector<double> truth(16), error(16);
  for (size_t c = 0; c < 16; ++c) {
    truth[c] = double{v[7 * 16 + c]};
    double others = 0;
    for (size_t j = 0; j < 64; ++j) {
      others += j == 7 ? 0 : double{v[j * 16 + c]} / 63;
    }
    error[c] = others - truth[c];
  }
  const KeyErrors keys =
      trial.value()->pictures().ErrorByKey(0, {}, error, truth);
  ASSERT_EQ(keys.share.size(), 64u);
  for (size_t j = 0; j < 64; ++j) {
    EXPECT_EQ(keys.share[j] > 0.99, j == 7) << j;
    EXPECT_EQ(keys.alone[j], j == 7) << j;
  }
}

TEST(GuiltyKey, NoneIsNamedForOtherErrorsOrByChance) {
  // Every weight is wrong.
  EXPECT_TRUE(JudgeSpec("attention_forward sq=16 skv=4096 d=32 dv=64",
                        "mutant:attn.scale_twice", WithCauses())
                  .causes.empty());
  // A key that stands out, and explains an eighth of it.
  EXPECT_TRUE(JudgeSpec("attention_forward sq=16 skv=4096 d=32 dv=256",
                        "mutant:attn.scale_twice", WithCauses())
                  .causes.empty());
  // One of 4096 values of six channels points the way, by chance.
  EXPECT_TRUE(JudgeSpec("attention_forward sq=16 skv=4096 d=32 dv=6 seed=1",
                        "mutant:attn.scale_twice", WithCauses())
                  .causes.empty());
  // Among 4096 values of two channels many point the same way.
  EXPECT_TRUE(JudgeSpec("attention_forward sq=16 skv=4096 d=32 dv=2",
                        "mutant:attn.drop_first_key", WithCauses())
                  .causes.empty());
}

// A row of `channels` numbers whose error is by `share` along key 7 of 64.
bool StandsOutBy(double share, int64_t channels, bool visible, bool heavy) {
  RowByKey row;
  row.keys = 64;
  row.alike = 1;
  row.best = {{.key = 7, .share = share, .visible = visible, .heavy = heavy}};
  OutputSpec output;
  output.shape = {1, 1, 1, channels};
  return StandsOut(row, output);
}

TEST(GuiltyKey, StandsOutByItsShareAndNotByChance) {
  EXPECT_TRUE(StandsOutBy(0.95, 16, true, false));
  EXPECT_TRUE(StandsOutBy(0.95, 16, false, true));
  // So much of its error is no key's.
  EXPECT_FALSE(StandsOutBy(0.85, 16, true, false));
  // Of 64 directions in three channels some lies as near by chance.
  EXPECT_FALSE(StandsOutBy(0.95, 3, true, false));
  // The row is next to this key's values by right.
  EXPECT_FALSE(StandsOutBy(0.95, 16, true, true));
}

// It takes up to five times what the case's tensors do, beside three copies.
TEST(OtherRows, AreNotWitnessedBeyondTheLimitOfMemory) {
  const int64_t own = EstimateBytes(ParseCase(kLarge).value());
  JudgeOptions options = Quick("cpu-f32");
  options.materialise.max_bytes = 8 * own;
  EXPECT_GT(JudgeElsewhere(0, options).rows_witnessed, 0);
  options.materialise.max_bytes = 8 * own - 1;
  const CaseResult result = JudgeElsewhere(0, options);
  EXPECT_EQ(result.rows_witnessed, 0);
  EXPECT_GT(result.rows_ranged, 0);
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
}

// It is our own kernel: for that it cannot speak.
TEST(OtherRows, TheWitnessIsNotHeldAgainstItself) {
  JudgeOptions options = Quick("cpu-f32");
  options.invariance = options.probes = false;
  const CaseResult result = JudgeSpec(kLarge, "builtin:optimized", options);
  EXPECT_EQ(result.rows_witnessed, 0);
  EXPECT_EQ(result.rows_oracle, 0);
  EXPECT_EQ(result.rows_ranged, result.rows - result.rows_compared);
}

// No row is a number beyond the largest value: all that can be said where there
// is no witness, as of a profile that is more exact.
TEST(OtherRows, OfAProfileStayInTheirRange) {
  JudgeOptions options = Quick("cpu-f32");
  options.profile->log_rel = 0;
  const CaseResult right = JudgeElsewhere(0, options);
  EXPECT_EQ(right.rows_ranged, right.rows - right.rows_compared);
  EXPECT_EQ(right.rows_witnessed, 0);
  EXPECT_EQ(right.rows_optimized, 0);
  for (const float change : {std::numeric_limits<float>::quiet_NaN(), 100.0f}) {
    const CaseResult wrong = JudgeElsewhere(change, options);
    EXPECT_EQ(wrong.verdict, Verdict::kFail) << change;
    const Finding* finding = FindingOf(wrong, Tier::kEnvelope);
    ASSERT_NE(finding, nullptr);
    EXPECT_NE(finding->message.find("beyond what a right row can be"),
              std::string::npos)
        << finding->message;
  }
}

// What correct kernels of any kind answer lies within.
TEST(OtherRows, RangesHoldCorrectKernels) {
  int64_t bounded = 0;
  for (const char* line :
       {"attention_forward hq=4 hkv=2 sq=20 skv=40 d=8 cap=30 mask=causal",
        "attention_forward sq=9 skv=300 d=64 fill=q.normal:8 lane=bf16",
        "attention_forward sq=7 skv=33 d=8 mask=causal align=-3 "
        "sinklogit=normal:1 valid_kv=20",
        "attention_forward sq=5 skv=50 d=8 fill=v.const:3 lane=bf16"}) {
    const Result<Case> c = ParseCase(line);
    ASSERT_TRUE(c.ok()) << c.message();
    const auto trial = TrialRowOf(c.value())->open(c.value(), {});
    ASSERT_TRUE(trial.ok()) << trial.message();
    const CaseRequest request = {.call = &c.value(), .line = line};
    for (const char* name :
         {"cpu", "cpu-split3", "flash", "splash", "mma", "exact"}) {
      const auto candidate = ParseCandidate(std::string("variant:") + name);
      ASSERT_TRUE(candidate.ok());
      const auto claims = candidate.value()->traits().claims;
      if (!claims || !trial.value()->envelopes().WhyUndeclared(*claims).empty())
        continue;
      const std::vector<ValueSet> ranges =
          trial.value()->envelopes().Ranges(*claims);
      if (ranges.empty()) continue;
      OutputSet outputs = std::move(trial.value()->Allocate(0).value());
      Execution execution;
      candidate.value()->Run(request, *trial.value(), {}, outputs, &execution);
      for (size_t t = 0; t < ranges.size(); ++t) {
        const OutputSpec& spec = trial.value()->outputs()[t];
        const LaneView view = outputs.tensors[t].const_view();
        for (int64_t at = 0; at < spec.lines() * spec.shape[3]; ++at) {
          const auto index =
              LineIndex(spec, at / spec.shape[3], at % spec.shape[3]);
          const double x = ElementValue(spec.lane, ElementBits(view, index));
          ASSERT_TRUE(ranges[t].Contains(x))
              << line << " " << name << " " << spec.name << " " << x;
          bounded += ranges[t].hi < 1e30 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(bounded, 1000);
}

}  // namespace
}  // namespace lockstep::verify
