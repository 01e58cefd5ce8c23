// mamba3_scan_backward before the judge: kernels, rows, bounds, laws, probes.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/verify/judge_claims.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/law_lines.h"
#include "tests/verify/trials.h"
#include "verify/allowed/mamba3_scan_backward/envelope.h"
#include "verify/base/elements.h"
#include "verify/domain/domain.h"
#include "verify/emulator/mamba3_scan_backward/kernel.h"
#include "verify/judge/laws.h"
#include "verify/ops/mamba3_scan_backward/trial.h"
#include "verify/ops/op.h"
#include "verify/oracle/mamba3_scan_backward/truth.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// Every feature at once but those that exclude another.
constexpr const char* kEverything =
    "mamba3_scan_backward b=2 t=15 h=4 g=2 n=10 p=5 s=3 variant=mimo r=2 "
    "gate=yes reduce=yes seg=[runs:6,9;runs:15] carry=yes dcarry=yes seed=3";

// The rows of a problem, computed part by part, are the whole, each line once.
TEST(ScanBackwardRows, AreTheWholeProblem) {
  const Domain& domain = *FindDomain("mamba3_scan_backward").value();
  for (uint64_t n = 0; n < 300; ++n) {
    const Case c = DrawCase(domain, {}, 7, n)[0];
    const auto opened = Open(c);
    const Trial& trial = *opened;
    const OutputSet whole = Reference(trial);
    std::vector<std::set<int64_t>> seen(trial.outputs().size());
    for (int64_t row = 0; row < trial.rows(); ++row) {
      RowBits bits;
      trial.ReferenceRow(row, &bits);
      for (size_t t = 0; t < trial.outputs().size(); ++t) {
        const OutputSpec& spec = trial.outputs()[t];
        size_t i = 0;
        for (const int64_t line : trial.Lines(t, row)) {
          EXPECT_TRUE(seen[t].insert(line).second) << spec.name;
          for (int64_t k = 0; k < spec.shape[3]; ++k) {
            ASSERT_LT(i, bits[t].size());
            ASSERT_EQ(bits[t][i++], ElementBits(whole.tensors[t].const_view(),
                                                LineIndex(spec, line, k)))
                << spec.name << " " << MinimalLine(c);
          }
        }
        EXPECT_EQ(i, bits[t].size());
      }
    }
    for (size_t t = 0; t < seen.size(); ++t) {
      EXPECT_EQ(static_cast<int64_t>(seen[t].size()),
                trial.outputs()[t].lines())
          << trial.outputs()[t].name << " " << MinimalLine(c);
    }
  }
}

// States made again in any chunk, cotangents by pairs of tokens, partial sums
// in bf16 and all others are right under their own profiles.
TEST(ScanBackwardJudge, EveryCorrectKernelPasses) {
  for (const ScanGradVariant& variant : ScanGradZoo()) {
    const bool bf16 = *variant.scan.numeric.lane == Lane::kBf16;
    const CaseResult result =
        JudgeSpec(std::string(kEverything) + (bf16 ? " lane=bf16" : ""),
                  "variant:" + variant.name());
    EXPECT_NE(result.verdict, Verdict::kFail)
        << variant.name() << ": " << result.reason;
    EXPECT_NE(result.verdict, Verdict::kError)
        << variant.name() << ": " << result.reason;
  }
}

// The errors of dq, da and dv of a head, by a profile.
oracle::HeadGradients Bounded(const Trial& trial,
                              const NumericProfile& profile) {
  const auto& scan = dynamic_cast<const Mamba3ScanBackwardTrial&>(trial);
  const oracle::GradientErrors errors =
      GradientErrorsOf(profile, scan.problem(), std::nullopt);
  return oracle::ComputeScanGradients(scan.problem(), scan.inputs(),
                                      {0, 0, scan.problem().forward.length},
                                      errors);
}

// A profile that rounds one operand more allows that much more.
TEST(ScanBackwardEnvelope, HasATermForEachRounding) {
  const auto trial = Open("mamba3_scan_backward t=6 n=4 p=3 s=2 skip=no");
  const NumericProfile exact = LoadProfile("scan-f32").value();
  const auto sum = [&](const NumericProfile& profile, oracle::Gradient of) {
    double errors = 0;
    const auto bounded = Bounded(*trial, profile);
    for (const double x : bounded[static_cast<size_t>(of)].error) errors += x;
    return errors;
  };
  using Field = NumberType ScanNumeric::*;
  for (const Field field :
       {&ScanNumeric::grad_do, &ScanNumeric::grad_state, &ScanNumeric::state,
        &ScanNumeric::decayed, &ScanNumeric::angle}) {
    NumericProfile rounded = exact;
    (*rounded.scan).*field = NumberType::kBf16;
    for (const oracle::Gradient of :
         {oracle::Gradient::kQ, oracle::Gradient::kV, oracle::Gradient::kA}) {
      EXPECT_GT(sum(rounded, of), 16 * sum(exact, of));
    }
  }
  // An angle turns both coordinates of a pair by as much.
  NumericProfile rounded = exact;
  rounded.scan->angle = NumberType::kBf16;
  const auto dq =
      Bounded(*trial, rounded)[static_cast<size_t>(oracle::Gradient::kQ)];
  for (size_t n = 0; n < dq.error.size(); n += 2) {
    EXPECT_NEAR(dq.error[n], dq.error[n + 1], 1e-9 * dq.error[n]);
  }
}

// What f32 allows is narrow: a small relative change of the largest element of
// any output is outside.
TEST(ScanBackwardEnvelope, OfF32IsNarrow) {
  struct Row {
    std::string line;
    float change;
  };
  // Behind a norm all is made of differences.
  const Row rows[] = {
      {kEverything, 0x1p-7f},
      {"mamba3_scan_backward t=12 n=8 p=6 h=2", 0x1p-8f},
      {"mamba3_scan_backward t=12 n=8 p=6 h=2 norm=1e-3", 0x1p-3f}};
  for (const auto& [line, change] : rows) {
    ExpectNarrow(*Open(line), "scan-f32", change);
  }
}

OutputSet Emulated(const Trial& trial, ScanGradFault fault) {
  const auto& scan = dynamic_cast<const Mamba3ScanBackwardTrial&>(trial);
  OutputSet outputs = std::move(trial.Allocate(0).value());
  ScanGradEmulator(FindScanGradVariant("scan-grad").value(), fault)
      .Run(scan.problem(), scan.inputs(), scan.Views(outputs));
  return outputs;
}

OutputSet Normalised(const Trial& trial, ScanGradFault) {
  OutputSet outputs = Reference(trial);
  Normalise(outputs);
  return outputs;
}

// Whether the kernel's answer to a law's only call agrees with its own.
bool Keeps(const Trial& trial, const std::string& name, uint64_t salt,
           ScanGradFault fault, decltype(&Emulated) kernel = Emulated) {
  Result<Law> law = trial.laws().MakeLaw(name, salt);
  EXPECT_TRUE(law.ok()) << law.message();
  EXPECT_EQ(law->calls.size(), 1u);
  const LawCall& call = law->calls[0];
  return Agree(trial, kernel(trial, fault), law.value(), call,
               kernel(*call.trial, fault));
}

// Laws that hold for every kernel: those of right ones keep them whatever is
// drawn; a kernel that lets a run's cotangents into another one does not, nor
// one that hands the heads of a group to another group, nor one whose gradients
// are normalised.
TEST(ScanBackwardLaws, AreBrokenByWhatTheySpeakOf) {
  const auto runs =
      Open("mamba3_scan_backward t=12 n=4 p=3 cu=0,5,12 dcarry=yes");
  const auto heads = Open("mamba3_scan_backward t=5 n=4 p=3 h=4 g=4");
  int64_t leaks = 0, swaps = 0;
  for (uint64_t salt = 0; salt < 8; ++salt) {
    for (const char* law : {"isolation", "encoding", "reach", "scale"}) {
      EXPECT_TRUE(Keeps(*runs, law, salt, ScanGradFault::kNone)) << law;
    }
    EXPECT_TRUE(Keeps(*heads, "heads", salt, ScanGradFault::kNone));
    leaks +=
        Keeps(*runs, "isolation", salt, ScanGradFault::kRunsJoined) ? 0 : 1;
    for (const char* law : {"reach", "scale"}) {
      EXPECT_FALSE(Keeps(*runs, law, salt, ScanGradFault::kNone, Normalised));
    }
    swaps += Keeps(*heads, "heads", salt, ScanGradFault::kGroupModulo) ? 0 : 1;
  }
  EXPECT_GT(leaks, 0);
  EXPECT_GT(swaps, 0);
}

TEST(ScanBackwardLaws, AreThoseThatSaySomething) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(Open(kEverything)->laws().LawNames(),
            (Names{"reach", "separate", "split", "isolation", "order", "scale",
                   "heads", "relabel"}));
  EXPECT_EQ(Open("mamba3_scan_backward t=1 n=4 p=3")->laws().LawNames(),
            (Names{"scale", "encoding"}));
  // Too long for calls of their own.
  EXPECT_TRUE(Open("mamba3_scan_backward t=65536 n=32 p=32")
                  ->laws()
                  .LawNames()
                  .empty());
}

// Known-bad kernels that a run is tried with fail wherever a case has what they
// break, and trivial answers are none where there is something to answer.
TEST(ScanBackwardEvidence, CanariesFailAndNullsDiffer) {
  for (const std::string lane : {"f32", "bf16"}) {
    const std::string line = std::string(kEverything) + " lane=" + lane;
    const auto trial = Open(line);
    EXPECT_EQ(trial->kernels().Canaries().size(), 7u);
    for (const char* canary : trial->kernels().Canaries()) {
      EXPECT_EQ(JudgeSpec(line, canary).verdict, Verdict::kFail) << canary;
    }
    for (const NullCandidate& null : trial->faults().Nulls()) {
      bool differs = false;
      for (int64_t row = 0; row < trial->rows(); ++row) {
        RowBits right, bits;
        trial->ReferenceRow(row, &right);
        null.row(row, &bits);
        differs = differs || bits != right;
      }
      EXPECT_TRUE(differs) << null.name;
    }
  }
}

// What a run without tokens answers is the cotangent of its carry, unless the
// profile leaves that open.
TEST(ScanBackwardEnvelope, OfAnEmptyRunIsTheProfilesWord) {
  const auto trial = Open(
      "mamba3_scan_backward t=6 h=2 n=4 p=3 cu=0,3,3,6 carry=yes dcarry=yes");
  NumericProfile profile = LoadProfile("scan-f32").value();
  for (const bool open : {false, true}) {
    profile.scan->empty_run = open ? EmptyRun::kUnspecified : EmptyRun::kCarry;
    const auto allowed =
        trial->envelopes().Envelope(profile, AllRows(*trial), 1);
    OutputSet outputs = Reference(*trial);
    for (size_t t = 0; t < trial->outputs().size(); ++t) {
      if (trial->outputs()[t].name != "dinit_h") continue;
      const LaneTensor& dh = outputs.tensors[t];
      SetElement(dh.view, {1, 0, 0, 0}, BitsOf(Lane::kF32, 1e3));
      EXPECT_EQ(allowed->Judge(outputs)[t].outside, open ? 0 : 1);
    }
  }
}

// 4 + 16 r flop for each element of the state and token, 2 r more where the
// output is made again.
TEST(ScanBackwardWork, IsCounted) {
  const auto flop = [](const std::string& keys) {
    return Open("mamba3_scan_backward t=5 h=2 n=4 p=3" + keys)
               ->facts()
               .CountWork()
               ->flop /
           (5 * 2 * 4 * 3);
  };
  EXPECT_EQ(flop(""), 20);
  EXPECT_EQ(flop(" gate=yes"), 22);
  EXPECT_EQ(flop(" variant=mimo r=3"), 52);
  EXPECT_EQ(flop(" variant=mimo r=3 norm=1e-3"), 58);
}

// A probe's cotangents are impulses: one channel of every token and head.
TEST(ScanBackwardProbes, AskForOneChannelAToken) {
  const auto trial =
      Open("mamba3_scan_backward t=9 h=2 n=4 p=5 fill=probe:halves dcarry=yes");
  const auto& scan = dynamic_cast<const Mamba3ScanBackwardTrial&>(*trial);
  const LaneTensor& dy = scan.data().at(ScanTensor::kDy).tensor;
  double impulses = 0;
  ForElements(dy.view.shape, [&](const At& at) {
    const double x =
        std::abs(ElementValue(Lane::kF32, ElementBits(dy.const_view(), at)));
    EXPECT_TRUE(x == 0 || x == 1);
    impulses += x;
  });
  EXPECT_EQ(impulses, 9 * 2);
}

// A probe tells single tokens apart at lengths at which the gradients of
// ordinary data drown them.
TEST(ScanBackwardProbes, ShowOneTokenAmongMany) {
  const NumericProfile profile = LoadProfile("scan-f32").value();
  const Case c =
      ParseCase("mamba3_scan_backward t=4096 n=4 p=2 regime=long").value();
  const std::vector<Case> probes = c.op->trial->probe_cases(c, profile);
  ASSERT_EQ(probes.size(), 2u);
  for (const std::string& kind :
       {std::string("token"), std::string("key"), std::string("query"),
        std::string("cotangent")}) {
    bool seen = false, shown = false;
    for (const Case& probe : probes) {
      const auto trial = Open(probe);
      for (uint64_t salt = 1; salt <= 4; ++salt) {
        for (const PlantedFault& fault : trial->faults().PlantFaults(salt)) {
          if (fault.kind != kind) continue;
          seen = true;
          shown |= Shows(*trial, profile, fault);
        }
      }
    }
    EXPECT_TRUE(seen && shown) << kind;
  }
}

}  // namespace
}  // namespace lockstep::verify
