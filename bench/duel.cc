#include "bench/duel.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "bench/measure.h"
#include "bench/told.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/wire/host.h"

namespace lockstep::bench {
namespace {

constexpr double kShown = 0.95;  // confidence of intervals that are shown
// With so many bouts, all of one sign, chance is 2 / 2^20.
constexpr size_t kLeastBouts = 20;
// Starting processes takes its time, too: of 20 seconds 120 of them a third.
constexpr double kBouts = 40;
static_assert(kBouts < kMostDifferences);
// A turn is long enough for a kernel to find its own data in the first cache
// again, and short enough for what changes on the machine to meet both.
constexpr double kTurnSeconds = 1e-3;
constexpr int64_t kMostCalls = 2000;
// Looks at how long a call takes: the shortest counts.
constexpr int kLooks = 5;
// Of the turns, for processor time to be what is compared: a page fault may
// make any kernel wait once.
constexpr double kAlone = 0.95;

// So many calls, one after the other.
Result<Turn> TakeTurn(Row* row, int64_t calls) {
  Turn turn = {.seconds = INFINITY,
               .processor = INFINITY,
               .alone = true,
               .asked = INFINITY,
               .apart = row->apart()};
  for (int64_t n = 0; n < calls; ++n) {
    const Result<CallTimes> call = row->TimeOnce();
    if (!call.ok()) {
      return Status::Error(row->spec() + ": " + call.message());
    }
    turn.seconds = std::min(turn.seconds, call->seconds);
    turn.processor = std::min(turn.processor, call->processor);
    turn.alone = turn.alone && call->alone;
    turn.asked = std::min(turn.asked, call->asked);
    turn.teller = call->teller;
  }
  return turn;
}

// Of a turn. A call that takes longer than a turn does not get shorter by being
// looked at again.
Result<int64_t> CallsOfTurn(Row* row) {
  double shortest = INFINITY;
  for (int n = 0; n < kLooks && !(shortest > 20 * kTurnSeconds && n > 0); ++n) {
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

double MedianOfTurns(const std::vector<Bout>& bouts, size_t side, Clock clock) {
  std::vector<double> times;
  for (const Bout& bout : bouts) {
    for (const Round& round : bout) {
      times.push_back(TimeOf(round.turns[side], clock));
    }
  }
  return MedianOf(std::move(times));
}

std::vector<double> LogarithmsOf(const std::vector<Bout>& bouts, Clock clock) {
  std::vector<double> logarithms;
  for (const Bout& bout : bouts) logarithms.push_back(LogarithmOf(bout, clock));
  return logarithms;
}

// Decides by which clocks, before any time is looked at.
void ChooseClocks(std::vector<Bout>* bouts, Duel* duel) {
  bool own = true, told = false;
  for (const size_t side : {0, 1}) {
    const bool used = UsesOwnClocks(*bouts, side);
    const verify::Teller teller = (*bouts)[0][0].turns[side].teller;
    if (IsTold(teller)) duel->told[side] = ToldText(teller, used);
    told = told || IsTold(teller);
    own = own && used;
  }
  std::vector<Bout> judged = *bouts;
  TakeJudgesClock(&judged);
  if (own && told) duel->checks = LogarithmsOf(judged, Clock::kWall);
  if (!own) *bouts = std::move(judged);
}

// Keeps this thread, and the processes that it starts, on one core of those
// that it may use, while it lives; nowhere but on Linux.
class OneCore {
 public:
  explicit OneCore(size_t turn) {
#ifdef __linux__
    if (sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
    size_t left = turn % static_cast<size_t>(std::max(CPU_COUNT(&before_), 1));
    for (size_t core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &before_) || left-- > 0) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      moved_ = sched_setaffinity(0, sizeof(one), &one) == 0;
      return;
    }
#else
    (void)turn;
#endif
  }
  ~OneCore() {
#ifdef __linux__
    if (moved_) sched_setaffinity(0, sizeof(before_), &before_);
#endif
  }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
#ifdef __linux__
  cpu_set_t before_ = {};
  bool moved_ = false;
#endif
};

// The two kernels of a duel and what they have said.
class Fighters {
 public:
  Fighters(const Ring& ring, Dice* dice)
      : ring_(ring), dice_(dice), slice_(ring.seconds / kBouts) {}

  // Errors: one could not go on.
  Result<Bout> Fight(size_t number) {
    std::optional<OneCore> core;
    if (ring_.one_core) core.emplace(anew_ ? number : 0);
    RETURN_IF_ERROR(MakeReady());
    const double end = Now() + slice_;
    Bout bout;
    do {
      Round round;
      for (const size_t side : dice_->Order(2)) {
        asked_ = side;
        ASSIGN_OR_RETURN(round.turns[side], TakeTurn(&*rows_[side], calls_));
      }
      bout.push_back(round);
    } while (Now() < end && !Stopped());
    return bout;
  }
  // Hosts of processes end, too: others would take them as they are.
  void End() {
    for (std::optional<Row>& row : rows_) {
      if (row) row->Close();
      row.reset();
    }
    verify::RetireHosts();
  }
  bool Stopped() const { return ring_.stop != nullptr && *ring_.stop; }
  size_t starts() const { return starts_; }
  size_t asked() const { return asked_; }

 private:
  // Both are there, and have been called.
  Status MakeReady() {
    if (starts_ > 0 && !anew_) return {};
    const double start = Now();
    End();
    for (const size_t side : dice_->Order(2)) {
      asked_ = side;
      ASSIGN_OR_RETURN(Row row, ring_.open(side));
      rows_[side].emplace(std::move(row));
    }
    // The shortest one counts: on a busy machine any may take longer.
    start_seconds_ = std::min(start_seconds_, Now() - start);
    anew_ = start_seconds_ < slice_ / 2;
    for (const size_t side : dice_->Order(2)) {
      asked_ = side;
      RETURN_IF_ERROR(TakeTurn(&*rows_[side], 1).status());
    }
    ++starts_;
    return starts_ == 1 ? ChooseCalls() : Status();
  }
  Status ChooseCalls() {
    for (const size_t side : {0, 1}) {
      asked_ = side;
      ASSIGN_OR_RETURN(const int64_t own, CallsOfTurn(&*rows_[side]));
      // As many for both, since the fastest of more calls is faster.
      calls_ = std::min(calls_, own);
    }
    return {};
  }

  const Ring& ring_;
  Dice* dice_;
  double slice_;  // seconds of a bout
  std::optional<Row> rows_[2];
  size_t starts_ = 0;
  size_t asked_ = 0;  // the side that was started or called last
  double start_seconds_ = INFINITY;
  bool anew_ = true;  // to start them takes less than half of a bout
  int64_t calls_ = kMostCalls;
};

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
  const double centre = MedianOf(logarithms);
  const Interval interval = MedianInterval(logarithms, kShown);
  told.change = std::expm1(centre);
  told.interval = Changes(interval);
  told.chance = SignedRank(logarithms);
  // An interval of few is whatever they were.
  if (told.pairs < kLeastBouts) return told;
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
  if (told.pairs < kLeastBouts) return told;
  told.claim = ClaimOf(centre, apart, ratio, thresholds.floor);
  return told;
}

const char* ClockName(Clock clock) {
  return clock == Clock::kWall ? "wall" : "processor";
}

Clock ClockFor(const std::vector<Bout>& bouts) {
  size_t alone = 0, turns = 0;
  for (const Bout& bout : bouts) {
    for (const Round& round : bout) {
      for (const Turn& turn : round.turns) alone += turn.alone ? 1 : 0;
      turns += 2;
    }
  }
  const bool most =
      static_cast<double>(alone) >= kAlone * static_cast<double>(turns);
  return most ? Clock::kProcessor : Clock::kWall;
}

bool UsesOwnClocks(const std::vector<Bout>& bouts, size_t side) {
  std::vector<double> shares;
  for (const Bout& bout : bouts) {
    for (const Round& round : bout) {
      const Turn& turn = round.turns[side];
      if (turn.teller == verify::Teller::kNone && turn.apart) return false;
      shares.push_back(turn.seconds / turn.asked);
    }
  }
  return IsUsed(bouts[0][0].turns[side].teller, std::move(shares));
}

void TakeJudgesClock(std::vector<Bout>* bouts) {
  for (Bout& bout : *bouts) {
    for (Round& round : bout) {
      for (Turn& turn : round.turns) {
        turn.seconds = turn.processor = turn.asked;
        turn.alone = false;
      }
    }
  }
}

Claim ClaimOfTold(Claim told, Claim check) {
  const bool against = told == Claim::kFaster && check == Claim::kSlower;
  return against ? Claim::kUndecided : told;
}

double LogarithmOf(const Bout& bout, Clock clock) {
  std::vector<double> logarithms;
  for (const Round& round : bout) {
    logarithms.push_back(std::log(TimeOf(round.turns[1], clock) /
                                  TimeOf(round.turns[0], clock)));
  }
  return MedianOf(std::move(logarithms));
}

Duel Fight(const Ring& ring, Dice* dice) {
  Duel duel;
  Fighters fighters(ring, dice);
  std::vector<Bout> bouts;
  // A bout that would end too late is not begun.
  const double end = Now() + ring.seconds * (1 - 1 / kBouts);
  while (bouts.size() < kLeastBouts ||
         (Now() < end && bouts.size() < kMostDifferences)) {
    if (fighters.Stopped()) break;
    Result<Bout> bout = fighters.Fight(bouts.size());
    if (!bout.ok()) {
      duel.broken = bout.message();
      duel.broken_by = fighters.asked();
      return duel;
    }
    duel.rounds += bout->size();
    bouts.push_back(std::move(bout.value()));
  }
  fighters.End();
  if (bouts.empty()) return duel;
  duel.starts = fighters.starts();
  ChooseClocks(&bouts, &duel);
  duel.clock = ClockFor(bouts);
  duel.logarithms = LogarithmsOf(bouts, duel.clock);
  duel.baseline_seconds = MedianOfTurns(bouts, 0, duel.clock);
  duel.candidate_seconds = MedianOfTurns(bouts, 1, duel.clock);
  return duel;
}

}  // namespace lockstep::bench
