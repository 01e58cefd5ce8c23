// What a plan takes in memory, before it takes it.
#ifndef LOCKSTEP_VERIFY_TABLES_MEMORY_H_
#define LOCKSTEP_VERIFY_TABLES_MEMORY_H_

#include <cstdint>

#include "optimized/tile_plan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::verify {

// Errors: the active tiles of the case are certain to take more than
// `max_bytes`. Free where even all tiles fit; otherwise they are counted on
// grids of ever smaller tiles, until one tells. Requires: Validate(problem,
// inputs, ...).ok(), CheckTileOptions.
Status CheckPlanMemory(const AttentionForwardProblem& problem,
                       const AttentionForwardInputs& inputs,
                       const optimized::TileOptions& tiles, int64_t max_bytes);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_MEMORY_H_
