// The scan's judge: two witnesses that agree, bounds that hold and bite, probes
// that every legal kernel passes and broken ones do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/verify/trials.h"
#include "verify/allowed/mamba3_scan/envelope.h"
#include "verify/base/compare.h"
#include "verify/candidate/candidate.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/inputs/mamba3_scan.h"
#include "verify/judge/judge.h"
#include "verify/ops/mamba3_scan/trial.h"
#include "verify/ops/op.h"
#include "verify/oracle/mamba3_scan/functions.h"
#include "verify/oracle/mamba3_scan/truth.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"
#include "verify/selftest/mamba3_scan.h"

namespace lockstep::verify {
namespace {

std::unique_ptr<Mamba3ScanTrial> OpenScan(const Case& c) {
  auto data = MaterialiseMamba3Scan(c, {});
  EXPECT_TRUE(data.ok()) << data.message();
  return std::make_unique<Mamba3ScanTrial>(c, std::move(data.value()));
}
std::unique_ptr<Mamba3ScanTrial> OpenScan(const std::string& line) {
  const auto c = ParseCase(line);
  EXPECT_TRUE(c.ok()) << line << ": " << c.message();
  return OpenScan(c.value());
}

// Elements outside, by output.
std::vector<int64_t> Outside(const Trial& trial, const AllowedResults& allowed,
                             const OutputSet& outputs) {
  std::vector<int64_t> outside;
  for (const EnvelopeResult& result : allowed.Judge(outputs)) {
    EXPECT_EQ(result.expected, result.inside + result.outside + result.Open());
    outside.push_back(result.outside);
  }
  EXPECT_EQ(outside.size(), trial.outputs().size());
  return outside;
}

TEST(ScanFunctions, AreThoseOfTheLibraryUpToTheirError) {
  for (double x = -700; x < 700; x += 0.37) {
    EXPECT_NEAR(oracle::ScanExp(x) / std::exp(x), 1, 0x1p-49) << x;
  }
  for (double x = -30; x < 30; x += 0.0137) {
    EXPECT_NEAR(oracle::ScanTanh(x), std::tanh(x), 0x1p-50) << x;
    const double sigmoid = 1 / (1 + std::exp(-x));
    EXPECT_NEAR(oracle::ScanSigmoid(x) / sigmoid, 1, 0x1p-49) << x;
    const auto turn = oracle::SinCosOfTurns(x);
    const double reduced = (x - std::floor(x)) * 2 * M_PI;
    EXPECT_NEAR(turn.sin, std::sin(reduced), 0x1p-45) << x;
    EXPECT_NEAR(turn.cos, std::cos(reduced), 0x1p-45) << x;
  }
  EXPECT_EQ(oracle::ScanExp(0), 1);
  EXPECT_EQ(oracle::ScanSigmoid(0), 0.5);
  EXPECT_EQ(oracle::SinCosOfTurns(0.25).sin, 1);
  EXPECT_EQ(oracle::SinCosOfTurns(-0.25).sin, -1);
  EXPECT_EQ(oracle::ScanTanh(1e-20), 1e-20);
}

// Two derivations of one recurrence, compared in units of the companion: the
// same sum with all terms of one sign.
void ExpectWitnessesAgree(const Case& c, double* worst, int64_t* elements) {
  const auto trial = OpenScan(c);
  const Mamba3ScanData& data = trial->data();
  const int64_t heads = data.problem.heads;
  for (int64_t row = 0; row < trial->rows(); ++row) {
    const auto& run = trial->runs()[static_cast<size_t>(row / heads)];
    const oracle::ScanPlace place = {run.row, run.first, run.end, row / heads,
                                     row % heads};
    const auto one = oracle::ComputeScan(data.problem, data.inputs, place, {});
    const auto two =
        oracle::ComputeScanCorotating(data.problem, data.inputs, place);
    ASSERT_EQ(one.y.size(), two.y.size());
    for (size_t i = 0; i < one.y.size(); ++i) {
      if (!std::isfinite(one.y_error[i])) continue;
      const double apart = std::fabs(one.y[i] - two.y[i]);
      EXPECT_LE(apart, 1e-13 * one.y_companion[i] + 1e-300)
          << MinimalLine(c) << " y " << i;
      *worst = std::max(*worst, apart / (one.y_companion[i] + 1e-300));
      ++*elements;
    }
    for (size_t i = 0; i < one.h.size(); ++i) {
      if (!std::isfinite(one.h_error[i])) continue;
      EXPECT_LE(std::fabs(one.h[i] - two.h[i]),
                1e-12 * one.h_companion[i] + 1e-300)
          << MinimalLine(c) << " h " << i;
    }
    for (size_t i = 0; i < one.theta.size(); ++i) {
      if (!std::isfinite(one.theta_error[i])) continue;
      const double turns = two.theta[i] - one.theta[i];
      EXPECT_NEAR(turns, std::nearbyint(turns), 1e-12);
    }
  }
}

TEST(ScanWitness, TheTwoAgreeOnRandomCases) {
  double worst = 0;
  int64_t elements = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const auto c = ParseCase(SmallScanLine(seed, std::nullopt));
    ASSERT_TRUE(c.ok()) << c.message();
    // The norm divides by what may be small: its companion says nothing.
    if (c->Get<Mamba3ScanCase>().norm ||
        c->Get<Mamba3ScanCase>().fill[0].kind != FillKind::kNormal)
      continue;
    ExpectWitnessesAgree(c.value(), &worst, &elements);
  }
  EXPECT_GT(elements, 20000);
  RecordProperty("worst", std::to_string(worst));
  EXPECT_LT(worst, 1e-13);
}

TEST(ScanEnvelope, HoldsTheReferenceOnEveryCaseOfTheFile) {
  const auto file = ReadCaseFile("data/cases/mamba3_scan.cases", Ops());
  ASSERT_TRUE(file.ok()) << file.message();
  int64_t judged = 0;
  for (const CaseFileEntry& entry : file->entries) {
    const Case& c = entry.sequence[0];
    if (c.expect == Expect::kRefuse) continue;
    const auto trial = OpenScan(c);
    const bool f32 = trial->data().problem.lane == Lane::kF32;
    OutputSet outputs = Reference(*trial);
    const auto allowed = trial->envelopes().Envelope(
        Profile(f32 ? "scan-f32" : "siso-bf16-a32"), AllRows(*trial), 1);
    for (const int64_t outside : Outside(*trial, *allowed, outputs)) {
      EXPECT_EQ(outside, 0) << MinimalLine(c);
    }
    ++judged;
  }
  EXPECT_GE(judged, 180);
}

// A bound that allows everything would hold, too: one part in 10^4 of the
// largest y is outside, in f32, of every output that is computed.
TEST(ScanEnvelope, SmallErrorsAreOutside) {
  const auto trial =
      OpenScan("mamba3_scan t=9 h=2 n=8 p=5 gate=yes carry=yes seg=runs:4,5");
  const auto allowed =
      trial->envelopes().Envelope(Profile("scan-f32"), AllRows(*trial), 1);
  for (size_t t = 0; t < trial->outputs().size(); ++t) {
    OutputSet outputs = Reference(*trial);
    const OutputSpec& spec = trial->outputs()[t];
    auto* data = static_cast<float*>(outputs.tensors[t].view.data);
    const int64_t count = spec.lines() * spec.shape[3];
    float largest = 0;
    for (int64_t i = 0; i < count; ++i) {
      largest = std::max(largest, std::fabs(data[i]));
    }
    for (int64_t i = 0; i < count; ++i) data[i] += largest * 1e-4f;
    const auto outside = Outside(*trial, *allowed, outputs);
    EXPECT_EQ(outside[t], count) << spec.name;
    for (size_t other = 0; other < outside.size(); ++other) {
      if (other == t) continue;
      EXPECT_EQ(outside[other], 0) << spec.name;
    }
  }
}

TEST(ScanEnvelope, AnglesAreComparedCircularly) {
  const auto trial = OpenScan("mamba3_scan t=3 n=8 p=2");
  const auto allowed =
      trial->envelopes().Envelope(Profile("scan-f32"), AllRows(*trial), 1);
  OutputSet outputs = Reference(*trial);
  auto* theta = static_cast<float*>(outputs.tensors[1].view.data);
  theta[0] += 3;
  EXPECT_EQ(Outside(*trial, *allowed, outputs)[1], 0);
  theta[0] += 0.5f;
  EXPECT_EQ(Outside(*trial, *allowed, outputs)[1], 1);
}

// Errors after NaN and infinity are unbounded, other runs stay judged.
TEST(ScanEnvelope, NanUnboundsItsOwnRunOnly) {
  const auto trial = OpenScan("mamba3_scan t=6 n=8 p=2 seg=runs:3,3 poison=0");
  const auto allowed =
      trial->envelopes().Envelope(Profile("scan-f32"), AllRows(*trial), 1);
  OutputSet outputs = Reference(*trial);
  const auto results = allowed->Judge(outputs);
  EXPECT_EQ(results[0].unbounded, 3 * 2);
  EXPECT_EQ(results[0].inside, 3 * 2);
  EXPECT_FALSE(allowed->Bounds(0));
  EXPECT_TRUE(allowed->Bounds(1));
}

// algorithm=chunked within its own profile's envelope: runs that begin one
// token before, at and after the edge of a chunk. A thousandth of the state's
// largest value is outside.
// So does a given key: k v of the carry overflows before 1e-35 forgets it.
TEST(ScanEnvelope, ClaimsNothingWhereAGivenTermOverflows) {
  const auto line =
      "mamba3_scan t=2 h=2 n=1 p=1 lane=bf16 regime=short "
      "a=const:-80 tau=signs:20 fill=huge:0.1 seed=1";
  const auto candidate = ParseCandidate("variant:siso-a16");
  const auto c = ParseCase(line);
  ASSERT_TRUE(candidate.ok() && c.ok());
  const CaseResult result =
      JudgeCase({&c.value(), line, 1, 1}, *candidate.value(), {}, nullptr);
  // Next to nothing of so short a run is bounded; its probes hold it.
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
  EXPECT_NE(std::find_if(
                result.checks.begin(), result.checks.end(),
                [](const Check& check) { return check.name == "law_split"; }),
            result.checks.end());
}

// A chunk's kernel scales a key before it meets x: 1.5 * 3e38, however small x
// is.
TEST(ScanEnvelope, ClaimsNothingWhereScaledKeysOverflow) {
  const auto trial = OpenScan(
      "mamba3_scan t=3 n=4 p=1 s=0 bias=no skip=no dt=const:1.5 tau=const:0 "
      "a=const:0 fill=q.const:1e-6+k.const:3e38+v.const:1e-6");
  const NumericProfile profile = Profile("scan-f32");
  auto made = trial->Allocate(0);
  const OutputSet& outputs = made.value();
  trial->kernels().RunBaseline(outputs);
  const std::array<int64_t, 4> first = {0, 0, 0, 0};
  EXPECT_TRUE(std::isinf(ElementValue(
      Lane::kF32, ElementBits(outputs.tensors[1].const_view(), first))));
  const auto allowed = trial->envelopes().Envelope(profile, AllRows(*trial), 1);
  for (const int64_t outside : Outside(*trial, *allowed, outputs)) {
    EXPECT_EQ(outside, 0);
  }
}

TEST(ScanEnvelope, HoldsTheChunkedForm) {
  for (const int64_t chunk : {1, 4, 16, 64, 256}) {
    for (const char* more :
         {"lane=f32", "lane=bf16 carry=yes gate=yes",
          "variant=mimo r=2 carry=yes regime=long reduce=yes"}) {
      const auto at = [&](int64_t away) {
        return std::to_string(std::max<int64_t>(0, chunk + away));
      };
      const std::string length = std::to_string(2 * chunk + 3);
      const auto trial =
          OpenScan("mamba3_scan t=" + length + " n=8 p=3 h=2 cu=0," + at(-1) +
                   "," + at(0) + "," + at(1) + "," + length + " " + more);
      const auto allowed = trial->envelopes().Envelope(Profile("scan-chunked"),
                                                       AllRows(*trial), 1);
      auto outputs = trial->Allocate(0);
      ASSERT_TRUE(outputs.ok());
      Execution execution;
      Variation how;
      how.chunk = chunk;
      const RunOutcome ran =
          trial->kernels().RunOptimized(how, outputs.value(), &execution);
      ASSERT_EQ(ran.message, "");
      EXPECT_EQ(execution.Count("chunk"), chunk);
      for (const EnvelopeResult& result : allowed->Judge(outputs.value())) {
        EXPECT_EQ(result.inside, result.expected) << result.tensor << more;
      }
      // carry_h is in f32 whatever the lane.
      const LaneTensor& h = outputs->tensors[2];
      auto* const values = static_cast<float*>(h.view.data);
      const int64_t count = trial->outputs()[2].lines() * h.view.shape[3];
      float largest = 0;
      for (int64_t i = 0; i < count; ++i) {
        largest = std::max(largest, std::fabs(values[i]));
      }
      values[count - 1] += largest * 1e-3f;
      EXPECT_EQ(Outside(*trial, *allowed, outputs.value())[2], 1) << more;
    }
  }
}

// Fields that a kernel may declare widen the bound; none may narrow it.
TEST(ScanEnvelope, EveryRoundingSiteWidensTheBound) {
  const auto trial = OpenScan(
      "mamba3_scan t=9 n=8 p=3 variant=mimo r=2 gate=yes reduce=yes "
      "carry=yes regime=long");
  const Mamba3ScanData& data = trial->data();
  const auto bounds = [&](const NumericProfile& profile) {
    const auto truth =
        oracle::ComputeScan(data.problem, data.inputs, {0, 0, 9, 0, 0},
                            ScanErrorsOf(profile, data.problem));
    double sum = 0;
    for (const auto* errors :
         {&truth.y_error, &truth.h_error, &truth.k_error, &truth.theta_error}) {
      for (const double error : *errors) sum += error;
    }
    return sum;
  };
  const NumericProfile base = Profile("scan-f32");
  const double before = bounds(base);
  using S = ScanNumeric;
  for (const auto field :
       {&S::angle, &S::angle_carry, &S::lambda, &S::dt, &S::weight, &S::param,
        &S::query, &S::key, &S::scaled, &S::carry_key, &S::score, &S::state,
        &S::decayed, &S::diagonal, &S::gate, &S::rank_sum}) {
    NumericProfile wider = base;
    (*wider.scan).*field = NumberType::kBf16;
    EXPECT_GT(bounds(wider), before * 1.0001);
  }
  for (const auto field : {&S::trig_abs, &S::sigmoid_rel, &S::diagonal_rel}) {
    NumericProfile wider = base;
    (*wider.scan).*field = 0x1p-9;
    EXPECT_GT(bounds(wider), before * 1.0001);
  }
  NumericProfile coarse = base;
  coarse.tanh_rel = 0x1p-9;
  EXPECT_GT(bounds(coarse), before * 1.0001);
  coarse = base;
  coarse.exp_rel = 0x1p-9;
  EXPECT_GT(bounds(coarse), before * 1.0001);
}

TEST(ScanProbes, TheReferencePassesAllOfThem) {
  int64_t probes = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto c = ParseCase(SmallScanLine(seed, std::nullopt));
    ASSERT_TRUE(c.ok());
    const NumericProfile profile = Profile(
        c->Get<Mamba3ScanCase>().problem.lane == Lane::kF32 ? "scan-f32"
                                                            : "siso-bf16-a32");
    for (const Case& probe : Mamba3ScanTrial::ProbeCases(c.value(), profile)) {
      const auto trial = OpenScan(probe);
      const auto allowed = trial->envelopes().Probe(profile, AllRows(*trial));
      ASSERT_NE(allowed, nullptr);
      OutputSet outputs = Reference(*trial);
      for (const int64_t outside : Outside(*trial, *allowed, outputs)) {
        EXPECT_EQ(outside, 0) << MinimalLine(probe);
      }
      // The sums' step is 1: off by one is outside.
      ++probes;
    }
  }
  EXPECT_GT(probes, 400);
}

TEST(ScanProbes, HalfAStepIsOutside) {
  for (const char* name : {"integrate", "forget", "triples"}) {
    const auto trial =
        OpenScan(std::string("mamba3_scan t=20 n=8 p=3 "
                             "seg=runs:7,13 carry=yes fill=probe:") +
                 name);
    const auto allowed =
        trial->envelopes().Probe(Profile("scan-f32"), AllRows(*trial));
    ASSERT_NE(allowed, nullptr);
    OutputSet outputs = Reference(*trial);
    auto* y = static_cast<float*>(outputs.tensors[0].view.data);
    y[10] += 0.5f;
    EXPECT_EQ(Outside(*trial, *allowed, outputs)[0], 1) << name;
  }
}

TEST(ScanProbes, WhatTheyCannotProveIsRefused) {
  for (const char* line :
       {"mamba3_scan t=4 n=8 p=2 tau=const:0 fill=probe:integrate",
        "mamba3_scan t=4 n=8 p=2 s=0 fill=probe:turns",
        "mamba3_scan t=4 n=8 p=2 variant=mimo r=5 fill=probe:forget",
        "mamba3_scan t=4 n=8 p=2 a=const:0 fill=probe:integrate",
        "mamba3_scan t=4 n=8 p=2 fill=probe:integrate+zero:0.1",
        "mamba3_scan t=4 n=8 p=2 fill=probe:cancel"}) {
    const auto c = ParseCase(line);
    ASSERT_TRUE(c.ok()) << line;
    EXPECT_FALSE(ValidateCase(c.value()).ok()) << line;
  }
}

}  // namespace
}  // namespace lockstep::verify
