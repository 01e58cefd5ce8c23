// What each case of a run leaves for the ones after it: its truth, which is the
// null "previous output" of the next case. Cases may be judged side by side;
// each still sees the truth of the case before it in the order asked for.
#ifndef LOCKSTEP_VERIFY_JUDGE_EVIDENCE_TRUTH_CHAIN_H_
#define LOCKSTEP_VERIFY_JUDGE_EVIDENCE_TRUTH_CHAIN_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "verify/judge/evidence/power.h"

namespace lockstep::verify {

// Its functions may be called from several threads. Places count from 0.
class TruthChain {
 public:
  // Of the last place before this one that told its truth; null: none did.
  // Waits for those that may still tell.
  //   Requires: every place before it tells or ends, or Close() is called.
  std::shared_ptr<const PreviousTruth> Before(int64_t place);

  // Leaves the truth of the case at that place for those after it.
  void Tell(int64_t place, PreviousTruth own);
  // The case at that place needs and provides nothing more.
  void End(int64_t place);
  // From this place on nothing is judged, because it would take too long.
  void Close(int64_t from);

 private:
  struct Link {
    bool ended = false;
    std::shared_ptr<const PreviousTruth> truth;
  };
  // Whether what `place` tells, if anything, is known.
  bool Settled(int64_t place) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, Link> links_;  // of places from `first_` on
  int64_t first_ = 0;              // all before it have ended
  int64_t closed_ = INT64_MAX;
  std::shared_ptr<const PreviousTruth> before_first_;
};

// A case's place in the chain.
struct ChainPlace {
  TruthChain& chain;
  int64_t place = 0;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_EVIDENCE_TRUTH_CHAIN_H_
