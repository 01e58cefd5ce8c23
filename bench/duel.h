// Two kernels on one case, turn against turn: which one is faster, if that can
// be told.
#ifndef LOCKSTEP_BENCH_DUEL_H_
#define LOCKSTEP_BENCH_DUEL_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/row.h"
#include "bench/statistics.h"

namespace lockstep::bench {

struct Thresholds {
  double chance = 1e-4;  // of a claim where there is no difference
  double floor = 0.02;   // smaller differences are none
};

enum class Claim : uint8_t {
  kFaster,     // the candidate is, by the floor or more
  kSlower,     // likewise
  kTie,        // the interval lies inside the floor
  kUndecided,  // neither is shown
};
const char* ClaimName(Claim claim);

// What pairs of times say. `change`: of the candidate's time against the
// baseline's, - 0.05 is 5 % less.
struct Told {
  Claim claim = Claim::kUndecided;
  double change = 0;
  Interval interval;  // of the median change, 95 %
  double chance = 1;  // of SignedRank
  size_t pairs = 0;
};
// logarithms: of the candidate's time over the baseline's, one a pair, whose
// order was drawn. Too few to tell anything are undecided.
Told Tell(const std::vector<double>& logarithms, const Thresholds& thresholds);

// Of two files of rows that were not measured in turns: a claim needs intervals
// that do not meet, each at 1 - chance, and `floor`.
Told TellApart(const std::vector<double>& baseline,
               const std::vector<double>& candidate,
               const Thresholds& thresholds);

// A kernel's turn: the fastest of some calls, on each clock.
struct Turn {
  double seconds = 0;
  double processor = 0;
  bool alone = false;  // all of them (CallTimes)
};
// A turn of each, in an order that was drawn.
struct Round {
  Turn turns[2];  // baseline, candidate
};

// By which clock two kernels are compared. On cores that others use, too, a
// call waits for its turn several times as long as it takes, but that is no
// part of processor time; where a kernel has threads or waits for a device, the
// clock on the wall alone tells what it takes.
enum class Clock : uint8_t { kWall, kProcessor };
const char* ClockName(Clock clock);
Clock ClockFor(const std::vector<Round>& rounds);

// Logarithms of the candidate's time over the baseline's, one a pair. A pair
// is made of neighbouring rounds, as many as leave about 150 pairs: the fastest
// turn of each kernel in them, so that what neighbours leave in the caches
// counts in few. Each round's order is a coin's of its own, and no step here
// asks which kernel is which, so that the signs are coins' if they are the
// same.
std::vector<double> PairUp(const std::vector<Round>& rounds, Clock clock);

struct Duel {
  std::string line;
  Clock clock = Clock::kWall;
  std::vector<double> logarithms;
  double baseline_seconds = 0;  // medians of turns, by that clock
  double candidate_seconds = 0;
  std::string broken;  // one line: why it could not go on
};
// Rounds for about so many seconds, and never fewer than can tell anything.
// Requires: both are verified, and neither is refused. `stop` may be null.
Duel Fight(Row* baseline, Row* candidate, double seconds, Dice* dice,
           const std::atomic<bool>* stop);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_DUEL_H_
