// Compares two kernels on one case in turns, and says which one is faster, if
// the measurements show it.
#ifndef LOCKSTEP_BENCH_DUEL_H_
#define LOCKSTEP_BENCH_DUEL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/row.h"
#include "bench/statistics.h"
#include "verify/ops/kernels.h"

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

// What bouts say. `change`: of the candidate's time against the
// baseline's, - 0.05 is 5 % less.
struct Told {
  Claim claim = Claim::kUndecided;
  double change = 0;
  Interval interval;  // of the median change, 95 %
  double chance = 1;  // of SignedRank
  size_t pairs = 0;   // of logarithms, or of samples
};
// logarithms: of the candidate's time over the baseline's, one a bout. Too few
// samples are undecided.
Told Tell(const std::vector<double>& logarithms, const Thresholds& thresholds);

// For two files of rows that were not measured in turns, a claim needs
// intervals that do not overlap, each at 1 - chance, and `floor`.
Told TellApart(const std::vector<double>& baseline,
               const std::vector<double>& candidate,
               const Thresholds& thresholds);

// A kernel's turn: the fastest of some calls, on each clock.
struct Turn {
  double seconds = 0;
  double processor = 0;
  bool alone = false;  // all of them (CallTimes)
  double asked = 0;    // by the judge's clock
  verify::Teller teller = verify::Teller::kNone;
  bool apart = false;  // Row::apart()
};
// A turn of each, in an order that was drawn.
struct Round {
  Turn turns[2];  // baseline, candidate
};
// What two processes said. Of two of one build one may be slower for as long as
// it lives, by where it lies in memory, so that a thousand rounds of one start
// say no more about the kernels than one: of ten starts of one build against
// itself one was 38 % apart, and another ten were 3 % apart in all, with signs
// of rounds that a coin gives with a chance of 4e-25.
using Bout = std::vector<Round>;

// By which clock two kernels are compared. On cores that others use, too, a
// call waits for its turn several times as long as it takes, but that is no
// part of processor time; where a kernel has threads or waits for a device, the
// clock on the wall alone tells what it takes.
enum class Clock : uint8_t { kWall, kProcessor };
const char* ClockName(Clock clock);
Clock ClockFor(const std::vector<Bout>& bouts);

// Whether the times that a kernel, or its host, measures count: a told time may
// have to be left aside (IsUsed), and a host that tells none has only been
// waited for. Requires: bouts.
bool UsesOwnClocks(const std::vector<Bout>& bouts, size_t side);
// Takes the judge's clock for both kernels: a wire in the time of one alone
// would be a difference.
void TakeJudgesClock(std::vector<Bout>* bouts);

// The logarithm of the candidate's time over the baseline's in a bout: the
// median of its rounds, since whatever slows the machine for longer than a
// round is in both turns. (The fastest turns of four rounds told 5 % in 33 of
// 55 comparisons on cores whose other thread came and went.) Requires: not
// empty.
double LogarithmOf(const Bout& bout, Clock clock);

struct Duel {
  Clock clock = Clock::kWall;
  std::vector<double> logarithms;  // one a bout
  size_t starts = 0;               // of both kernels
  size_t rounds = 0;
  double baseline_seconds = 0;  // medians of turns, by that clock
  double candidate_seconds = 0;
  // What is told of each kernel's times (ToldText); empty: nothing.
  std::array<std::string, 2> told;
  // Where told times count: the same by the judge's clock.
  std::vector<double> checks;
  std::string broken;    // one line: why it could not go on
  size_t broken_by = 0;  // then the side that was asked, as Ring::open has it
};

// What a check wants to see before it says anything: processes of one build
// have been 38 % apart by the judge's clock.
inline constexpr double kCheckFloor = 0.5;
// No kernel is faster by what is told where the judge waits for it half as
// long again. `check`: of Duel::checks, by kCheckFloor.
Claim ClaimOfTold(Claim told, Claim check);

struct Ring {
  // Starts the baseline (0) or the candidate (1). Both were verified.
  std::function<Result<Row>(size_t side)> open;
  // Neither has threads nor waits: each start is on one core, the next on the
  // next one, so that a core with busy neighbours slows both.
  bool one_core = false;
  double seconds = 0;
  const std::atomic<bool>* stop = nullptr;  // may be null
};
// Bouts for about so many seconds, and never fewer than can tell anything. For
// each both kernels are started anew, in an order that is drawn, so that the
// sign of its logarithm is a coin's if they are the same, whatever the machine
// and the processes do. Kernels that take too long to start are started once:
// then what one process has by chance has only to be below the floor.
Duel Fight(const Ring& ring, Dice* dice);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_DUEL_H_
