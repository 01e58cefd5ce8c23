// Two kernels on one case, call against call: which one is faster, if that can
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

// A block is the fastest of some calls, so that a neighbour who comes for one
// of them leaves no trace; a pair is a block of each, in an order that is
// drawn.
struct DuelPlan {
  int64_t pairs = 0;
  int64_t calls = 0;  // a block
};
// For a call that takes so long, within about so many seconds. Never fewer
// pairs than can tell anything.
DuelPlan PlanDuel(double call_seconds, double seconds);

struct Duel {
  std::string line;
  std::vector<double> logarithms;
  double baseline_seconds = 0;  // medians of blocks
  double candidate_seconds = 0;
  std::string broken;  // one line: why it could not go on
};
// Requires: both are verified, and neither is refused. `stop` may be null.
Duel Fight(Row* baseline, Row* candidate, double seconds, Dice* dice,
           const std::atomic<bool>* stop);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_DUEL_H_
