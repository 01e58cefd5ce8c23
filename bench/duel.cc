#include "bench/duel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/measure.h"

namespace lockstep::bench {
namespace {

constexpr double kShown = 0.95;  // confidence of intervals that are shown
// With so many pairs, all of one sign, chance is 2 / 2^20.
constexpr int64_t kLeastPairs = 20;
// More, of fewer rounds each, tell less: the fastest of a few turns scatters a
// third as much as one of them, and ranks of twice as many pairs gain a
// quarter.
constexpr size_t kPairs = 150;
// A turn is long enough for a kernel to find its own data in the first cache
// again, and short enough for what changes on the machine to meet both.
constexpr double kTurnSeconds = 1e-3;
constexpr int64_t kMostCalls = 2000;
// Looks at how long a call takes: the shortest counts.
constexpr int kLooks = 5;
constexpr size_t kMostRounds = size_t{1} << 20;
// Of the turns, for processor time to be what is compared: a page fault may
// make any kernel wait once.
constexpr double kAlone = 0.95;

// So many calls, one after the other.
Result<Turn> TakeTurn(Row* row, int64_t calls) {
  Turn turn = {INFINITY, INFINITY, true};
  for (int64_t n = 0; n < calls; ++n) {
    const Result<CallTimes> call = row->TimeOnce();
    if (!call.ok()) {
      return Status::Error(row->spec() + ": " + call.message());
    }
    turn.seconds = std::min(turn.seconds, call->seconds);
    turn.processor = std::min(turn.processor, call->processor);
    turn.alone = turn.alone && call->alone;
  }
  return turn;
}

// Of a turn. A call that takes longer than a turn does not get shorter by being
// looked at again.
Result<int64_t> CallsOfTurn(Row* row) {
  double shortest = row->wall_seconds();
  for (int n = 0; n < kLooks && shortest < 20 * kTurnSeconds; ++n) {
    const Result<CallTimes> call = row->TimeOnce();
    if (!call.ok()) {
      return Status::Error(row->spec() + ": " + call.message());
    }
    shortest = std::min(shortest, call->wall);
  }
  const double calls = std::ceil(kTurnSeconds / std::max(shortest, 1e-7));
  return std::clamp<int64_t>(static_cast<int64_t>(calls), 1, kMostCalls);
}

double TimeOf(const Turn& turn, Clock clock) {
  return clock == Clock::kWall ? turn.seconds : turn.processor;
}

double MedianOfTurns(const std::vector<Round>& rounds, size_t side,
                     Clock clock) {
  std::vector<double> times;
  for (const Round& round : rounds) {
    times.push_back(TimeOf(round.turns[side], clock));
  }
  return MedianOf(std::move(times));
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

const char* ClockName(Clock clock) {
  return clock == Clock::kWall ? "wall" : "processor";
}

Clock ClockFor(const std::vector<Round>& rounds) {
  size_t alone = 0;
  for (const Round& round : rounds) {
    for (const Turn& turn : round.turns) alone += turn.alone ? 1 : 0;
  }
  const auto turns = static_cast<double>(2 * rounds.size());
  return static_cast<double>(alone) >= kAlone * turns ? Clock::kProcessor
                                                      : Clock::kWall;
}

std::vector<double> PairUp(const std::vector<Round>& rounds, Clock clock) {
  const size_t together = std::max<size_t>(1, rounds.size() / kPairs);
  std::vector<double> logarithms;
  for (size_t at = 0; at + together <= rounds.size(); at += together) {
    double fastest[2] = {INFINITY, INFINITY};
    for (size_t n = at; n < at + together; ++n) {
      for (const size_t side : {0, 1}) {
        fastest[side] =
            std::min(fastest[side], TimeOf(rounds[n].turns[side], clock));
      }
    }
    logarithms.push_back(std::log(fastest[1] / fastest[0]));
  }
  return logarithms;
}

Duel Fight(Row* baseline, Row* candidate, double seconds, Dice* dice,
           const std::atomic<bool>* stop) {
  Duel duel;
  duel.line = baseline->scene().line;
  Row* const rows[] = {baseline, candidate};
  const double end = Now() + seconds;
  int64_t calls = kMostCalls;
  for (Row* row : rows) {
    const Result<int64_t> own = CallsOfTurn(row);
    if (!own.ok()) duel.broken = own.message();
    if (!own.ok()) return duel;
    // As many for both, since the fastest of more calls is faster.
    calls = std::min(calls, own.value());
  }
  std::vector<Round> rounds;
  while (rounds.size() < kMostRounds &&
         (Now() < end || rounds.size() < static_cast<size_t>(kLeastPairs))) {
    if (stop != nullptr && *stop) break;
    Round round;
    for (const size_t side : dice->Order(2)) {
      const Result<Turn> turn = TakeTurn(rows[side], calls);
      if (!turn.ok()) duel.broken = turn.message();
      if (!turn.ok()) return duel;
      round.turns[side] = turn.value();
    }
    rounds.push_back(round);
  }
  if (rounds.empty()) return duel;
  duel.clock = ClockFor(rounds);
  duel.logarithms = PairUp(rounds, duel.clock);
  duel.baseline_seconds = MedianOfTurns(rounds, 0, duel.clock);
  duel.candidate_seconds = MedianOfTurns(rounds, 1, duel.clock);
  return duel;
}

}  // namespace lockstep::bench
