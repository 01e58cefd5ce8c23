// The bugs of the plan mutants, by the part that makes the mistake: a planner,
// tables, a kernel. Each answers any case, and leaves alone what it does not
// get wrong.
#ifndef LOCKSTEP_VERIFY_TABLES_MUTANTS_BUGS_H_
#define LOCKSTEP_VERIFY_TABLES_MUTANTS_BUGS_H_

#include "optimized/tile_plan.h"
#include "verify/case/block_plan.h"
#include "verify/case/case.h"
#include "verify/tables/planner.h"
#include "verify/tables/trace.h"

namespace lockstep::verify::plan_bugs {

using optimized::TilePlan;
using Scene = BlockPlanScene;

// Planners: classes, blocks and patterns.
void BlocksByPrintedText(const Scene& scene, TilePlan* plan);
void BlocksPerHead(const Scene& scene, TilePlan* plan);
void FloorDivisionStored(const Scene& scene, PlanTrace* trace);
void RaggedTileFull(const Scene& scene, TilePlan* plan);
void RaggedTilesEmpty(const Scene& scene, TilePlan* plan);
void CornerSampling(const Scene& scene, TilePlan* plan);
void DocumentMinimumOnly(const Scene& scene, TilePlan* plan);
void DocumentOverlapStrict(const Scene& scene, TilePlan* plan);
void DocumentOverlapOneSided(const Scene& scene, TilePlan* plan);
void DiagonalFull(const Scene& scene, TilePlan* plan);
void UnionWithoutMembership(const Scene& scene, TilePlan* plan);
void SelectionRepeated(const Scene& scene, PlanTrace* trace);
void InvalidSelectionKept(const Scene& scene, TilePlan* plan);
void WindowFromChunkStart(const Scene& scene, TilePlan* plan);
void HeadsMergedByWeakHash(const Scene& scene, TilePlan* plan);
void DenseInDisguise(const Scene& scene, TilePlan* plan);

// Tables: made, narrowed, cached or cut wrongly.
void StatesSwapped(const Scene& scene, PlanTrace* trace);
void FullTilesDropped(BlockMaskTables* tables);
void WholeGridDataNext(const TilePlan& plan, SplashTables* tables);
void WidthOfOtherDirection(ShrunkTables* tables);
void WidthOfLastRow(ShrunkTables* tables);
void WidthOfFirstRow(ShrunkTables* tables);
void MaskNextLate(ShrunkTables* tables);
void FullFetchesBeyond(ShrunkTables* tables);
void ForwardTablesTransposed(ShrunkTables* tables);
void TransposeLosesClasses(ShrunkTables* tables);
void IndexWraps(ShrunkTables* tables);
void PaddingNotFetchable(ShrunkTables* tables);
void PaddingWithState(ShrunkTables* tables);
void TablesOfOtherWindow(BlockPlanCase* asked);
void CapturedDocuments(BlockPlanCase* asked);
void CompactColumnsTransposed(BlockMaskTables* tables);
void CropComparesIndices(BlockMaskTables* tables);

// Kernels that read sound tables wrongly.
void PaddingExecuted(const Scene& scene, PlanTrace* trace);
void ShardPaddingExecuted(const Scene& scene, PlanTrace* trace);
void KeysFromGridStep(const Scene& scene, PlanTrace* trace);
void EmptyMaskNotWritten(const Scene& scene, PlanTrace* trace);
void EmptyRowNotWritten(const Scene& scene, PlanTrace* trace);
void EmptyColumnNotFinished(const Scene& scene, PlanTrace* trace);
void BlockNotTransposed(const Scene& scene, PlanTrace* trace);
void RowsShuffled(const Scene& scene, PlanTrace* trace);
void LastTileNotStored(const Scene& scene, PlanTrace* trace);
void EndOfListExecuted(FlatTables* tables);
void ShardTilesAsGlobal(const Scene& scene, PlanTrace* trace);

}  // namespace lockstep::verify::plan_bugs

#endif  // LOCKSTEP_VERIFY_TABLES_MUTANTS_BUGS_H_
