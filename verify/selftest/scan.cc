#include "verify/selftest/scan.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "verify/emulator/scan.h"
#include "verify/op.h"
#include "verify/ops/mamba3_scan.h"
#include "verify/scan_zoo.h"
#include "verify/truth.h"

namespace lockstep::verify {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A case with its inputs.
Result<std::unique_ptr<Trial>> Open(Case c, const NumericProfile& profile) {
  auto* step = std::get_if<Mamba3StepCase>(&c.op);
  Mamba3ScanCase& scan =
      step != nullptr ? *step : std::get<Mamba3ScanCase>(c.op);
  if (profile.lane) scan.problem.lane = *profile.lane;
  const Result<Op> op = FindOp(c);
  if (!op.ok()) return op.status();
  return op->open(c, {});
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
      if (one.outside) found = one;
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

void TryScanZoo(const SelftestOptions& options, int64_t cases,
                SelftestResult* result) {
  const auto variants = ScanZoo();
  result->zoo_variants += static_cast<int64_t>(variants.size());
  for (int64_t n = 0; n < cases; ++n) {
    const ScanVariant& variant =
        variants[static_cast<size_t>(n) % variants.size()];
    const uint64_t seed = options.seed * 1000003 + static_cast<uint64_t>(n);
    const Result<Case> c = ParseCase(SmallScanLine(seed, variant.numeric.lane));
    if (!c.ok()) continue;
    Bench bench(variant, {});
    Result<Found> found = bench.Envelope(c.value());
    if (!found.ok()) continue;
    const Result<Found> probe =
        bench.Probes(c.value(), static_cast<size_t>(seed));
    if (!probe.ok()) continue;
    ++result->zoo_cases;
    result->zoo_probes += bench.probes();
    result->statistics_false_alarms += found->unlikely ? 1 : 0;
    if (options.progress && n % 1000 == 999) {
      options.progress("scan zoo " + std::to_string(n + 1));
    }
    if (!found->outside && !probe->outside) continue;
    ++result->proof_false_alarms;
    if (result->alarms.size() < 20) {
      result->alarms.push_back(
          {variant.name(), MinimalLine(c.value()), found->what + probe->what});
    }
  }
}

}  // namespace lockstep::verify
