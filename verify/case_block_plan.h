// The keys of block_plan case lines, and what they mean.
#ifndef LOCKSTEP_VERIFY_CASE_BLOCK_PLAN_H_
#define LOCKSTEP_VERIFY_CASE_BLOCK_PLAN_H_

#include <cstdint>
#include <span>

#include "optimized/tile_plan.h"
#include "reference/contract/status.h"
#include "verify/case.h"
#include "verify/case_keys.h"

namespace lockstep::verify {

// Pairs times heads that one case may have: each is looked at, several times.
inline constexpr int64_t kMaxPlanPairs = int64_t{1} << 28;

// In canonical order.
std::span<const CaseKey> BlockPlanKeys();

// Rows of the op table; Requires: a block_plan case.
Status ValidateBlockPlan(const Case& c);
int64_t BlockPlanBytes(const Case& c);

const char* DialectName(PlanDialect dialect);

// What a planner is asked for.
optimized::TileOptions TileOptionsOf(const BlockPlanCase& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_BLOCK_PLAN_H_
