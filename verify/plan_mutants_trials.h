// The trials of the plan mutants, by who errs. Each plants its bug only if
// `broken`.
#ifndef LOCKSTEP_VERIFY_PLAN_MUTANTS_TRIALS_H_
#define LOCKSTEP_VERIFY_PLAN_MUTANTS_TRIALS_H_

#include <cstdint>

#include "optimized/tile_grid.h"
#include "reference/contract/status.h"
#include "verify/plan_mutants.h"
#include "verify/plan_scene.h"

namespace lockstep::verify::plan_trials {

// 8 x 8 pairs in tiles of 2 x 2.
inline constexpr optimized::TileGrid kEight = {8, 8, 2, 2};

// Shared masks.
bool Causal(int64_t head, int64_t i, int64_t j);
// Causal within documents 0 0 0 1 1 1 1 2.
bool Documents(int64_t head, int64_t i, int64_t j);
// Causal without queries 2, 3 and keys 4, 5.
bool Gaps(int64_t head, int64_t i, int64_t j);
// Causal, two keys back.
bool Window(int64_t head, int64_t i, int64_t j);

// The trace of grid-shrinking tables of a plan.
PlanTrial Shrunk(const PlanScene& scene, const optimized::TilePlan& plan);
PlanTrial Shrunk(const PlanScene& scene);

// Planners: classes, blocks and patterns.
PlanTrial BlocksByPrintedText(bool broken);
PlanTrial BlocksPerHead(bool broken);
PlanTrial FloorDivision(bool broken);
PlanTrial RaggedTileFull(bool broken);
PlanTrial RaggedTileEmpty(bool broken);
PlanTrial CornerSampling(bool broken);
PlanTrial DocumentMinimumOnly(bool broken);
PlanTrial DocumentOverlapStrict(bool broken);
PlanTrial DocumentOverlapOneSided(bool broken);
PlanTrial DiagonalFull(bool broken);
PlanTrial UnionWithoutMembership(bool broken);
PlanTrial SelectionRepeated(bool broken);
PlanTrial InvalidSelectionKept(bool broken);
PlanTrial WindowFromChunkStart(bool broken);
PlanTrial HeadsMergedByWeakHash(bool broken);
PlanTrial DenseInDisguise(bool broken);

// Tables: made, narrowed, cached or cut wrongly.
PlanTrial StatesSwapped(bool broken);
PlanTrial FullTilesDropped(bool broken);
PlanTrial WholeGridDataNext(bool broken);
PlanTrial WidthOfOtherDirection(bool broken);
PlanTrial WidthOfLastRow(bool broken);
PlanTrial WidthOfFirstRow(bool broken);
PlanTrial MaskNextLate(bool broken);
PlanTrial ForwardTablesTransposed(bool broken);
PlanTrial TransposeLosesClasses(bool broken);
PlanTrial IndexWraps(bool broken);
PlanTrial PaddingNotFetchable(bool broken);
PlanTrial PaddingWithState(bool broken);
PlanTrial TablesOfOtherWindow(bool broken);
PlanTrial CapturedDocuments(bool broken);
PlanTrial CompactColumnsTransposed(bool broken);
PlanTrial CropComparesIndices(bool broken);

// Kernels that read sound tables wrongly.
PlanTrial PaddingExecuted(bool broken);
PlanTrial ShardPaddingExecuted(bool broken);
PlanTrial KeysFromGridStep(bool broken);
PlanTrial EmptyMaskNotWritten(bool broken);
PlanTrial EmptyRowNotWritten(bool broken);
PlanTrial EmptyColumnNotFinished(bool broken);
PlanTrial BlockNotTransposed(bool broken);
PlanTrial RowsShuffled(bool broken);
PlanTrial LastTileNotStored(bool broken);
PlanTrial EndOfListExecuted(bool broken);
PlanTrial ShardTilesAsGlobal(bool broken);

}  // namespace lockstep::verify::plan_trials

#endif  // LOCKSTEP_VERIFY_PLAN_MUTANTS_TRIALS_H_
