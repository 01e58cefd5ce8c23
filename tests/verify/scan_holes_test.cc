// Wrong scans that passed, and right ones that failed.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "verify/allowed/counts.h"
#include "verify/allowed/mamba3_scan/probes.h"
#include "verify/base/elements.h"
#include "verify/ops/mamba3_scan/trial.h"
#include "verify/oracle/mamba3_scan/truth.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// Four fifths of a normed y were NaN, and passed as unbounded.
TEST(ScanNorm, NanIsOutsideWhereNothingCanOverflow) {
  const auto trial = Open(
      "mamba3_scan t=160 h=2 n=64 p=16 lane=bf16 gate=yes norm=1e-5 "
      "regime=long");
  const auto allowed =
      trial->envelopes().Envelope(Profile("siso-bf16-a32"), AllRows(*trial), 1);
  OutputSet outputs = Reference(*trial);
  EXPECT_EQ(allowed->Judge(outputs)[0].outside, 0);
  const OutputSpec& y = trial->outputs()[0];
  int64_t written = 0;
  for (int64_t t = 100; t < 160; ++t) {
    for (int64_t c = 0; c < 16; ++c, ++written) {
      SetElement(outputs.tensors[0].view, {0, t, 0, c},
                 BitsOf(y.lane, std::numeric_limits<double>::quiet_NaN()));
    }
  }
  EXPECT_EQ(allowed->Judge(outputs)[0].outside, written);
}

// A bound of a normed channel is never wider than what any data could give,
// and says when it is hardly narrower.
TEST(ScanNorm, WideBoundsAreFiniteAndCountAsUnbounded) {
  const auto trial =
      Open("mamba3_scan t=300 n=64 p=16 lane=bf16 norm=1e-5 regime=long");
  const auto allowed =
      trial->envelopes().Envelope(Profile("siso-bf16-a32"), AllRows(*trial), 1);
  OutputSet outputs = Reference(*trial);
  const EnvelopeResult judged = allowed->Judge(outputs)[0];
  EXPECT_EQ(judged.outside, 0);
  EXPECT_GT(judged.Open(), judged.expected / 4);
  // |w| < 1.75, sqrt(16) = 4, once for the truth and once for the rest.
  SetElement(outputs.tensors[0].view, {0, 299, 0, 0}, BitsOf(Lane::kBf16, 16));
  EXPECT_EQ(allowed->Judge(outputs)[0].outside, 1);
}

TEST(ScanNorm, VacuousElementsAreNoEvidence) {
  EnvelopeJudge judge("y", 2, Lane::kF32);
  Bounds wide;
  wide.allowed = wide.likely = {-4, 4, false};
  wide.error = 4;
  wide.vacuous = true;
  judge.Add({0, 0, 0, 0}, 1, wide);
  judge.Add({0, 0, 0, 1}, std::numeric_limits<double>::quiet_NaN(), wide);
  const EnvelopeResult result = judge.Finish({});
  EXPECT_EQ(result.Open(), 1);
  EXPECT_EQ(result.outside, 1);
  EXPECT_EQ(result.inside, 0);
}

// The kinds of faults that the case and its probes can have, and whether one of
// them shows each. `line` without a lane.
std::map<std::string, int> Shown(const std::string& line, const char* profile) {
  const NumericProfile numeric = Profile(profile);
  Case c = ParseCase(line).value();
  std::map<std::string, int> shown;
  std::vector<Case> cases = Mamba3ScanTrial::ProbeCases(c, numeric);
  for (const Case& probe : cases) {
    const auto trial = Open(probe);
    const auto allowed = trial->envelopes().Probe(numeric, AllRows(*trial));
    if (allowed == nullptr) continue;
    for (const PlantedFault& fault : trial->faults().PlantFaults(7)) {
      RowBits bits;
      fault.row(fault.rows[0], &bits);
      const auto row = static_cast<size_t>(fault.rows[0]);
      shown[fault.kind] += allowed->Allows(row, bits) ? 0 : 1;
    }
  }
  return shown;
}

TEST(ScanFaults, ProbesShowEveryKind) {
  const std::string shape = " t=512 h=4 g=2 n=16 p=4 gate=yes carry=yes";
  const auto siso =
      Shown("mamba3_scan b=2 lane=bf16 seg=runs:200,312 regime=long" + shape,
            "siso-bf16-a16");
  EXPECT_EQ(siso.size(), 17u);
  for (const auto& [kind, count] : siso) EXPECT_GT(count, 0) << kind;
  const auto mimo =
      Shown("mamba3_scan b=2 lane=bf16 variant=mimo r=2 reduce=yes" + shape,
            "mimo-bf16");
  EXPECT_EQ(mimo.size(), 20u);
  for (const auto& [kind, count] : mimo) EXPECT_GT(count, 0) << kind;
  const auto normed =
      Shown("mamba3_scan b=2 lane=bf16 norm=1e-5" + shape, "siso-bf16-a32");
  EXPECT_EQ(normed.size(), 17u);
  for (const auto& [kind, count] : normed) EXPECT_GT(count, 0) << kind;
}

// The right answer is no fault: every set holds it.
TEST(ScanFaults, TheRightAnswerIsAllowed) {
  const Case c = ParseCase(
                     "mamba3_scan t=100 h=2 n=16 p=4 norm=1e-5 lane=bf16 "
                     "gate=yes cu=0,30,30,100 carry=yes")
                     .value();
  for (const char* name : {"siso-bf16-a32", "siso-bf16-a16", "mimo-bf16"}) {
    const NumericProfile numeric = Profile(name);
    for (const Case& probe : Mamba3ScanTrial::ProbeCases(c, numeric)) {
      const auto trial = Open(probe);
      const auto allowed = trial->envelopes().Probe(numeric, AllRows(*trial));
      ASSERT_NE(allowed, nullptr);
      for (int64_t row = 0; row < trial->rows(); ++row) {
        RowBits bits;
        trial->ReferenceRow(row, &bits);
        EXPECT_TRUE(allowed->Allows(static_cast<size_t>(row), bits))
            << name << " " << MinimalLine(probe);
      }
    }
  }
}

// What heads hold alike cannot show that one took another's.
TEST(ScanProbes, NeighbouringHeadsHoldDifferentSkips) {
  const auto trial = Open("mamba3_scan t=4 h=8 n=8 p=2 fill=probe:integrate");
  const auto* scan = dynamic_cast<const Mamba3ScanTrial*>(trial.get());
  ASSERT_NE(scan, nullptr);
  const auto& d = scan->data().inputs.d;
  for (int64_t h = 1; h < 8; ++h) EXPECT_NE(d(h), d(h - 1)) << h;
}

// Where lambda is the same at every token, the tau of another token is not
// seen.
TEST(ScanProbes, TokensAndHeadsHoldDifferentMixes) {
  for (const char* kind : {"integrate", "forget", "triples", "halves"}) {
    const auto trial =
        Open(std::string("mamba3_scan t=64 h=4 n=8 p=2 fill=probe:") + kind);
    const auto* scan = dynamic_cast<const Mamba3ScanTrial*>(trial.get());
    ASSERT_NE(scan, nullptr);
    const auto tau = scan->data().inputs.tau.As<float>();
    int64_t by_token = 0, by_head = 0;
    for (int64_t h = 1; h < 4; ++h) {
      for (int64_t t = 2; t < 64; ++t) {
        by_token += tau(0, h, t) != tau(0, h, t - 1) ? 1 : 0;
        by_head += tau(0, h, t) != tau(0, h - 1, t) ? 1 : 0;
      }
    }
    EXPECT_GT(by_token, 20) << kind;
    EXPECT_GT(by_head, 20) << kind;
  }
}

// The angles of halves are 0, and 0 is exact in every type that stores it: a
// profile of coarse angles claims no more there than one of fine ones. A sum of
// roundings about 2^-8 of the numbers would hide a lost impulse beside others.
TEST(ScanProbes, HalvesKeepNoErrorOfAngles) {
  const auto trial = Open(
      "mamba3_scan t=20 n=8 p=3 seg=runs:7,13 carry=yes fill=probe:halves");
  const auto* scan = dynamic_cast<const Mamba3ScanTrial*>(trial.get());
  ASSERT_NE(scan, nullptr);
  const Mamba3ScanData& data = scan->data();
  const auto errors = [&](const NumericProfile& profile) {
    const auto truth = oracle::ComputeScan(
        data.problem, data.inputs, {0, 0, 7, 0, 0},
        ScanProbeErrors(ProbeKind::kHalves, profile, data.problem));
    double sum = 0, size = 0;
    for (const double error : truth.y_error) sum += error;
    for (const double y : truth.y) size += std::fabs(y);
    return sum / size;
  };
  const NumericProfile fine = Profile("scan-f32");
  NumericProfile coarse = fine;
  coarse.scan->angle = NumberType::kBf16;
  EXPECT_EQ(errors(coarse), errors(fine));
  EXPECT_LT(errors(fine), 0x1p-14);
}

// Sines good to eight bits, where the profile claims 2^-20.
TEST(ScanMutants, CoarseSinesLeaveTheProbes) {
  const CaseResult result =
      JudgeSpec("mamba3_scan t=512 h=4 n=16 p=4 lane=bf16 seed=1",
                "mutant:scan.trig_coarse,base=siso-a32-chunk64");
  EXPECT_EQ(result.verdict, Verdict::kFail) << result.reason;
}

// Mamba-2: lambda is 1 everywhere, there is no look-ahead. Such cases were
// skipped under every profile but the exact ones.
TEST(ScanConventions, Mamba2IsJudged) {
  for (const auto& [spec, lane] :
       {std::pair{"variant:ssd", "f32"}, std::pair{"variant:ssd-bf16", "bf16"},
        std::pair{"variant:siso-a32-chunk64", "bf16"}}) {
    const std::string line =
        std::string(
            "mamba3_scan t=70 h=2 n=16 p=8 s=0 bias=no gate=yes "
            "seg=runs:30,40 tau=const:inf lane=") +
        lane;
    const CaseResult result = JudgeSpec(line, spec);
    EXPECT_EQ(result.verdict, Verdict::kPass) << spec << result.reason;
    EXPECT_GT(result.judged[0].result.inside, 0);
  }
  EXPECT_EQ(JudgeSpec("mamba3_scan t=9 n=8 p=2", "variant:ssd").verdict,
            Verdict::kSkipped);
  EXPECT_EQ(JudgeSpec("mamba3_scan t=70 n=8 p=2 tau=const:inf",
                      "mutant:scan.diag_missing,base=ssd")
                .verdict,
            Verdict::kFail);
}

// A chunk's queries read the state that it began with before it has decayed:
// that may overflow where the truth has forgotten nearly all of it.
TEST(ScanConventions, AnOverflowBeforeTheDecayIsNoProof) {
  const CaseResult result = JudgeSpec(
      "mamba3_scan b=2 t=8 h=2 g=2 n=4 p=1 s=0 seg=runs:3,5 carry=yes "
      "regime=strong fill=huge:0.1 seed=732245",
      "variant:scan", With("scan-f32"));
  EXPECT_NE(result.verdict, Verdict::kFail) << result.reason;
  // Numbers of an ordinary size stay bounded.
  EXPECT_EQ(JudgeSpec("mamba3_scan t=8 n=4 p=2 carry=yes regime=strong",
                      "variant:scan", With("scan-f32"))
                .verdict,
            Verdict::kPass);
}

// Pairs of coordinates apart from the variant.
TEST(ScanConventions, PairingIsDeclared) {
  const std::string siso = "mamba3_scan t=40 n=8 p=3 carry=yes";
  const std::string mimo = siso + " variant=mimo r=2";
  EXPECT_EQ(JudgeSpec(siso, "variant:scan-halves").verdict, Verdict::kPass);
  EXPECT_EQ(JudgeSpec(mimo, "variant:scan-halves").verdict, Verdict::kPass);
  EXPECT_EQ(JudgeSpec(mimo, "variant:scan-neighbours").verdict, Verdict::kPass);
  EXPECT_EQ(JudgeSpec(siso, "variant:scan-halves", With("scan-f32")).verdict,
            Verdict::kFail);
  EXPECT_EQ(
      JudgeSpec(mimo, "variant:scan-neighbours", With("scan-f32")).verdict,
      Verdict::kFail);
}

TEST(ScanConventions, WhatAnEmptyRunExportsMayBeLeftOpen) {
  const std::string line = "mamba3_scan t=40 n=8 p=3 cu=0,9,9,40 carry=yes";
  EXPECT_EQ(
      JudgeSpec(line, "variant:scan-empty-runs", With("scan-f32")).verdict,
      Verdict::kFail);
  const CaseResult own = JudgeSpec(line, "variant:scan-empty-runs");
  for (const Finding& finding : own.findings) {
    EXPECT_EQ(finding.tier, Tier::kPower) << finding.message;
  }
}

// Sines good to 8 bits where 20 are declared.
TEST(ScanProbes, TurnsShowCoarseSines) {
  const std::string line = "mamba3_scan t=64 h=2 n=16 p=4 lane=bf16";
  EXPECT_EQ(
      JudgeSpec(line, "mutant:scan.trig_coarse,base=siso-a32-chunk16").verdict,
      Verdict::kFail);
}

// States live long and are forgotten at drawn tokens.
TEST(ScanFill, ResetsAreRareAndStrong) {
  const auto c = ParseCase("mamba3_scan t=4096 n=2 p=1 h=2 regime=resets");
  const auto made = MaterialiseMamba3Scan(c.value(), {});
  ASSERT_TRUE(made.ok()) << made.message();
  const Mamba3ScanData& data = made.value();
  int resets = 0;
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t t = 0; t < 4096; ++t) {
      const float a = data.inputs.a(0, h, t);
      EXPECT_TRUE((a > -0.0101f && a <= 0) || (a >= -32 && a <= -16)) << a;
      resets += a < -1 ? 1 : 0;
    }
  }
  EXPECT_NEAR(resets, 2 * 4096 / 96, 40);
}

}  // namespace
}  // namespace lockstep::verify
