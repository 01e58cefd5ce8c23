#include "verify/tables/mutants.h"

#include <span>

#include "verify/base/status_macros.h"
#include "verify/tables/mutants_bugs.h"

namespace lockstep::verify {
namespace {

using namespace plan_bugs;  // NOLINT: one table of all of them

constexpr PlanMutantInfo kMutants[] = {
    {"plan.blocks_by_printed_text", "planner", Invariant::kBlockIsMask,
     "blocks that differ inside only are taken for one",
     "sq=64 skv=64 bq=32 bk=64 q_seg=ids:0*15,1*1,0*32,1*1,0*15 "
     "kv_seg=ids:0*64",
     BlocksByPrintedText},
    {"plan.blocks_per_head", "planner", Invariant::kBlockIsMask,
     "block ids count from the head's own first, the pool is of all heads",
     "hq=2 sq=4 skv=4 bq=2 bk=2 mask=causal mask.h1=window:0,0", BlocksPerHead},
    {"plan.floor_division", "planner", Invariant::kSkippedIsEmpty,
     "the number of tiles is rounded down: the tail is lost",
     "sq=5 skv=5 bq=2 bk=2 mask=causal", RaggedTilesEmpty, FloorDivisionStored},
    {"plan.ragged_tile_full", "planner", Invariant::kFullIsFull,
     "a ragged tile is full, though no length mask is applied",
     "sq=2 skv=3 bq=2 bk=2 padded=yes", RaggedTileFull},
    {"plan.ragged_tile_empty", "planner", Invariant::kSkippedIsEmpty,
     "a ragged tile is empty", "sq=3 skv=3 bq=2 bk=2 mask=causal",
     RaggedTilesEmpty},
    {"plan.corner_sampling", "planner", Invariant::kFullIsFull,
     "a tile is full if its corners and its centre are",
     "sq=4 skv=4 bq=4 bk=4 q_seg=ids:0*1,1*2,0*1 kv_seg=ids:0*1,1*2,0*1",
     CornerSampling},
    {"plan.document_minimum_only", "planner", Invariant::kFullIsFull,
     "two tiles are one document if their least ids are equal",
     "sq=4 skv=4 bq=2 bk=2 mask=causal q_seg=runs:3,1 kv_seg=runs:3,1",
     DocumentMinimumOnly},
    {"plan.document_overlap_strict", "planner", Invariant::kSkippedIsEmpty,
     "ranges of documents that share one id do not overlap",
     "sq=4 skv=4 bq=2 bk=2 mask=causal q_seg=runs:3,1 kv_seg=runs:3,1",
     DocumentOverlapStrict},
    {"plan.document_overlap_one_sided", "planner", Invariant::kNothingInVain,
     "ranges of documents overlap if one begins before the other ends",
     "sq=4 skv=4 bq=2 bk=2 mask=causal q_seg=runs:2,2 kv_seg=runs:2,2",
     DocumentOverlapOneSided},
    {"plan.diagonal_full", "planner", Invariant::kFullIsFull,
     "the tile on the diagonal is full", "sq=2 skv=2 bq=2 bk=2 mask=causal",
     DiagonalFull},
    {"plan.union_without_membership", "planner", Invariant::kFullIsFull,
     "a query sees the blocks that its neighbours in the tile selected",
     "sq=2 skv=4 bq=2 bk=2 q_seg=runs:1,1 kv_seg=runs:2,2",
     UnionWithoutMembership},
    {"plan.selection_repeated", "planner", Invariant::kVisitedOnce,
     "a block selected twice is visited twice", "sq=2 skv=4 bq=2 bk=2",
     SelectionRepeated},
    {"plan.invalid_selection_kept", "planner", Invariant::kNothingInVain,
     "a negative selection is clamped to block 0 and stays",
     "sq=6 skv=6 bq=2 bk=2 mask=window:1,1", InvalidSelectionKept},
    {"plan.window_from_chunk_start", "planner", Invariant::kSkippedIsEmpty,
     "causal windowing compares with the first query of a chunk, not the last",
     "sq=4 skv=4 bq=2 bk=1 mask=causal", WindowFromChunkStart},
    {"plan.heads_merged_by_weak_hash", "planner", Invariant::kSharedTableAlike,
     "heads whose masks differ in one element share a table",
     "hq=2 sq=4 skv=4 bq=2 bk=2 mask=causal mask.h1=causal&window:2,0",
     HeadsMergedByWeakHash},
    {"plan.dense_in_disguise", "planner", Invariant::kNothingInVain,
     "every tile is active", "sq=8 skv=8 bq=2 bk=2 mask=causal&window:2,0",
     DenseInDisguise},
    {"plan.states_swapped", "tables", Invariant::kFullIsFull,
     "1 means full and 2 partial", "sq=8 skv=8 bq=2 bk=2 mask=causal",
     StatesSwapped},
    {"plan.full_tiles_dropped", "tables", Invariant::kSkippedIsEmpty,
     "only the list of partial tiles is handed over",
     "sq=8 skv=8 bq=2 bk=2 mask=causal dialect=block_mask", FullTilesDropped},
    {"plan.whole_grid_data_next", "tables", Invariant::kSkippedIsEmpty,
     "states of a shrunk grid with indices of the whole one",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=runs:3,4,1 kv_seg=runs:3,4,1 "
     "dialect=splash",
     WholeGridDataNext},
    {"plan.width_of_other_direction", "tables", Invariant::kGridWidth,
     "the transposed grid is as wide as the forward one",
     "sq=4 skv=4 bq=2 bk=2 valid_kv=2", WidthOfOtherDirection},
    {"plan.width_of_last_row", "tables", Invariant::kGridWidth,
     "the grid is as wide as its last row",
     "sq=4 skv=4 bq=2 bk=2 mask=window:0,inf", WidthOfLastRow},
    {"plan.width_of_first_row", "tables", Invariant::kGridWidth,
     "the grid is as wide as its first row", "sq=4 skv=4 bq=2 bk=2 mask=causal",
     WidthOfFirstRow},
    {"plan.mask_next_late", "tables", Invariant::kBlockIsMask,
     "blocks are those of the partial tile before",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=runs:3,4,1 kv_seg=runs:3,4,1",
     MaskNextLate},
    {"plan.full_fetches_beyond", "tables", Invariant::kIndexInRange,
     "full tiles name the block behind the last, which is fetched",
     "sq=4 skv=4 bq=2 bk=2 mask=causal", FullFetchesBeyond},
    {"plan.forward_tables_transposed", "tables", Invariant::kTransposeAgrees,
     "the transposed pass reads the forward tables",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=runs:3,4,1 kv_seg=runs:3,4,1",
     ForwardTablesTransposed},
    {"plan.transpose_loses_classes", "tables", Invariant::kTransposeAgrees,
     "full tiles are partial in the transposed tables",
     "sq=8 skv=8 bq=2 bk=2 mask=causal", TransposeLosesClasses},
    {"plan.index_wraps", "tables", Invariant::kIndexFitsType,
     "key tile 128 in 8 bits is -128", "sq=1 skv=130 bq=1 bk=1", IndexWraps},
    {"plan.padding_not_fetchable", "tables", Invariant::kPaddingIsInert,
     "padding names tile -1, which is fetched",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=ids:0*2,1*2,0*4 "
     "kv_seg=ids:0*4,2*2,0*2",
     PaddingNotFetchable},
    {"plan.padding_with_state", "tables", Invariant::kPaddingIsInert,
     "padding behind the grid's width has the state of work",
     "sq=8 skv=8 bq=2 bk=2 mask=causal width=6 width_t=6", PaddingWithState},
    {"plan.tables_of_other_window", "tables", Invariant::kSkippedIsEmpty,
     "cached tables of another window are used",
     "sq=8 skv=8 bq=2 bk=2 mask=causal", TablesOfOtherWindow},
    {"plan.captured_documents", "tables", Invariant::kEffectiveMask,
     "the documents of the first batch mask the second",
     "sq=4 skv=4 bq=2 bk=2 mask=causal q_seg=runs:1,3 kv_seg=runs:1,3",
     CapturedDocuments},
    {"plan.compact_columns_transposed", "tables", Invariant::kTransposeAgrees,
     "lists are transposed as if they had as many columns as tiles",
     "sq=8 skv=8 bq=2 bk=2 mask=causal&window:2,0 dialect=block_mask",
     CompactColumnsTransposed},
    {"plan.crop_compares_indices", "tables", Invariant::kIndexInRange,
     "lists cut to fewer tiles keep indices beyond the end",
     "sq=6 skv=6 bq=2 bk=2 valid_kv=1 dialect=block_mask", CropComparesIndices},
    {"plan.padding_executed", "kernel", Invariant::kVisitedOnce,
     "padding of zeros is worked on: tile 0 again",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=ids:0*2,1*2,0*4 "
     "kv_seg=ids:0*4,2*2,0*2",
     PaddingExecuted},
    {"plan.shard_padding_executed", "kernel", Invariant::kVisitedOnce,
     "padding that repeats the last entry is worked on",
     "sq=8 skv=8 bq=2 bk=2 mask=causal dialect=splash q_shards=2",
     ShardPaddingExecuted},
    {"plan.keys_from_grid_step", "kernel", Invariant::kEffectiveMask,
     "key positions come from the step of the shrunk grid",
     "sq=8 skv=8 bq=2 bk=2 mask=causal&window:2,0 dialect=splash blocks=no",
     KeysFromGridStep},
    {"plan.empty_mask_not_written", "kernel", Invariant::kEveryTileStored,
     "a grid of width 0 never writes", "sq=4 skv=4 bq=2 bk=2 valid_kv=0",
     EmptyMaskNotWritten},
    {"plan.empty_row_not_written", "kernel", Invariant::kEveryTileStored,
     "a query tile without active tiles keeps what was there",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=ids:0*2,1*2,0*4 "
     "kv_seg=ids:0*4,2*2,0*2",
     EmptyRowNotWritten},
    {"plan.empty_column_not_finished", "kernel", Invariant::kEveryTileStored,
     "the transposed pass writes at the last active step",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=ids:0*2,1*2,0*4 "
     "kv_seg=ids:0*4,2*2,0*2",
     EmptyColumnNotFinished},
    {"plan.block_not_transposed", "kernel", Invariant::kTransposeAgrees,
     "the transposed pass reads blocks as the forward pass does",
     "sq=8 skv=8 bq=2 bk=2 mask=causal", BlockNotTransposed},
    {"plan.rows_shuffled", "kernel", Invariant::kVisitsTogether,
     "an output tile is taken up again after another",
     "sq=8 skv=8 bq=2 bk=2 mask=causal dialect=flat_list", RowsShuffled},
    {"plan.last_tile_not_stored", "kernel", Invariant::kEveryTileStored,
     "the end of a list is looked for behind it",
     "sq=8 skv=8 bq=2 bk=2 mask=causal dialect=flat_list", LastTileNotStored},
    {"plan.end_of_list_executed", "kernel", Invariant::kIndexInRange,
     "the -1 behind a shorter shard is worked on",
     "sq=8 skv=8 bq=2 bk=2 mask=causal dialect=flat_list q_shards=2",
     EndOfListExecuted},
    {"plan.shard_tiles_as_global", "kernel", Invariant::kIndexInRange,
     "tiles that count from the shard's start are read as the grid's",
     "sq=8 skv=8 bq=2 bk=2 mask=causal dialect=splash q_shards=2",
     ShardTilesAsGlobal},
};

}  // namespace

std::span<const PlanMutantInfo> PlanMutants() { return kMutants; }

Result<PlanTrial> TryPattern(const PlanMutantInfo& mutant, bool broken) {
  ASSIGN_OR_RETURN(const Case call, ParseBlockPlan(mutant.pattern));
  ASSIGN_OR_RETURN(BlockPlanScene scene, OpenBlockPlan(call, {}));
  PlanTrial trial{{}, scene.mask};
  const RunOutcome outcome =
      PlanWith(broken ? mutant.bug : PlanBug(), scene, &trial.trace);
  if (outcome.state != RunOutcome::State::kRan) {
    return Status::Error(outcome.message);
  }
  return trial;
}

}  // namespace lockstep::verify
