// What the gate tells of times that are made up from a seed, on a machine made
// up with them: neighbours that come and go, long tails, drift. No clock.
#include "bench/duel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/statistics.h"

namespace lockstep::bench {
namespace {

// Two cores that others use, too: a neighbour takes up to 40 % for stretches of
// calls, one call in twenty is interrupted, and the clock drifts by 5 %.
class NoisyMachine {
 public:
  explicit NoisyMachine(uint64_t seed) : dice_(seed) {}

  double Call(double seconds) {
    ++calls_;
    if (Uniform() < 0.02) neighbour_ = Uniform() < 0.5 ? 0 : 0.4 * Uniform();
    const double interrupted = Uniform() < 0.05 ? 0.5 * Uniform() : 0;
    const double drift = 0.05 * std::sin(static_cast<double>(calls_) / 900);
    const double jitter = 0.01 * Uniform();
    return seconds * (1 + neighbour_ + interrupted + drift + jitter);
  }
  double Block(double seconds, int64_t calls) {
    double best = INFINITY;
    for (int64_t n = 0; n < calls; ++n) best = std::min(best, Call(seconds));
    return best;
  }
  // As Fight does it.
  std::vector<double> Pairs(double baseline, double candidate,
                            const DuelPlan& plan) {
    std::vector<double> logarithms;
    for (int64_t n = 0; n < plan.pairs; ++n) {
      double times[2] = {};
      for (const size_t side : dice_.Order(2)) {
        times[side] = Block(side == 0 ? baseline : candidate, plan.calls);
      }
      logarithms.push_back(std::log(times[1] / times[0]));
    }
    return logarithms;
  }

 private:
  double Uniform() { return static_cast<double>(dice_.Next() >> 11) * 0x1p-53; }
  Dice dice_;
  int64_t calls_ = 0;
  double neighbour_ = 0;
};

// Half of the default budget is for pairs; a call of 20 ms.
DuelPlan DefaultPlan() { return PlanDuel(0.02, 10); }

TEST(PlanDuel, FitsItsBudget) {
  for (const double call : {1e-6, 1e-4, 0.003, 0.02, 0.2}) {
    const DuelPlan plan = PlanDuel(call, 10);
    EXPECT_GE(plan.pairs, 20) << call;
    EXPECT_GE(plan.calls, 1) << call;
    const double all = 2 * call * static_cast<double>(plan.pairs * plan.calls);
    EXPECT_LE(all, 10 * (call < 0.2 ? 1.0 : 1.1)) << call;
  }
  // Long calls go beyond it rather than tell nothing.
  EXPECT_EQ(PlanDuel(5, 10).pairs, 20);
  EXPECT_EQ(PlanDuel(5, 10).calls, 1);
}

TEST(Tell, MakesNoClaimOfOneKernelAgainstItself) {
  for (uint64_t run = 0; run < 50; ++run) {
    NoisyMachine machine(1000 + run);
    const Told told = Tell(machine.Pairs(1, 1, DefaultPlan()), {});
    EXPECT_NE(told.claim, Claim::kFaster) << run;
    EXPECT_NE(told.claim, Claim::kSlower) << run;
  }
}

// The machine is noisy enough for that to mean something.
TEST(Tell, WouldMakeClaimsWithCarelessThresholds) {
  int claims = 0;
  for (uint64_t run = 0; run < 50; ++run) {
    NoisyMachine machine(1000 + run);
    const Told told = Tell(machine.Pairs(1, 1, DefaultPlan()), {0.3, 1e-6});
    claims += told.claim == Claim::kFaster || told.claim == Claim::kSlower;
  }
  EXPECT_GE(claims, 5);
}

// A claim needs the floor as well: 1 % is shown, and is none.
TEST(Tell, LeavesOutWhatIsBelowTheFloor) {
  for (uint64_t run = 0; run < 20; ++run) {
    NoisyMachine machine(2000 + run);
    const Told told = Tell(machine.Pairs(1, 1.01, PlanDuel(0.001, 10)), {});
    EXPECT_NE(told.claim, Claim::kSlower) << run;
  }
}

TEST(Tell, TellsFivePercentApart) {
  int slower = 0, faster = 0;
  for (uint64_t run = 0; run < 40; ++run) {
    NoisyMachine machine(3000 + run);
    const Told loss = Tell(machine.Pairs(1, 1.05, DefaultPlan()), {});
    slower += loss.claim == Claim::kSlower ? 1 : 0;
    EXPECT_NE(loss.claim, Claim::kFaster);
    const Told win = Tell(machine.Pairs(1, 0.95, DefaultPlan()), {});
    faster += win.claim == Claim::kFaster ? 1 : 0;
    EXPECT_NE(win.claim, Claim::kSlower);
  }
  EXPECT_GE(slower, 38);
  EXPECT_GE(faster, 38);
}

TEST(Tell, SaysTieOnlyInsideTheFloor) {
  std::vector<double> close(30), wide(30);
  for (size_t n = 0; n < close.size(); ++n) {
    const double sign = n % 2 == 0 ? 1 : -1;
    close[n] = sign * 0.001 * static_cast<double>(n);
    wide[n] = sign * 0.01 * static_cast<double>(n);
  }
  EXPECT_EQ(Tell(close, {}).claim, Claim::kTie);
  EXPECT_EQ(Tell(wide, {}).claim, Claim::kUndecided);
}

TEST(Tell, SaysNothingOfFewPairs) {
  EXPECT_EQ(Tell({}, {}).claim, Claim::kUndecided);
  EXPECT_EQ(Tell(std::vector<double>(19, 0.5), {}).claim, Claim::kUndecided);
  EXPECT_EQ(Tell(std::vector<double>(20, 0.5), {}).claim, Claim::kSlower);
  EXPECT_EQ(Tell(std::vector<double>(20, 0.0), {}).claim, Claim::kTie);
}

TEST(TellApart, NeedsIntervalsThatDoNotMeet) {
  std::vector<double> before, after, wide, much;
  for (int n = 0; n < 40; ++n) {
    before.push_back(1 + 0.002 * n);
    after.push_back(1.03 + 0.002 * n);
    wide.push_back(0.9 + 0.02 * n);
    much.push_back(1.2 + 0.002 * n);
  }
  const Thresholds thresholds = {1e-4, 0.05};
  EXPECT_EQ(TellApart(before, before, thresholds).claim, Claim::kTie);
  EXPECT_EQ(TellApart(before, after, thresholds).claim, Claim::kUndecided);
  // The median is 20 % higher, and nobody knows.
  EXPECT_EQ(TellApart(before, wide, thresholds).claim, Claim::kUndecided);
  EXPECT_EQ(TellApart(before, much, thresholds).claim, Claim::kSlower);
  EXPECT_EQ(TellApart(much, before, thresholds).claim, Claim::kFaster);
}

}  // namespace
}  // namespace lockstep::bench
