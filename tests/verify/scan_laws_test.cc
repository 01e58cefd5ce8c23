// Longer than 400 lines: laws of a scan that need no truth, each beside the
// fault that breaks it, before one candidate that computes as it is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reference/mamba3_scan.h"
#include "reference/ssd_scan.h"
#include "tests/verify/trials.h"
#include "verify/case/case.h"
#include "verify/emulator/mamba3_scan/kernel.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/emulator/mutants.h"
#include "verify/inputs/mamba3_scan.h"
#include "verify/inputs/ssd_scan.h"
#include "verify/judge/judge.h"
#include "verify/judge/laws.h"
#include "verify/judge/runs/kept.h"
#include "verify/ops/mamba3_scan/trial.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

using Names = std::set<std::string>;

constexpr const char* kThreeRuns =
    "mamba3_scan t=9 h=2 n=8 p=3 seg=ids:0*2,1*3,0*4 carry=yes seed=5";
constexpr const char* kNoCarry =
    "mamba3_scan t=9 h=4 g=2 n=8 p=3 cu=0,2,5,9 seed=7";

// Computes as it is told, and claims what it is told.
class Scanner final : public Candidate {
 public:
  using Compute =
      std::function<void(const Mamba3ScanTrial&, const Mamba3ScanOutputs&)>;
  explicit Scanner(Compute compute,
                   std::optional<NumericProfile> claims = std::nullopt)
      : Candidate({.backend = "reference",
                   .ours = true,
                   .claims = std::move(claims)}),
        compute_(std::move(compute)) {}

  // It has no segment ids.
  void RefuseSegments() { segments_ = false; }

  std::string Spec(const Variation&) const override { return "scanner"; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }
  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    execution->backend = "reference";
    const auto& scan = static_cast<const Mamba3ScanTrial&>(trial);
    if (!segments_ &&
        scan.data().problem.runs == Mamba3ScanProblem::Runs::kSegments) {
      return {RunOutcome::State::kUnsupported, "segments", ""};
    }
    compute_(scan, scan.Views(outputs));
    return {};
  }

 private:
  Compute compute_;
  bool segments_ = true;
};

struct Tried {
  Names laws;     // that were tried
  Names refused;  // and that the kernel does not take
  Names broken;   // by law and tier: "split bits", "split envelope"
};

// A candidate before every law, under several draws.
Tried TryLaws(Candidate& candidate, const std::string& line,
              int64_t most = INT64_MAX, uint64_t salts = 8) {
  const Result<Case> c = ParseCase(line);
  const CaseRequest request = {.call = &c.value(), .line = line};
  const auto trial = Open(line);
  auto base = trial->Allocate(0);
  EXPECT_TRUE(base.ok());
  Execution execution;
  candidate.Run(request, *trial, candidate.traits().fixed, base.value(),
                &execution);
  const std::optional<NumericProfile> profile = candidate.traits().claims;
  Tried tried;
  for (uint64_t salt = 0; salt < salts; ++salt) {
    CaseResult result;
    LawsRequest laws;
    laws.candidate = &candidate;
    laws.request = &request;
    laws.trial = trial.get();
    laws.base = &base.value();
    laws.profile = profile ? &*profile : nullptr;
    laws.salt = salt;
    laws.most = most;
    laws.threads = 1;
    JudgeLaws(laws, &result);
    for (const Check& check : result.checks)
      tried.laws.insert(LawOf(check.name));
    tried.refused.insert(result.refused.begin(), result.refused.end());
    for (const Finding& finding : result.findings) {
      EXPECT_NE(finding.tier, Tier::kSelf) << finding.message;
      EXPECT_NE(finding.tier, Tier::kCandidate) << finding.message;
      tried.broken.insert(
          LawOf({finding.check}) +
          (finding.tier == Tier::kInvariance ? " bits" : " envelope"));
    }
  }
  return tried;
}

Names BrokenBy(const Scanner::Compute& compute, const std::string& line) {
  Scanner scanner(compute);
  return TryLaws(scanner, line).broken;
}

// By a kernel of the zoo with a fault.
Names BrokenByFault(ScanFault fault, const std::string& line) {
  ScanEmulator emulator(FindScanVariant("scan").value(), {fault});
  return BrokenBy(
      [&](const Mamba3ScanTrial& trial, const Mamba3ScanOutputs& out) {
        emulator.Run(trial.data().problem, trial.data().inputs, out);
      },
      line);
}

Tried TrySpec(const std::string& spec, const std::string& line) {
  const auto candidate = ParseCandidate(spec);
  EXPECT_TRUE(candidate.ok()) << candidate.message();
  return TryLaws(*candidate.value(), line);
}

const Names kAll = {"causality", "separate", "split",    "isolation",
                    "order",     "scale",    "encoding", "heads"};

TEST(ScanLaws, NoCorrectKernelBreaksOne) {
  for (const ScanVariant& variant : ScanZoo()) {
    std::string line = kThreeRuns;
    if (*variant.numeric.lane == Lane::kBf16) line += " lane=bf16";
    if (variant.ssd) line += " tau=const:inf";
    EXPECT_EQ(TrySpec("variant:" + variant.name(), line).broken, Names{})
        << variant.name();
  }
  for (const char* more :
       {"", " lane=bf16", " layout=bhtp pad=3", " variant=mimo r=2 gate=yes",
        " norm=1e-5", " regime=strong", " fill=normal:1+v.special:0.3"}) {
    for (const char* spec : {"builtin:optimized", "builtin:reference"}) {
      EXPECT_EQ(TrySpec(spec, std::string(kThreeRuns) + more).broken, Names{})
          << spec << more;
      EXPECT_EQ(TrySpec(spec, std::string(kNoCarry) + more).broken, Names{})
          << spec << more;
    }
  }
  EXPECT_EQ(TrySpec("builtin:optimized,chunk=4", kThreeRuns).broken, Names{});
}

TEST(ScanLaws, EachIsTriedWhereItSaysSomething) {
  EXPECT_EQ(TrySpec("builtin:reference", kNoCarry).laws, kAll);
  EXPECT_EQ(TrySpec("variant:scan", kNoCarry).laws, kAll);
  EXPECT_EQ(
      TrySpec("builtin:reference", "mamba3_step b=2 t=4 n=8 p=2").laws,
      (Names{"causality", "separate", "split", "isolation", "order", "scale"}));
  // One token, one head: nothing but its scale; nor that with a norm.
  EXPECT_EQ(TrySpec("builtin:reference", "mamba3_scan t=1 n=8 p=2").laws,
            (Names{"scale", "encoding"}));
  EXPECT_EQ(
      TrySpec("builtin:reference", "mamba3_scan t=1 n=8 p=2 norm=1e-5").laws,
      Names{"encoding"});
  // Values that would become subnormal, and states that decay to them.
  EXPECT_EQ(
      TrySpec("builtin:reference", "mamba3_scan t=1 n=8 p=2 fill=tiny:1").laws,
      Names{"encoding"});
  EXPECT_FALSE(TrySpec("builtin:reference",
                       "mamba3_scan t=40 n=8 p=2 a=const:-80 fill=normal:1")
                   .laws.contains("scale"));
  // An empty run is not alone, and has no ids.
  EXPECT_EQ(
      TrySpec("builtin:reference", "mamba3_scan t=3 n=8 p=2 cu=0,0,3").laws,
      (Names{"causality", "separate", "split", "isolation", "order", "scale"}));
}

TEST(ScanLaws, AFewOfThemForEverySalt) {
  const auto candidate = ParseCandidate("builtin:reference");
  EXPECT_EQ(TryLaws(*candidate.value(), kNoCarry, 2, 1).laws.size(), 2u);
  EXPECT_EQ(TryLaws(*candidate.value(), kNoCarry, 2, 64).laws, kAll);
}

TEST(ScanLaws, FaultsOfKernelsBreakThem) {
  EXPECT_TRUE(BrokenByFault(ScanFault::kDiagonalUsesS, kThreeRuns)
                  .contains("causality bits"));
  EXPECT_TRUE(BrokenByFault(ScanFault::kMaskMultiplies, kThreeRuns)
                  .contains("isolation bits"));
  EXPECT_TRUE(BrokenByFault(ScanFault::kIntraIgnoresRuns, kThreeRuns)
                  .contains("isolation bits"));
  EXPECT_TRUE(BrokenByFault(ScanFault::kIdsEqual,
                            "mamba3_scan t=9 n=8 p=3 seg=ids:0*1,1*1,0*7")
                  .contains("encoding bits"));
  for (const ScanFault fault : {ScanFault::kIdsAsF32, ScanFault::kIdsAsShort}) {
    EXPECT_TRUE(BrokenByFault(fault, "mamba3_scan t=9 n=8 p=3 seg=runs:3,3,3")
                    .contains("relabel bits"));
  }
  // Gates beyond 4, of which a case has none.
  const std::string gated = "mamba3_scan t=4 n=8 p=3 gate=yes fill=int:-3,3";
  EXPECT_EQ(TrySpec("mutant:scan.gate_clamped", gated).broken,
            Names{"gate envelope"});
  EXPECT_EQ(TrySpec("variant:scan", gated).broken, Names{});
}

// What follows is right on the case itself: only other calls show it.
void ByReference(const Mamba3ScanTrial& trial, const Mamba3ScanInputs& inputs,
                 const Mamba3ScanOutputs& out) {
  reference::ComputeMamba3Scan(trial.data().problem, inputs, out);
}

// The first token of a call from a carry has no beta term.
TEST(ScanLaws, SplitSeesACarryThatIsNotWhole) {
  const auto forgets = [](const Mamba3ScanTrial& trial,
                          const Mamba3ScanOutputs& out) {
    static constexpr float kZero = 0.0f;
    Mamba3ScanInputs inputs = trial.data().inputs;
    if (inputs.carry.given()) {
      inputs.carry.v = {&kZero, inputs.carry.v.shape, {}};
    }
    ByReference(trial, inputs, out);
  };
  EXPECT_EQ(BrokenBy(forgets, kNoCarry), Names{"split bits"});
  // A candidate that claims an envelope has the second call outside of it.
  EXPECT_EQ(TrySpec("mutant:scan.init_fold_missing", kNoCarry).broken,
            Names{"split envelope"});
}

// Mamba-2, as the reference computes it.
void SsdByReference(const Mamba3ScanTrial& trial,
                    const Mamba3ScanOutputs& out) {
  const Status done =
      reference::SsdScan(SsdProblemOf(trial.data().problem),
                         SsdInputsOf(trial.data().inputs), SsdOutputsOf(out));
  EXPECT_TRUE(done.ok()) << done.message();
}

// The call behind the cut knows neither k nor v of the token before it: the
// product that is zero there is none of its terms, and a -0 stays one.
TEST(ScanLaws, SplitTakesZerosOfTheStateOfMamba2AsOne) {
  const std::string line = "ssd_scan t=2 n=3 p=2 a=const:-1e+30 fill=int:-3,3";
  EXPECT_EQ(TrySpec("builtin:optimized", line).broken, Names{});
  EXPECT_EQ(TrySpec("builtin:reference", line).broken, Names{});
  // Of y it takes none.
  const auto flips = [](const Mamba3ScanTrial& trial,
                        const Mamba3ScanOutputs& out) {
    SsdByReference(trial, out);
    if (!trial.data().inputs.carry.given()) return;
    out.y.As<float>()(0, 0, 0, 0, 0) = -0.0f;
  };
  EXPECT_EQ(BrokenBy(flips, "ssd_scan t=3 n=3 p=2 fill=normal:1+v.const:0"),
            Names{"split bits"});
}

// Mamba-3's carry is whole: its zeros have a sign.
TEST(ScanLaws, SplitKeepsTheSignOfZerosOfAWholeCarry) {
  const auto flips = [](const Mamba3ScanTrial& trial,
                        const Mamba3ScanOutputs& out) {
    ByReference(trial, trial.data().inputs, out);
    if (trial.data().inputs.carry.given()) out.carry.h(0, 0, 0, 0) = -0.0f;
  };
  EXPECT_EQ(BrokenBy(flips, "mamba3_scan t=3 n=4 p=2 fill=normal:1+v.const:0"),
            Names{"split bits"});
}

// A call with one run has other steps.
TEST(ScanLaws, SeparateSeesARunAlone) {
  const auto alone = [](const Mamba3ScanTrial& trial,
                        const Mamba3ScanOutputs& out) {
    static constexpr float kStep = 0.25f;
    Mamba3ScanInputs inputs = trial.data().inputs;
    if (trial.runs().size() == 1) {
      inputs.dt = {&kStep, inputs.dt.shape, {}};
    }
    ByReference(trial, inputs, out);
  };
  EXPECT_EQ(BrokenBy(alone, kNoCarry), (Names{"separate bits", "split bits"}));
}

// Runs are right only while they become longer.
TEST(ScanLaws, OrderSeesWhereARunLies) {
  const auto sorted = [](const Mamba3ScanTrial& trial,
                         const Mamba3ScanOutputs& out) {
    static constexpr float kStep = 0.25f;
    Mamba3ScanInputs inputs = trial.data().inputs;
    int64_t before = 0;
    for (const reference::Run& run : trial.runs()) {
      if (run.end - run.first < before) {
        inputs.dt = {&kStep, inputs.dt.shape, {}};
      }
      before = run.end - run.first;
    }
    ByReference(trial, inputs, out);
  };
  EXPECT_EQ(BrokenBy(sorted, kNoCarry), Names{"order bits"});
}

// The weights of the first call serve every call.
TEST(ScanLaws, HeadsSeesStaleWeights) {
  std::vector<float> kept;
  const auto stale = [&](const Mamba3ScanTrial& trial,
                         const Mamba3ScanOutputs& out) {
    Mamba3ScanInputs inputs = trial.data().inputs;
    const int64_t heads = trial.data().problem.heads;
    for (int64_t h = 0; h < heads && kept.size() < 4; ++h) {
      kept.push_back(inputs.d(h));
    }
    inputs.d = {kept.data(), {heads}, {1}};
    ByReference(trial, inputs, out);
  };
  EXPECT_EQ(BrokenBy(stale, kNoCarry), Names{"heads bits"});
}

// Small values count as zero.
TEST(ScanLaws, ScaleSeesACutOff) {
  std::vector<float> v;
  const auto cut = [&](const Mamba3ScanTrial& trial,
                       const Mamba3ScanOutputs& out) {
    Mamba3ScanInputs inputs = trial.data().inputs;
    const auto& n = inputs.v.shape;
    v.clear();
    for (int64_t at = 0; at < n[0] * n[1] * n[2] * n[3]; ++at) {
      const float x = inputs.v.As<float>()(at / (n[1] * n[2] * n[3]),
                                           at / (n[2] * n[3]) % n[1],
                                           at / n[3] % n[2], at % n[3]);
      v.push_back(x * x < 1e-10f ? 0.0f : x);
    }
    inputs.v = {v.data(), Lane::kF32, n, DenseStrides(n)};
    ByReference(trial, inputs, out);
  };
  EXPECT_EQ(BrokenBy(cut, kNoCarry), Names{"scale bits"});
}

// What a run without tokens exports is a neighbour's v: right where the profile
// says so, and of no concern to a law.
TEST(ScanLaws, LeaveRunsWithoutTokensOpenWhereTheProfileDoes) {
  const auto neighbour = [](const Mamba3ScanTrial& trial,
                            const Mamba3ScanOutputs& out) {
    ByReference(trial, trial.data().inputs, out);
    const auto v = trial.data().inputs.v.As<float>();
    for (size_t n = 0; n < trial.runs().size(); ++n) {
      const reference::Run& run = trial.runs()[n];
      if (run.first < run.end) continue;
      const int64_t t = std::min(run.first, v.shape[1] - 1);
      for (int64_t c = 0; c < v.shape[3]; ++c) {
        out.carry.v(static_cast<int64_t>(n), 0, c) = v(run.row, t, 0, c);
      }
    }
  };
  const std::string line = "mamba3_scan t=20 n=4 p=4 cu=0,0,10,10,20";
  NumericProfile profile = LoadProfile("scan-f32").value();
  Scanner claims_all(neighbour, profile);
  EXPECT_TRUE(TryLaws(claims_all, line).broken.contains("isolation bits"));
  profile.scan->empty_run = EmptyRun::kUnspecified;
  Scanner honest(neighbour, profile);
  EXPECT_EQ(TryLaws(honest, line).broken, Names{});
}

// A kernel that takes offsets alone is asked for segment ids by one law only.
TEST(ScanLaws, EncodingMayBeRefused) {
  Scanner offsets(
      [](const Mamba3ScanTrial& trial, const Mamba3ScanOutputs& out) {
        ByReference(trial, trial.data().inputs, out);
      });
  offsets.RefuseSegments();
  const Tried tried = TryLaws(offsets, kNoCarry);
  EXPECT_EQ(tried.broken, Names{});
  EXPECT_EQ(tried.refused, Names{"law_encoding"});
  EXPECT_FALSE(tried.laws.contains("encoding"));
}

// The judge as a whole: equal bits on the case, and still a fail.
TEST(ScanLaws, ABrokenLawIsAFail) {
  const Result<Case> c = ParseCase(kNoCarry);
  const CaseRequest request = {.call = &c.value(), .line = kNoCarry};
  Scanner scanner(
      [](const Mamba3ScanTrial& trial, const Mamba3ScanOutputs& out) {
        static constexpr float kStep = 0.25f;
        Mamba3ScanInputs inputs = trial.data().inputs;
        if (trial.runs().size() == 1) inputs.dt = {&kStep, inputs.dt.shape, {}};
        ByReference(trial, inputs, out);
      });
  JudgeOptions options;
  const CaseResult result = JudgeCase(request, scanner, options, nullptr);
  EXPECT_EQ(result.verdict, Verdict::kFail);
  for (const Finding& finding : result.findings) {
    EXPECT_TRUE(finding.check == "law_separate" || finding.check == "law_split")
        << finding.check << ": " << finding.message;
  }
  options.max_laws = 0;
  EXPECT_EQ(JudgeCase(request, scanner, options, nullptr).verdict,
            Verdict::kPass);
}

TEST(ScanLaws, PowersOfTwoKeepTheFractionOfNormalNumbers) {
  EXPECT_EQ(TimesPowerOfTwo(Lane::kF32, 0x3fc00000u, -3), 0x3e400000u);
  EXPECT_EQ(TimesPowerOfTwo(Lane::kBf16, 0xbfc0u, -3), 0xbe40u);
  EXPECT_EQ(TimesPowerOfTwo(Lane::kF32, 0x80000000u, -3), 0x80000000u);
  EXPECT_EQ(TimesPowerOfTwo(Lane::kF32, 0x00800000u, 0), 0x00800000u);
  EXPECT_EQ(TimesPowerOfTwo(Lane::kF32, 0x00800000u, -1), std::nullopt);
  EXPECT_EQ(TimesPowerOfTwo(Lane::kF32, 0x00400000u, 4), std::nullopt);
  EXPECT_EQ(TimesPowerOfTwo(Lane::kF32, 0x7f000000u, 1), std::nullopt);
  EXPECT_EQ(TimesPowerOfTwo(Lane::kF32, 0x7f800000u, -1), std::nullopt);
  EXPECT_EQ(TimesPowerOfTwo(Lane::kBf16, 0x7fc0u, -1), std::nullopt);
  EXPECT_EQ(TimesPowerOfTwo(Lane::kF32, 0x7fc00000u, 0), 0x7fc00000u);
}

// The emulator without a fault is a scan; every fault changes something on its
// pattern.
TEST(ScanEmulator, EveryFaultIsVisibleAndNamedOnce) {
  int64_t scans = 0;
  for (const MutantInfo& info : Mutants()) {
    if (!info.scan()) continue;
    ++scans;
    const auto mutant = ParseMutant(info.name);
    ASSERT_TRUE(mutant.ok());
    const auto sequence = ParseCaseSequence(info.pattern);
    ASSERT_TRUE(sequence.ok()) << info.name << ": " << sequence.message();
    const Case& c = sequence->back();
    ASSERT_TRUE(ValidateCase(c).ok()) << info.name;
    EXPECT_EQ(OpName(c), info.op());
  }
  EXPECT_GE(scans, 55);
}

}  // namespace
}  // namespace lockstep::verify
