// Cases judged side by side. Their results are reported one after another in
// the order of the request, so that a listener cannot see how many ran at a
// time.
#ifndef LOCKSTEP_VERIFY_RUN_SIDE_BY_SIDE_H_
#define LOCKSTEP_VERIFY_RUN_SIDE_BY_SIDE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "verify/judge/evidence/truth_chain.h"
#include "verify/judge/verdict.h"

namespace lockstep::verify {

// Calls of one line, [begin, end), which one worker makes in their order.
struct CallUnit {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t bytes = 0;  // that judging the largest of them takes
};

// Its functions may be called from several threads, but for the constructor.
class SideBySide {
 public:
  struct Limits {
    std::optional<double> seconds;  // from now on; then no call begins
    int64_t calls = INT64_MAX;      // that are told of
    int64_t bytes = INT64_MAX;      // of units judged at a time, unless alone
    const std::atomic<bool>* stop = nullptr;  // may be null
  };
  // Reports a result; calls are in their order, never two at a time. `causes`:
  // whether they were looked for. Returns false where the run ends with it.
  using Tell = std::function<bool(CaseResult* result, bool causes)>;

  // `units` follow one another from call 0 on.
  SideBySide(std::vector<CallUnit> units, const Limits& limits,
             TruthChain* chain, Tell tell);

  // The next unit; none: there is nothing more to do. Waits while memory is
  // taken, or while those that come late have to be told of first.
  std::optional<CallUnit> Take();
  // Whether this call of a unit is to be judged; where not, none after it is.
  bool Begins(int64_t call);
  void Deliver(int64_t call, CaseResult result, bool causes);
  // Whether all calls before it were told of, and it will be.
  bool IsNext(int64_t call);
  // The unit is done with.
  void Leave(const CallUnit& unit);
  // Nothing more is reported.
  void Abandon();

  // Whether an interrupt, not the end of the calls, ended the run.
  bool interrupted() const { return interrupted_; }
  double Seconds() const;

 private:
  struct Waiting {
    CaseResult result;
    bool causes = false;
  };
  bool Stopped() const { return limits_.stop != nullptr && *limits_.stop; }
  bool IsLate() const;
  // All with the mutex held.
  void EndBefore(int64_t call);
  void Interrupt(int64_t call);

  const std::vector<CallUnit> units_;
  const Limits limits_;
  TruthChain& chain_;
  const Tell tell_;
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t next_ = 0;                     // unit
  int64_t told_ = 0;                    // calls
  int64_t end_ = 0;                     // no call from it on is told of
  int64_t bytes_ = 0;                   // of units at work
  int64_t working_ = 0;                 // units
  std::map<int64_t, Waiting> waiting_;  // for earlier calls to be told of
  bool interrupted_ = false;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_RUN_SIDE_BY_SIDE_H_
