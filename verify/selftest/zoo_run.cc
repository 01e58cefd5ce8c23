#include "verify/selftest/zoo_run.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/attention_forward.h"
#include "verify/case/attention_forward/case.h"
#include "verify/domain/domain.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/inputs/attention_forward_outputs.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/registry/ops.h"
#include "verify/selftest/attention_forward_scene.h"
#include "verify/selftest/lengths/cases.h"
#include "verify/selftest/mamba3_scan.h"
#include "verify/selftest/pool.h"

namespace lockstep::verify {
namespace {

using Clock = std::chrono::steady_clock;

// Cases between two words about progress; their outcomes are kept meanwhile.
constexpr int64_t kBlock = 1000;
constexpr size_t kMostAlarms = 20;

uint64_t SeedOf(const SelftestOptions& options, int64_t n) {
  return options.seed * 1000003 + static_cast<uint64_t>(n);
}

// One probe of the case, another from case to case.
void TryProbe(const Case& c, const AttentionVariant& variant, uint64_t seed,
              ZooOutcome* outcome) {
  const auto probes = AttentionForwardTrial::ProbeCases(c, variant.numeric);
  if (probes.empty()) return;
  const Result<Scene> scene =
      OpenScene(probes[static_cast<size_t>(seed % probes.size())]);
  if (!scene.ok()) return;
  AttentionEmulator emulator(variant);
  const Result<Buffers> out = Emulate(scene.value(), &emulator);
  if (!out.ok()) return;
  ++outcome->probes;
  const EnvelopeVerdict probe =
      JudgeByProbe(scene.value(), variant.numeric, out.value());
  outcome->outside = outcome->outside || probe.outside;
  outcome->alarm.what += probe.what;
}

ZooOutcome TryCase(const AttentionVariant& variant, const Case& c,
                   uint64_t seed) {
  ZooOutcome outcome;
  Result<Scene> scene = OpenScene(c);
  if (!scene.ok()) return outcome;
  AttentionEmulator emulator(variant);
  const Result<Buffers> out = Emulate(scene.value(), &emulator);
  if (!out.ok()) return outcome;
  const EnvelopeVerdict verdict =
      JudgeByEnvelope(scene.value(), variant.numeric, out.value(), nullptr);
  outcome.outside = verdict.outside;
  outcome.unlikely = verdict.unlikely;
  outcome.alarm = {variant.name(), MinimalLine(c), verdict.what};
  if (variant.numeric.exact) {
    Result<Buffers> want = AllocateOutputs(c.Get<AttentionForwardCase>(), 0);
    if (!want.ok()) return outcome;
    const Status done = reference::AttentionForward(
        scene->data.problem, scene->data.inputs, want->view());
    if (!done.ok()) return outcome;
    if (Bits(scene->data.problem, out.value()) !=
        Bits(scene->data.problem, want.value())) {
      outcome.outside = true;
      outcome.alarm.what += " bits differ";
    }
  }
  outcome.judged = true;
  TryProbe(c, variant, seed, &outcome);
  return outcome;
}

void Count(ZooOutcome outcome, SelftestResult* result) {
  if (!outcome.judged) return;
  ++result->zoo_cases;
  result->zoo_probes += outcome.probes;
  result->statistics_false_alarms += outcome.unlikely ? 1 : 0;
  if (!outcome.outside) return;
  ++result->proof_false_alarms;
  if (result->alarms.size() < kMostAlarms) {
    result->alarms.push_back(std::move(outcome.alarm));
  }
}

// Cases 0 ... cases - 1, counted in their order.
void TryMany(const SelftestOptions& options, int64_t cases, const char* name,
             const std::function<ZooOutcome(int64_t)>& one,
             SelftestResult* result) {
  const Clock::time_point start = Clock::now();
  for (int64_t first = 0; first < cases; first += kBlock) {
    const int64_t count = std::min(kBlock, cases - first);
    std::vector<ZooOutcome> outcomes(static_cast<size_t>(count));
    ForEach(count, options.threads, [&](int64_t n) {
      outcomes[static_cast<size_t>(n)] = one(first + n);
    });
    for (ZooOutcome& outcome : outcomes) Count(std::move(outcome), result);
    if (options.progress) {
      options.progress(std::string(name) + " " + std::to_string(first + count));
    }
  }
  result->zoo_seconds +=
      std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

int64_t ScanZooCases(const SelftestOptions& options) {
  return options.attention ? options.zoo_cases / 2 : options.zoo_cases;
}

void TryAttentionZoo(const SelftestOptions& options, SelftestResult* result) {
  const auto variants = AttentionZoo();
  result->zoo_variants += static_cast<int64_t>(variants.size());
  const auto one = [&](int64_t n) {
    const AttentionVariant& variant =
        variants[static_cast<size_t>(n) % variants.size()];
    const uint64_t seed = SeedOf(options, n);
    if (options.zoo_keys == 0) {
      return TryCase(variant,
                     TameCase(*FindDomain("attention_forward").value(), seed,
                              variant.numeric.lane),
                     seed);
    }
    const Result<Case> c =
        ParseCase(AttentionLineAt(seed, options.zoo_keys, variant.numeric));
    return c.ok() && ValidateCase(c.value()).ok()
               ? TryCase(variant, c.value(), seed)
               : ZooOutcome{};
  };
  TryMany(options, options.zoo_cases, "zoo", one, result);
}

void TryScanZoo(const SelftestOptions& options, int64_t cases,
                SelftestResult* result) {
  const auto variants = ScanZoo();
  result->zoo_variants += static_cast<int64_t>(variants.size());
  const auto one = [&](int64_t n) {
    const ScanVariant& variant =
        variants[static_cast<size_t>(n) % variants.size()];
    const uint64_t seed = SeedOf(options, n);
    const bool is_long =
        options.zoo_keys == 0 && n % kLongEvery == kLongEvery - 1;
    std::string line = SmallScanLine(seed, variant.numeric.lane);
    if (is_long) line = LongScanLine(seed, variant.numeric.lane);
    if (options.zoo_keys > 0) {
      line = ScanLineAt(seed, options.zoo_keys, variant.numeric);
    }
    Result<Case> c = ParseCase(line);
    if (!c.ok()) return ZooOutcome{};
    return TryScanZooCase(variant, std::move(c.value()),
                          is_long ? std::nullopt : std::optional<size_t>(seed));
  };
  TryMany(options, cases, "scan zoo", one, result);
}

}  // namespace lockstep::verify
