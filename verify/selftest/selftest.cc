#include "verify/selftest/selftest.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "reference/attention_forward.h"
#include "verify/case/attention_forward/case.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/inputs/attention_forward_outputs.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/registry/ops.h"
#include "verify/selftest/attention_forward_scene.h"
#include "verify/selftest/mamba3_scan.h"
#include "verify/selftest/zoo_run.h"

namespace lockstep::verify {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Reference on cases of at most this many multiply-adds; the envelope alone
// judges larger ones.
constexpr int64_t kReferenceWork = 40000000;

int64_t Work(const AttentionForwardProblem& p) {
  return p.batch * p.q_heads * p.q_len * p.kv_len * (p.head_dim + p.value_dim);
}

// The same case for a base whose profile claims a lane.
Case InLane(Case c, const NumericProfile& profile) {
  if (profile.lane && !profile.exact) {
    c.Get<AttentionForwardCase>().lane = *profile.lane;
  }
  return c;
}

// One mutant before all tiers: in its own base, and in one that claims a
// profile only.
class Trialist {
 public:
  explicit Trialist(const Mutant& mutant)
      : mutant_(mutant),
        exact_(mutant.variant, mutant.dial),
        bounded_variant_(mutant.variant.numeric.exact
                             ? FindVariant("cpu").value()
                             : mutant.variant),
        bounded_(bounded_variant_, mutant.dial),
        flash_(FlashOf(mutant), mutant.dial),
        baseline_(FindVariant("flash").value()) {
    row_.mutant = mutant.info;
  }

  const KillRow& row() const { return row_; }

  // Judges the last call of a sequence. Errors: the case cannot be opened.
  Status Try(const std::vector<Case>& sequence, const std::string& line,
             Clock::time_point start) {
    const bool killed_before = row_.Killed();
    if (!killed_before) ++row_.cases;
    for (size_t i = 0; i < sequence.size(); ++i) {
      const Status status = TryCall(sequence[i], i + 1 == sequence.size());
      if (!status.ok()) return status;
    }
    if (row_.Killed() && !killed_before) {
      row_.seconds = SecondsSince(start);
      row_.by = line;
    }
    if (row_.killed[static_cast<size_t>(ProofTier::kEnvelope)] &&
        row_.envelope_by.empty())
      row_.envelope_by = line;
    return {};
  }

  // An ordinary case: the envelope and the foreign rules, side by side.
  Status TryOrdinary(const Case& call) {
    const NumericProfile& profile = flash_.variant().numeric;
    Result<Scene> scene = OpenScene(InLane(call, profile));
    if (!scene.ok()) return scene.status();
    const Result<Buffers> out = Emulate(scene.value(), &flash_);
    if (!out.ok()) return out.status();
    const Result<Buffers> baseline = Emulate(scene.value(), &baseline_);
    if (!baseline.ok()) return baseline.status();
    RuleInput input;
    if (JudgeByEnvelope(scene.value(), profile, out.value(), &input.truth)
            .outside) {
      Kill(ProofTier::kOrdinary);
    }
    const AttentionForwardProblem& p = scene->data.problem;
    input.lane = p.lane;
    input.baseline = Numbers(p, baseline->o.const_view());
    input.produced = Numbers(p, out->o.const_view());
    const auto passes = PassesForeignRules(input);
    for (size_t r = 0; r < kForeignRules; ++r) {
      row_.foreign[r] = row_.foreign[r] || !passes[r];
    }
    return {};
  }

 private:
  // The kernel that ordinary cases meet: tiles as they are in use.
  static AttentionVariant FlashOf(const Mutant& mutant) {
    AttentionVariant variant = mutant.variant.numeric.exact
                                   ? FindVariant("flash").value()
                                   : mutant.variant;
    variant.tile_q = 64;
    variant.tile_kv = 64;
    return variant;
  }

  void Kill(ProofTier tier) { row_.killed[static_cast<size_t>(tier)] = true; }

  Status TryCall(const Case& call, bool judge) {
    if (mutant_.variant.numeric.exact) {
      const Status status = TryExact(call, judge);
      if (!status.ok()) return status;
    }
    Result<Scene> scene = OpenScene(InLane(call, bounded_variant_.numeric));
    if (!scene.ok()) return scene.status();
    Result<Buffers> out = Emulate(scene.value(), &bounded_);
    if (!out.ok()) return out.status();
    if (!judge) return {};
    if (JudgeByEnvelope(scene.value(), bounded_variant_.numeric, out.value(),
                        nullptr)
            .outside) {
      Kill(ProofTier::kEnvelope);
    }
    return TryProbes(scene->request);
  }

  // The same shapes and masks with the inputs of every probe.
  Status TryProbes(const Case& call) {
    const NumericProfile& profile = bounded_variant_.numeric;
    for (const Case& probe : AttentionForwardTrial::ProbeCases(call, profile)) {
      if (row_.killed[static_cast<size_t>(ProofTier::kProbes)]) break;
      const Result<Scene> scene = OpenScene(probe);
      if (!scene.ok()) return scene.status();
      const Result<Buffers> out = Emulate(scene.value(), &bounded_);
      if (!out.ok()) return out.status();
      if (JudgeByProbe(scene.value(), profile, out.value()).outside) {
        Kill(ProofTier::kProbes);
      }
    }
    return {};
  }

  Status TryExact(const Case& call, bool judge) {
    Result<Scene> scene = OpenScene(call);
    if (!scene.ok()) return scene.status();
    const AttentionForwardProblem& p = scene->data.problem;
    Result<Buffers> out = Emulate(scene.value(), &exact_);
    if (!out.ok()) return out.status();
    if (!judge || Work(p) > kReferenceWork) return {};
    Result<Buffers> want = AllocateOutputs(call.Get<AttentionForwardCase>(), 0);
    if (!want.ok()) return want.status();
    const Status done =
        reference::AttentionForward(p, scene->data.inputs, want->view());
    if (!done.ok()) return done;
    if (Bits(p, out.value()) != Bits(p, want.value())) Kill(ProofTier::kBits);
    Result<Buffers> again = Emulate(scene.value(), &exact_);
    if (!again.ok()) return again.status();
    if (Bits(p, out.value()) != Bits(p, again.value()) ||
        out->Unwritten() > 0 || !out->GuardsIntact()) {
      Kill(ProofTier::kInvariance);
    }
    return {};
  }

  Mutant mutant_;
  AttentionEmulator exact_;
  AttentionVariant bounded_variant_;
  AttentionEmulator bounded_;
  AttentionEmulator flash_;
  AttentionEmulator baseline_;
  KillRow row_;
};

Status TryOrdinaryLines(const SelftestOptions& options, Trialist* trialist) {
  for (const std::string& line : options.ordinary) {
    const Result<Case> c = ParseCase(line);
    if (!c.ok()) return Status::Error("'" + line + "': " + c.message());
    const Status status = trialist->TryOrdinary(c.value());
    if (!status.ok()) return status;
  }
  return {};
}

// The mutant's pattern under several seeds, then the ordinary cases.
Result<KillRow> TryMutant(const MutantInfo& info,
                          const SelftestOptions& options) {
  const Clock::time_point start = Clock::now();
  const Result<Mutant> mutant = ParseMutant(info.name);
  if (!mutant.ok()) return mutant.status();
  Trialist trialist(mutant.value());
  Result<std::vector<Case>> sequence = ParseCaseSequence(info.pattern);
  if (!sequence.ok()) return sequence.status();
  for (int64_t v = 0;
       v <= options.variations && SecondsSince(start) < options.seconds_each;
       ++v) {
    for (Case& c : sequence.value()) {
      if (v > 0) c.seed += 1 + options.seed;
    }
    const Status status =
        trialist.Try(sequence.value(), MinimalLine(sequence.value()), start);
    if (!status.ok()) return status;
  }
  const Status status = TryOrdinaryLines(options, &trialist);
  if (!status.ok()) return status;
  return trialist.row();
}

PlanKill TryPlanMutant(const PlanMutantInfo& info) {
  const Clock::time_point start = Clock::now();
  PlanKill kill{.mutant = &info};
  const Result<PlanTrial> sound = TryPattern(info, false);
  kill.sound = sound.ok() && CheckPlan(sound->trace, sound->mask).empty();
  const Result<PlanTrial> broken = TryPattern(info, true);
  if (broken.ok()) {
    for (const Violation& found : CheckPlan(broken->trace, broken->mask)) {
      kill.named = kill.named || found.invariant == info.invariant;
    }
  }
  kill.seconds = SecondsSince(start);
  return kill;
}

}  // namespace

const char* ProofTierName(ProofTier tier) {
  constexpr const char* kNames[] = {"bits", "probes", "envelope", "invariance",
                                    "ordinary"};
  return kNames[static_cast<size_t>(tier)];
}

bool KillRow::Killed() const {
  return std::any_of(killed.begin(), killed.end(), [](bool k) { return k; });
}

int64_t SelftestResult::Mutants() const {
  return static_cast<int64_t>(kills.size() + plan_kills.size());
}

int64_t SelftestResult::Killed() const {
  const auto killed = [](const auto& row) { return row.Killed(); };
  return std::count_if(kills.begin(), kills.end(), killed) +
         std::count_if(plan_kills.begin(), plan_kills.end(), killed);
}

double SelftestResult::SlowestKill() const {
  double slowest = 0;
  for (const KillRow& row : kills) slowest = std::max(slowest, row.seconds);
  for (const PlanKill& row : plan_kills) {
    slowest = std::max(slowest, row.seconds);
  }
  return slowest;
}

int64_t SelftestResult::KilledByRule(ForeignRule rule) const {
  return std::count_if(kills.begin(), kills.end(), [&](const KillRow& row) {
    return row.foreign[static_cast<size_t>(rule)];
  });
}

bool SelftestResult::ZooPassed() const {
  return zoo_cases > 0 && proof_false_alarms == 0;
}

bool SelftestResult::Passed() const {
  return !kills.empty() && Killed() == Mutants() && ZooPassed();
}

SelftestResult RunZoo(const SelftestOptions& options) {
  SelftestResult result;
  if (options.scans) TryScanZoo(options, ScanZooCases(options), &result);
  if (options.attention) TryAttentionZoo(options, &result);
  return result;
}

Result<SelftestResult> RunSelftest(const SelftestOptions& options) {
  SelftestResult result;
  for (const MutantInfo& info : Mutants()) {
    const bool attention = info.attention();
    if (attention ? !options.attention : !options.scans) continue;
    Result<KillRow> row =
        attention ? TryMutant(info, options) : TryScanMutant(info, options);
    if (!row.ok()) return row.status();
    result.kills.push_back(std::move(row.value()));
    if (options.progress) options.progress(info.name);
  }
  if (options.scans) TryScanZoo(options, ScanZooCases(options), &result);
  if (!options.attention) return result;
  for (const PlanMutantInfo& info : PlanMutants()) {
    result.plan_kills.push_back(TryPlanMutant(info));
    if (options.progress) options.progress(info.name);
  }
  if (options.dials) {
    auto dials = MeasureDials(options.ordinary, options.threads);
    if (!dials.ok()) return dials.status();
    result.dials = std::move(dials.value());
  }
  Mutant correct;
  correct.variant = FindVariant("exact").value();
  Trialist trialist(correct);
  const Status status = TryOrdinaryLines(options, &trialist);
  if (!status.ok()) return status;
  result.rejects_correct = trialist.row().foreign;
  result.proof_false_alarms += trialist.row().Killed();
  TryAttentionZoo(options, &result);
  return result;
}

}  // namespace lockstep::verify
