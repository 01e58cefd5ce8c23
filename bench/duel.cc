#include "bench/duel.h"

#include <algorithm>
#include <cmath>

namespace lockstep::bench {
namespace {

constexpr double kShown = 0.95;  // confidence of intervals that are shown
// With so many pairs, all of one sign, chance is 2 / 2^20.
constexpr int64_t kLeastPairs = 20;
constexpr int64_t kMostPairs = 150;
constexpr double kBlockSeconds = 0.02;
constexpr int64_t kLeastCalls = 3;
constexpr int64_t kMostCalls = 2000;

// Seconds of the fastest of so many calls.
Result<double> TimeBlock(Row* row, int64_t calls) {
  double best = INFINITY;
  for (int64_t n = 0; n < calls; ++n) {
    const Result<double> seconds = row->TimeOnce();
    if (!seconds.ok()) return seconds;
    best = std::min(best, seconds.value());
  }
  return best;
}

Claim ClaimOf(double logarithm, bool shown, const Interval& interval,
              double floor) {
  if (shown && std::fabs(logarithm) >= std::log1p(floor)) {
    return logarithm < 0 ? Claim::kFaster : Claim::kSlower;
  }
  const bool inside =
      interval.low > -std::log1p(floor) && interval.high < std::log1p(floor);
  return inside ? Claim::kTie : Claim::kUndecided;
}

Interval Changes(const Interval& logarithms) {
  return {std::expm1(logarithms.low), std::expm1(logarithms.high)};
}

}  // namespace

const char* ClaimName(Claim claim) {
  switch (claim) {
    case Claim::kFaster:
      return "faster";
    case Claim::kSlower:
      return "slower";
    case Claim::kTie:
      return "tie";
    case Claim::kUndecided:
      break;
  }
  return "undecided";
}

Told Tell(const std::vector<double>& logarithms, const Thresholds& thresholds) {
  Told told;
  told.pairs = logarithms.size();
  if (logarithms.empty()) return told;
  const double centre = CentreOf(logarithms);
  const Interval interval = MedianInterval(logarithms, kShown);
  told.change = std::expm1(centre);
  told.interval = Changes(interval);
  told.chance = SignedRank(logarithms);
  // An interval of few pairs is whatever they were.
  if (told.pairs < static_cast<size_t>(kLeastPairs)) return told;
  told.claim = ClaimOf(centre, told.chance < thresholds.chance, interval,
                       thresholds.floor);
  return told;
}

Told TellApart(const std::vector<double>& baseline,
               const std::vector<double>& candidate,
               const Thresholds& thresholds) {
  Told told;
  told.pairs = std::min(baseline.size(), candidate.size());
  if (told.pairs == 0) return told;
  const double confidence = 1 - thresholds.chance;
  const Interval a = MedianInterval(baseline, confidence);
  const Interval b = MedianInterval(candidate, confidence);
  const double centre = std::log(MedianOf(candidate) / MedianOf(baseline));
  const Interval ratio = {std::log(b.low / a.high), std::log(b.high / a.low)};
  told.change = std::expm1(centre);
  told.interval = Changes(ratio);
  const bool apart = ratio.low > 0 || ratio.high < 0;
  // Two files say nothing about chance: between two runs a machine changes.
  told.chance = apart ? thresholds.chance : 1;
  if (told.pairs < static_cast<size_t>(kLeastPairs)) return told;
  told.claim = ClaimOf(centre, apart, ratio, thresholds.floor);
  return told;
}

DuelPlan PlanDuel(double call_seconds, double seconds) {
  const double call = std::max(call_seconds, 1e-7);
  DuelPlan plan;
  plan.calls =
      std::clamp<int64_t>(static_cast<int64_t>(std::ceil(kBlockSeconds / call)),
                          kLeastCalls, kMostCalls);
  const auto fit = [&] {
    return static_cast<int64_t>(seconds /
                                (2 * call * static_cast<double>(plan.calls)));
  };
  while (plan.calls > 1 && fit() < kLeastPairs) --plan.calls;
  plan.pairs = std::clamp(fit(), kLeastPairs, kMostPairs);
  return plan;
}

Duel Fight(Row* baseline, Row* candidate, double seconds, Dice* dice,
           const std::atomic<bool>* stop) {
  Duel duel;
  duel.line = baseline->scene().line;
  const DuelPlan plan = PlanDuel(
      (baseline->wall_seconds() + candidate->wall_seconds()) / 2, seconds);
  std::vector<double> times[2];
  for (int64_t n = 0; n < plan.pairs; ++n) {
    if (stop != nullptr && *stop) break;
    for (const size_t side : dice->Order(2)) {
      Row* row = side == 0 ? baseline : candidate;
      const Result<double> block = TimeBlock(row, plan.calls);
      if (!block.ok()) duel.broken = row->spec() + ": " + block.message();
      if (!block.ok()) return duel;
      times[side].push_back(block.value());
    }
    duel.logarithms.push_back(std::log(times[1].back() / times[0].back()));
  }
  if (times[0].empty()) return duel;
  duel.baseline_seconds = MedianOf(times[0]);
  duel.candidate_seconds = MedianOf(times[1]);
  return duel;
}

}  // namespace lockstep::bench
