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
// machine come and go for stretches of calls, and the clock drifts by 5 %. A
// process is up to `spread` slower than another one of the same program, and
// for some ten calls at a time all is slower by `sibling`: somebody else has
// the other thread of the core (1.45 ms became 2.4).
class NoisyMachine {
 public:
  explicit NoisyMachine(uint64_t seed, double spread = 0.02, double sibling = 0)
      : dice_(seed), spread_(spread), sibling_(sibling) {
    Start();
  }

  // As Fight does it. `anew`: both are started for each bout.
  std::vector<Bout> Bouts(double baseline, double candidate, size_t rounds,
                          bool anew = true) {
    std::vector<Bout> bouts(40, Bout(rounds));
    for (Bout& bout : bouts) {
      if (anew) Start();
      for (Round& round : bout) {
        for (const size_t side : dice_.Order(2)) {
          round.turns[side] =
              Call((side == 0 ? baseline : candidate) * process_[side]);
        }
      }
    }
    return bouts;
  }
  Told Compare(double candidate, size_t rounds, Clock clock = Clock::kProcessor,
               const Thresholds& thresholds = {}, bool anew = true) {
    std::vector<double> logarithms;
    for (const Bout& bout : Bouts(1, candidate, rounds, anew)) {
      logarithms.push_back(LogarithmOf(bout, clock));
    }
    return Tell(logarithms, thresholds);
  }

 private:
  void Start() {
    for (double& process : process_) process = 1 + spread_ * Uniform();
  }
  Turn Call(double seconds) {
    ++calls_;
    if (Uniform() < 0.1) shared_ = Uniform() < 0.5;
    if (Uniform() < 0.02) neighbour_ = Uniform() < 0.5 ? 0 : 0.2 * Uniform();
    const double drift = 0.05 * std::sin(static_cast<double>(calls_) / 900);
    // Pairs scatter by 6 %, and there is a tail to one side.
    const double caches = 0.09 * (Uniform() + Uniform() + Uniform()) +
                          (Uniform() < 0.05 ? 0.5 * Uniform() : 0);
    Turn turn;
    turn.processor = seconds * (1 + neighbour_ + drift + caches) *
                     (shared_ ? 1 + sibling_ : 1);
    turn.seconds = turn.processor * (1 + 9 * Uniform() * Uniform());
    turn.alone = true;
    return turn;
  }
  double Uniform() { return static_cast<double>(dice_.Next() >> 11) * 0x1p-53; }
  Dice dice_;
  double spread_;
  double sibling_;
  bool shared_ = false;
  int64_t calls_ = 0;
  double neighbour_ = 0;
  double process_[2] = {};
};

// Of half a second, with a call that takes 12 ms and 60 ms until it is
// done; and of one that takes 1 ms.
constexpr size_t kFewRounds = 4;
constexpr size_t kManyRounds = 40;

TEST(LogarithmOf, IsTheMedianOfTheRounds) {
  const Bout bout = {{{{1, 8, true}, {3, 4, true}}},
                     {{{7, 9, true}, {7, 9, true}}},
                     {{{1, 1, true}, {9, 0.1, true}}}};
  EXPECT_DOUBLE_EQ(LogarithmOf(bout, Clock::kWall), std::log(3.0));
  EXPECT_DOUBLE_EQ(LogarithmOf(bout, Clock::kProcessor), std::log(0.5));
}

TEST(LogarithmOf, AsksNobodyWhichKernelIsWhich) {
  for (const size_t rounds : {1, 2, 7, 50, 301}) {
    Bout bout = NoisyMachine(5).Bouts(1, 1.05, rounds)[0];
    const double there = LogarithmOf(bout, Clock::kProcessor);
    for (Round& round : bout) std::swap(round.turns[0], round.turns[1]);
    EXPECT_NEAR(LogarithmOf(bout, Clock::kProcessor), -there, 1e-12) << rounds;
  }
}

TEST(ClockFor, IsTheWallWhereKernelsWait) {
  std::vector<Bout> bouts = {Bout(50), Bout(50)};
  for (Bout& bout : bouts) {
    for (Round& round : bout) {
      for (Turn& turn : round.turns) turn.alone = true;
    }
  }
  EXPECT_EQ(ClockFor(bouts), Clock::kProcessor);
  for (size_t n = 0; n < 10; ++n) bouts[1][n].turns[1].alone = false;
  EXPECT_EQ(ClockFor(bouts), Clock::kProcessor);
  bouts[0][10].turns[0].alone = false;
  EXPECT_EQ(ClockFor(bouts), Clock::kWall);
}

bool Claims(const Told& told) {
  return told.claim == Claim::kFaster || told.claim == Claim::kSlower;
}

TEST(Tell, MakesNoClaimOfOneKernelAgainstItself) {
  for (uint64_t run = 0; run < 50; ++run) {
    for (const size_t rounds : {kFewRounds, kManyRounds}) {
      EXPECT_FALSE(Claims(NoisyMachine(1000 + run).Compare(1, rounds))) << run;
    }
  }
}

// What starts are for: two processes of one program differ by as much, where
// each stays on a core of its own.
TEST(Tell, WouldMakeClaimsOfProcessesThatAreStartedOnce) {
  int claims = 0;
  for (uint64_t run = 0; run < 50; ++run) {
    claims +=
        Claims(NoisyMachine(1000 + run, 0.09)
                   .Compare(1, kManyRounds, Clock::kProcessor, {}, false));
  }
  EXPECT_GE(claims, 5);
}

// As often as it says, with thresholds at which that shows.
TEST(Tell, ClaimsByChanceAsOftenAsItSays) {
  for (const size_t rounds : {kFewRounds, kManyRounds}) {
    int claims = 0;
    constexpr int kRuns = 1000;
    for (uint64_t run = 0; run < kRuns; ++run) {
      claims +=
          Claims(NoisyMachine(5000 + run, 0)
                     .Compare(1, rounds, Clock::kProcessor, {0.05, 1e-9}));
    }
    EXPECT_GE(claims, kRuns * 0.03) << rounds;
    EXPECT_LE(claims, kRuns * 0.07) << rounds;
  }
}

// A claim needs the floor as well: 1 % is shown, and is none.
TEST(Tell, LeavesOutWhatIsBelowTheFloor) {
  int shown = 0;
  for (uint64_t run = 0; run < 20; ++run) {
    const Told told = NoisyMachine(2000 + run).Compare(1.01, kManyRounds);
    shown += told.chance < 0.05 ? 1 : 0;
    EXPECT_FALSE(Claims(told)) << run;
  }
  EXPECT_GE(shown, 10);
}

struct Right {
  int slower = 0, faster = 0;  // of 40 each
};
Right TellFivePercent(size_t rounds, Clock clock, double sibling = 0) {
  Right right;
  for (uint64_t run = 0; run < 40; ++run) {
    NoisyMachine machine(3000 + run, 0.02, sibling);
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

TEST(Tell, TellsFivePercentApartBesideASibling) {
  const Right right = TellFivePercent(2 * kManyRounds, Clock::kProcessor, 0.65);
  EXPECT_GE(right.slower, 38);
  EXPECT_GE(right.faster, 38);
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
