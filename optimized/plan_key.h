// What makes another kernel and what does not. These are the static key of a
// planned call, and the check that a call's payload is what its key promises.
#ifndef LOCKSTEP_OPTIMIZED_PLAN_KEY_H_
#define LOCKSTEP_OPTIMIZED_PLAN_KEY_H_

#include <cstdint>

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

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_PLAN_KEY_H_
