#include "verify/selftest/zoo/run.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/selftest/pool.h"
#include "verify/selftest/trialist.h"
#include "verify/selftest/zoo/draw.h"

namespace lockstep::verify {
namespace {

using Clock = std::chrono::steady_clock;

// Cases between two words about progress; their outcomes are kept meanwhile.
constexpr int64_t kBlock = 1000;
constexpr size_t kMostAlarms = 20;

// One kernel on one case, and on one of its probes, another from case to case;
// on all of them where the case is a long one.
ZooOutcome TryCase(const SelftestRow& op, const std::string& name,
                   const SelftestOptions& options, int64_t n) {
  ZooOutcome outcome;
  Result<Subject> subject = op.correct(name);
  if (!subject.ok()) return outcome;
  Trialist trialist(std::move(subject.value()));
  const std::optional<Case> c = DrawForZoo(op, options, trialist.profile(), n);
  if (!c) return outcome;
  const Result<Answer> answer = trialist.Run(c.value());
  if (!answer.ok()) return outcome;
  const Found found = trialist.Envelope(answer.value());
  const Found bits = trialist.exact() ? trialist.Bits(answer.value()) : Found();
  const Result<Found> probes = trialist.Probes(
      c.value(),
      IsLong(n) ? std::nullopt : std::optional<uint64_t>(ZooSeed(options, n)));
  outcome.judged = probes.ok();
  if (!probes.ok()) return outcome;
  outcome.probes = trialist.probes();
  outcome.unlikely = found.unlikely;
  outcome.outside = found.outside || bits.outside || probes->outside;
  outcome.alarm = {name, MinimalLine(c.value()),
                   found.what + bits.what + probes->what};
  return outcome;
}

void Count(ZooOutcome outcome, SelftestResult* result) {
  if (!outcome.judged) return;
  ++result->zoo_cases;
  for (auto& [key, cases] : result->zoo_with) {
    cases += LineHas(outcome.alarm.line, key);
  }
  result->zoo_probes += outcome.probes;
  if (outcome.unlikely) {
    ++result->statistics_false_alarms;
    if (result->suspicious.size() < kMostAlarms) {
      result->suspicious.push_back(outcome.alarm);
    }
  }
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
      options.progress("zoo of " + std::string(name) + " " +
                       std::to_string(first + count));
    }
  }
  result->zoo_seconds +=
      std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

void TryZoo(const SelftestRow& op, const SelftestOptions& options,
            SelftestResult* result) {
  std::vector<std::string> names = op.zoo();
  const auto unwanted = [&](const std::string& name) {
    return !options.zoo_only.empty() &&
           std::none_of(options.zoo_only.begin(), options.zoo_only.end(),
                        [&](const auto& x) { return name.starts_with(x); });
  };
  std::erase_if(names, unwanted);
  if (names.empty() || !DrawsForZoo(op, options, names)) return;
  for (const std::string& key : options.zoo_with) result->zoo_with[key];
  const auto variants = static_cast<int64_t>(names.size());
  result->zoo_variants += variants;
  const int64_t judged = result->zoo_cases;
  const int64_t accused = result->proof_false_alarms;
  const int64_t cases = options.rows.size() == 1 ? options.zoo_cases
                                                 : options.zoo_cases / op.fewer;
  TryMany(
      options, cases, op.op,
      [&](int64_t n) {
        return TryCase(op, names[static_cast<size_t>(n) % names.size()],
                       options, n);
      },
      result);
  result->zoo.push_back({op.op, variants, result->zoo_cases - judged,
                         result->proof_false_alarms - accused});
}

}  // namespace lockstep::verify
