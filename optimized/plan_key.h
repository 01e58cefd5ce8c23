// What makes another kernel and what does not. These are the static key of a
// planned call, the check that a call's payload is what its key promises, and a
// bounded cache by key.
#ifndef LOCKSTEP_OPTIMIZED_PLAN_KEY_H_
#define LOCKSTEP_OPTIMIZED_PLAN_KEY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>

#include "optimized/tile_plan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// Typed, compared member by member: no text, no hash, no identity that two
// contracts could share. Ids, counts and dense bits are payload and not here;
// prefix lengths are part of the mask and are.
struct PlanKey {
  AttentionForwardProblem problem;  // masks normal (NormalMask)
  bool valid_counts = false;        // calls carry valid counts
  TileOptions tiles;
  int64_t width = 0;    // steps of the forward tables
  int64_t width_t = 0;  // steps of the transposed tables
};
bool operator==(const PlanKey& a, const PlanKey& b);

// Errors: Validate(problem)'s, CheckTileOptions'; widths below 1 or beyond the
// grid.
Result<PlanKey> MakePlanKey(const AttentionForwardProblem& problem,
                            bool valid_counts, const TileOptions& tiles,
                            int64_t width, int64_t width_t);

// Fails closed: a call that lacks ids or counts that its key promises, or has
// some that the key does not know, is an error, never another mask.
Status CheckPayload(const PlanKey& key, const AttentionForwardInputs& inputs);

struct CacheCounters {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t evictions = 0;
};

// Values by key, the `capacity` (>= 1) most recently used ones.
template <typename Value>
class PlanCache {
 public:
  explicit PlanCache(size_t capacity) : capacity_(capacity) {}

  // The value of the key, made by `make(key)` on a miss; good until the next
  // call.
  template <typename Make>
  const Value& Get(const PlanKey& key, const Make& make) {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(),
                     [&](const auto& entry) { return entry.first == key; });
    if (found != entries_.end()) {
      ++counters_.hits;
      entries_.splice(entries_.begin(), entries_, found);
      return entries_.front().second;
    }
    ++counters_.misses;
    if (entries_.size() == capacity_) {
      entries_.pop_back();
      ++counters_.evictions;
    }
    entries_.emplace_front(key, make(key));
    return entries_.front().second;
  }

  size_t size() const { return entries_.size(); }
  const CacheCounters& counters() const { return counters_; }

 private:
  size_t capacity_;
  std::list<std::pair<PlanKey, Value>> entries_;  // most recently used first
  CacheCounters counters_;
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_PLAN_KEY_H_
