// What the gate tells of times that are made up from a seed, on a machine made
// up with them: neighbours that come and go, long tails, drift. No clock.
#include "bench/duel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bench/statistics.h"

namespace lockstep::bench {
namespace {

// A core that others use, too, as recorded with eight programs on two cores: a
// call waits for its turn up to ten times as long as it takes, and what it then
// takes itself depends on what is left in the caches. Neighbours of the virtual
// machine come and go for stretches of calls, and the clock drifts by 5 %.
class NoisyMachine {
 public:
  explicit NoisyMachine(uint64_t seed) : dice_(seed) {}

  Turn Call(double seconds) {
    ++calls_;
    if (Uniform() < 0.02) neighbour_ = Uniform() < 0.5 ? 0 : 0.2 * Uniform();
    const double drift = 0.05 * std::sin(static_cast<double>(calls_) / 900);
    // 6 % to both sides in the middle, and a tail to one.
    const double caches = 0.12 * (Uniform() + Uniform() + Uniform()) +
                          (Uniform() < 0.05 ? 0.5 * Uniform() : 0);
    Turn turn;
    turn.processor = seconds * (1 + neighbour_ + drift + caches);
    turn.seconds = turn.processor * (1 + 9 * Uniform() * Uniform());
    turn.alone = true;
    return turn;
  }
  // As Fight does it.
  std::vector<Round> Rounds(double baseline, double candidate, size_t count) {
    std::vector<Round> rounds(count);
    for (Round& round : rounds) {
      for (const size_t side : dice_.Order(2)) {
        round.turns[side] = Call(side == 0 ? baseline : candidate);
      }
    }
    return rounds;
  }
  Told Compare(double candidate, size_t count, Clock clock = Clock::kProcessor,
               const Thresholds& thresholds = {}) {
    return Tell(PairUp(Rounds(1, candidate, count), clock), thresholds);
  }

 private:
  double Uniform() { return static_cast<double>(dice_.Next() >> 11) * 0x1p-53; }
  Dice dice_;
  int64_t calls_ = 0;
  double neighbour_ = 0;
};

// Of 15 seconds, with a call that takes 12 ms and 60 ms until it is done; and
// of one that takes 1 ms.
constexpr size_t kFewRounds = 120;
constexpr size_t kManyRounds = 1200;

TEST(PairUp, TakesTheFastestOfNeighbouringRounds) {
  std::vector<Round> rounds(450);
  for (size_t n = 0; n < rounds.size(); ++n) {
    const double slow = n % 3 == 1 ? 1 : 7;
    rounds[n].turns[0] = {slow, 100 * slow, true};
    rounds[n].turns[1] = {2 * slow + static_cast<double>(n % 3), 50 * slow,
                          true};
  }
  EXPECT_EQ(PairUp(rounds, Clock::kWall),
            std::vector<double>(150, std::log(3.0)));
  EXPECT_EQ(PairUp(rounds, Clock::kProcessor),
            std::vector<double>(150, std::log(0.5)));
  // Few are pairs by themselves, and never are there more than can be ranked.
  rounds.resize(299);
  EXPECT_EQ(PairUp(rounds, Clock::kWall).size(), 299u);
  for (const size_t count : {300, 301, 449, 1000, 99999}) {
    rounds.resize(count);
    EXPECT_GE(PairUp(rounds, Clock::kWall).size(), 150u) << count;
    EXPECT_LT(PairUp(rounds, Clock::kWall).size(), 300u) << count;
  }
}

TEST(PairUp, AsksNobodyWhichKernelIsWhich) {
  std::vector<Round> rounds = NoisyMachine(5).Rounds(1, 1.05, kManyRounds);
  const std::vector<double> there = PairUp(rounds, Clock::kProcessor);
  for (Round& round : rounds) std::swap(round.turns[0], round.turns[1]);
  const std::vector<double> back = PairUp(rounds, Clock::kProcessor);
  ASSERT_EQ(there.size(), back.size());
  for (size_t n = 0; n < there.size(); ++n) {
    EXPECT_NEAR(there[n], -back[n], 1e-12) << n;
  }
}

TEST(ClockFor, IsTheWallWhereKernelsWait) {
  std::vector<Round> rounds = NoisyMachine(6).Rounds(1, 1, 100);
  EXPECT_EQ(ClockFor(rounds), Clock::kProcessor);
  for (size_t n = 0; n < 10; ++n) rounds[n].turns[1].alone = false;
  EXPECT_EQ(ClockFor(rounds), Clock::kProcessor);
  rounds[10].turns[0].alone = false;
  EXPECT_EQ(ClockFor(rounds), Clock::kWall);
}

TEST(Tell, MakesNoClaimOfOneKernelAgainstItself) {
  for (uint64_t run = 0; run < 50; ++run) {
    for (const size_t rounds : {kFewRounds, kManyRounds}) {
      const Told told = NoisyMachine(1000 + run).Compare(1, rounds);
      EXPECT_NE(told.claim, Claim::kFaster) << run;
      EXPECT_NE(told.claim, Claim::kSlower) << run;
    }
  }
}

// As often as it says, with thresholds at which that shows; no oftener where
// rounds are put together.
TEST(Tell, ClaimsByChanceAsOftenAsItSays) {
  for (const size_t rounds : {size_t{60}, size_t{600}}) {
    int claims = 0;
    constexpr int kRuns = 1000;
    for (uint64_t run = 0; run < kRuns; ++run) {
      const Told told =
          NoisyMachine(5000 + run)
              .Compare(1, rounds, Clock::kProcessor, {0.05, 1e-9});
      claims += told.claim == Claim::kFaster || told.claim == Claim::kSlower;
    }
    EXPECT_GE(claims, kRuns * 0.03) << rounds;
    EXPECT_LE(claims, kRuns * 0.07) << rounds;
  }
}

// A claim needs the floor as well: 1.5 % is shown, and is none.
TEST(Tell, LeavesOutWhatIsBelowTheFloor) {
  for (uint64_t run = 0; run < 20; ++run) {
    const Told told = NoisyMachine(2000 + run).Compare(1.015, 20 * kManyRounds);
    EXPECT_LT(told.chance, 1e-4) << run;
    EXPECT_NE(told.claim, Claim::kSlower) << run;
  }
}

struct Right {
  int slower = 0, faster = 0;  // of 40 each
};
Right TellFivePercent(size_t rounds, Clock clock) {
  Right right;
  for (uint64_t run = 0; run < 40; ++run) {
    NoisyMachine machine(3000 + run);
    const Told loss = machine.Compare(1.05, rounds, clock);
    right.slower += loss.claim == Claim::kSlower ? 1 : 0;
    EXPECT_NE(loss.claim, Claim::kFaster);
    const Told win = machine.Compare(0.95, rounds, clock);
    right.faster += win.claim == Claim::kFaster ? 1 : 0;
    EXPECT_NE(win.claim, Claim::kSlower);
  }
  return right;
}

TEST(Tell, TellsFivePercentApart) {
  for (const size_t rounds : {kFewRounds, kManyRounds}) {
    const Right right = TellFivePercent(rounds, Clock::kProcessor);
    EXPECT_GE(right.slower, 38) << rounds;
    EXPECT_GE(right.faster, 38) << rounds;
  }
}

// What processor time is for: the machine is too noisy for the other clock.
TEST(Tell, TellsLittleByTheWall) {
  const Right right = TellFivePercent(kFewRounds, Clock::kWall);
  EXPECT_LE(right.slower + right.faster, 20);
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
