// The keys of block_plan case lines, and what they mean.
#ifndef LOCKSTEP_VERIFY_CASE_BLOCK_PLAN_H_
#define LOCKSTEP_VERIFY_CASE_BLOCK_PLAN_H_

#include <cstdint>
#include <span>
#include <string>

#include "optimized/tile_plan.h"
#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/line.h"
#include "verify/case/keys.h"

namespace lockstep::verify {

// How tables of block-sparse kernels are laid out: verify/tables/dialects.
enum class PlanDialect : uint8_t { kShrunk, kSplash, kFlatList, kBlockMask };

// The tables that a planner makes from the masks of one batch row. Of the
// attention case only masks, lengths, heads, ids and counts say something.
struct BlockPlanCase : OpValuesAs<BlockPlanCase, AttentionForwardCase> {
  int64_t tile_q = 256;
  int64_t tile_k = 256;
  PlanDialect dialect = PlanDialect::kShrunk;
  bool blocks = true;    // element masks are stored, not computed
  bool padded = false;   // ragged tiles are never full
  bool segments = true;  // the tables account for the segment ids
  int64_t width = 0;     // steps the tables have room for; 0: as needed
  int64_t width_t = 0;
  int64_t q_shards = 1;
  int64_t kv_shards = 1;
  int64_t slack = 0;  // empty tiles that may be visited
  friend bool operator==(const BlockPlanCase&, const BlockPlanCase&) = default;
};

// Places along the keys, over all queries, where the masks of a case may turn:
// each is looked at. With a mask of single pairs they are the pairs.
inline constexpr int64_t kMaxPlanPlaces = int64_t{1} << 28;

// In canonical order.
std::span<const CaseKey> BlockPlanKeys();

// Of its row, below.  Requires: a block_plan case.
Status ValidateBlockPlan(const Case& c);
int64_t BlockPlanBytes(const Case& c);

inline constexpr CaseRow kBlockPlanText = {
    "block_plan",
    "tables of a block-sparse kernel, judged by its mask",
    &BlockPlanKeys,
    &MakeValues<BlockPlanCase>,
    &ValidateBlockPlan,
    &BlockPlanBytes,
    &AttentionForwardNamesFiles};

// The case with these keys, for callers that only plan it. Errors: ParseCase's.
Result<Case> ParseBlockPlan(const std::string& keys);

const char* DialectName(PlanDialect dialect);

// The tables that a planner has to make.
optimized::TileOptions TileOptionsOf(const BlockPlanCase& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_BLOCK_PLAN_H_
