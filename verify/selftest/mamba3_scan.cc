#include "verify/selftest/mamba3_scan.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "verify/case/mamba3_scan/case.h"
#include "verify/emulator/mamba3_scan/kernel.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/judge/truth.h"
#include "verify/ops/mamba3_scan/trial.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A case with its inputs.
Result<std::unique_ptr<Trial>> Open(Case c, const NumericProfile& profile) {
  Mamba3ScanCase& scan = c.Get<Mamba3ScanCase>();
  if (profile.lane) scan.problem.lane = *profile.lane;
  const Result<TrialRow> op = TrialRowOf(c);
  if (!op.ok()) return op.status();
  return op->open(c, {});
}

// A scan that reads no tau is right where it is +infinity.
void Suit(const ScanVariant& variant, Case* c) {
  if (!variant.ssd) return;
  Mamba3ScanCase& scan = c->Get<Mamba3ScanCase>();
  scan.tau = FillTerm{.kind = FillKind::kConst,
                      .a = {std::numeric_limits<double>::infinity()}};
}

std::vector<int64_t> AllRows(const Trial& trial) {
  std::vector<int64_t> rows(static_cast<size_t>(trial.rows()));
  for (size_t n = 0; n < rows.size(); ++n) rows[n] = static_cast<int64_t>(n);
  return rows;
}

void Emulate(const Trial& trial, const OutputSet& outputs,
             ScanEmulator* emulator) {
  const auto& scan = static_cast<const Mamba3ScanTrial&>(trial);
  emulator->Run(scan.data().problem, scan.data().inputs, scan.Views(outputs));
}

struct Found {
  bool outside = false;
  bool unlikely = false;
  std::string what;
};

Found Judge(const AllowedResults& allowed, const OutputSet& outputs) {
  Found found;
  for (const EnvelopeResult& result : allowed.Judge(outputs)) {
    found.unlikely = found.unlikely || result.Suspicious();
    if (result.Passed()) continue;
    found.outside = true;
    found.what += " " + std::to_string(result.outside) + " of " + result.tensor;
  }
  return found;
}

// One variant, with or without a bug, on one case: what each tier finds.
class Bench {
 public:
  Bench(const ScanVariant& variant, ScanDial dial)
      : variant_(variant), emulator_(variant, dial) {}

  // Errors: the case cannot be opened. `kept`: of the call before, if any.
  Result<Found> Envelope(const Case& c) {
    auto trial = Open(c, variant_.numeric);
    if (!trial.ok()) return trial.status();
    auto outputs = trial.value()->Allocate(0);
    if (!outputs.ok()) return outputs.status();
    Emulate(*trial.value(), outputs.value(), &emulator_);
    return Judge(
        *trial.value()->Envelope(variant_.numeric, AllRows(*trial.value()), 1),
        outputs.value());
  }

  Result<Found> Probes(const Case& c, std::optional<size_t> which) {
    Found found;
    const auto probes = Mamba3ScanTrial::ProbeCases(c, variant_.numeric);
    for (size_t n = 0; n < probes.size(); ++n) {
      if (which && n != *which % probes.size()) continue;
      auto trial = Open(probes[n], variant_.numeric);
      if (!trial.ok()) return trial.status();
      const auto allowed =
          trial.value()->Probe(variant_.numeric, AllRows(*trial.value()));
      if (allowed == nullptr) continue;
      auto outputs = trial.value()->Allocate(0);
      if (!outputs.ok()) return outputs.status();
      Emulate(*trial.value(), outputs.value(), &emulator_);
      const Found one = Judge(*allowed, outputs.value());
      ++probes_;
      if (one.outside) return one;
    }
    return found;
  }

  // Written, and the same again.
  Result<bool> Invariant(const Case& c) {
    auto trial = Open(c, variant_.numeric);
    if (!trial.ok()) return trial.status();
    auto first = trial.value()->Allocate(0);
    auto second = trial.value()->Allocate(0);
    if (!first.ok()) return first.status();
    if (!second.ok()) return second.status();
    PoisonOutputs(first.value(), kFirstPoison);
    PoisonOutputs(second.value(), kSecondPoison);
    Emulate(*trial.value(), first.value(), &emulator_);
    Emulate(*trial.value(), second.value(), &emulator_);
    bool sound = true;
    for (const Comparison& comparison :
         FindUnwritten(*trial.value(), first.value(), second.value())) {
      sound = sound && comparison.unwritten == 0;
    }
    return sound;
  }

  int64_t probes() const { return probes_; }

 private:
  ScanVariant variant_;
  ScanEmulator emulator_;
  int64_t probes_ = 0;
};

// One sequence, its last call judged.
Status TryOnce(const std::vector<Case>& sequence, Bench* bench, KillRow* row) {
  const auto kill = [&](ProofTier tier) {
    row->killed[static_cast<size_t>(tier)] = true;
  };
  for (size_t i = 0; i < sequence.size(); ++i) {
    const Result<Found> found = bench->Envelope(sequence[i]);
    if (!found.ok()) return found.status();
    if (i + 1 == sequence.size() && found->outside) {
      kill(ProofTier::kEnvelope);
    }
  }
  const Result<bool> invariant = bench->Invariant(sequence.back());
  if (!invariant.ok()) return invariant.status();
  if (!invariant.value()) kill(ProofTier::kInvariance);
  const Result<Found> probes = bench->Probes(sequence.back(), std::nullopt);
  if (!probes.ok()) return probes.status();
  if (probes->outside) kill(ProofTier::kProbes);
  return {};
}

}  // namespace

Result<KillRow> TryScanMutant(const MutantInfo& info,
                              const SelftestOptions& options) {
  const Clock::time_point start = Clock::now();
  const Result<Mutant> mutant = ParseMutant(info.name);
  if (!mutant.ok()) return mutant.status();
  Result<std::vector<Case>> sequence = ParseCaseSequence(info.pattern);
  if (!sequence.ok()) return sequence.status();
  Bench bench(mutant->scan, mutant->scan_dial);
  KillRow row;
  row.mutant = &info;
  for (int64_t v = 0;
       v <= options.variations && SecondsSince(start) < options.seconds_each;
       ++v) {
    for (Case& c : sequence.value()) {
      if (v > 0) c.seed += 1 + options.seed;
    }
    const bool killed_before = row.Killed();
    if (!killed_before) ++row.cases;
    const Status status = TryOnce(sequence.value(), &bench, &row);
    if (!status.ok()) return status;
    if (row.Killed() && !killed_before) {
      row.seconds = SecondsSince(start);
      row.by = MinimalLine(sequence.value());
    }
    if (row.killed[static_cast<size_t>(ProofTier::kEnvelope)] &&
        row.envelope_by.empty()) {
      row.envelope_by = MinimalLine(sequence.value());
    }
  }
  return row;
}

bool IsStructural(const MutantInfo& info) {
  const std::string_view family = info.family;
  // Axes are only exchanged where they have one length.
  return !info.attention() && family != "numeric" && family != "cheat" &&
         info.scan_fault != ScanFault::kTimeHeadSwapped;
}

Result<Case> ScanCaseAt(const MutantInfo& info, int64_t length) {
  Result<Case> c = ParseCase(info.pattern);
  if (!c.ok()) return c;
  Mamba3ScanCase& scan = c->Get<Mamba3ScanCase>();
  Mamba3ScanProblem& p = scan.problem;
  // What is odd or ragged in the pattern stays so.
  p.length = length + p.length % 4;
  p.state_dim = 16 + p.state_dim % 2;
  p.angles = p.state_dim / 4;
  p.heads = std::max<int64_t>(p.heads, 2);
  for (auto& row : scan.seg.rows) {
    // The first run ends within a chunk where it did, the last one has what
    // remains; between them nothing changes.
    row.front().length += length / 2 / 64 * 64;
    int64_t rest = p.length;
    for (SegmentRun& run : row) {
      if (&run == &row.back()) run.length = rest;
      rest -= run.length;
    }
  }
  return c;
}

Result<KillRow> TryScanMutantAt(const MutantInfo& info, int64_t length,
                                uint64_t seed) {
  const Result<Mutant> mutant = ParseMutant(info.name);
  if (!mutant.ok()) return mutant.status();
  Result<Case> c = ScanCaseAt(info, length);
  if (!c.ok()) return c.status();
  c->seed = seed;
  Bench bench(mutant->scan, mutant->scan_dial);
  KillRow row;
  row.mutant = &info;
  row.cases = 1;
  const Result<Found> probes = bench.Probes(c.value(), std::nullopt);
  if (!probes.ok()) return probes.status();
  row.killed[static_cast<size_t>(ProofTier::kProbes)] = probes->outside;
  row.by = MinimalLine(c.value());
  if (probes->outside) return row;
  const Result<Found> found = bench.Envelope(c.value());
  if (!found.ok()) return found.status();
  row.killed[static_cast<size_t>(ProofTier::kEnvelope)] = found->outside;
  return row;
}

ZooOutcome TryScanZooCase(const ScanVariant& variant, Case c,
                          std::optional<size_t> probe) {
  ZooOutcome outcome;
  Suit(variant, &c);
  Bench bench(variant, {});
  const Result<Found> found = bench.Envelope(c);
  if (!found.ok()) return outcome;
  const Result<Found> probes = bench.Probes(c, probe);
  if (!probes.ok()) return outcome;
  outcome.judged = true;
  outcome.probes = bench.probes();
  outcome.unlikely = found->unlikely;
  outcome.outside = found->outside || probes->outside;
  outcome.alarm = {variant.name(), MinimalLine(c), found->what + probes->what};
  return outcome;
}

}  // namespace lockstep::verify
