#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "optimized/block_pool.h"
#include "verify/case/block_plan.h"
#include "verify/tables/mutants_bugs.h"

namespace lockstep::verify::plan_bugs {
namespace {

using optimized::TileClass;
using optimized::TileGrid;
using optimized::TileList;

// Every list of the plan.
template <typename Change>
void EachList(TilePlan* plan, const Change& change) {
  for (optimized::TilePattern& pattern : plan->patterns) {
    change(&pattern.by_query);
    change(&pattern.by_key);
  }
}

TileClass Marked(bool active, TileClass truth) {
  if (!active) return TileClass::kEmpty;
  return truth == TileClass::kFull ? truth : TileClass::kPartial;
}

bool Ragged(const TileGrid& g, int64_t row, int64_t col) {
  return (row + 1) * g.tile_q > g.q_len || (col + 1) * g.tile_k > g.kv_len;
}

// Queries or keys of a tile that exist.
struct Range {
  int64_t begin, end;
};
Range Queries(const TileGrid& g, int64_t row) {
  return {row * g.tile_q, std::min((row + 1) * g.tile_q, g.q_len)};
}
Range Keys(const TileGrid& g, int64_t col) {
  return {col * g.tile_k, std::min((col + 1) * g.tile_k, g.kv_len)};
}

// Least and largest id of a tile of one axis.
Range Ids(const TensorView<const int32_t, 2>& ids, Range tokens) {
  Range found{ids(0, tokens.begin), ids(0, tokens.begin)};
  for (int64_t i = tokens.begin; i < tokens.end; ++i) {
    found.begin = std::min<int64_t>(found.begin, ids(0, i));
    found.end = std::max<int64_t>(found.end, ids(0, i));
  }
  return found;
}

// Planners that class by ids: `judge` gets the ids of both tiles, what the
// mask would say without documents, and the truth.
template <typename Judge>
void ByDocuments(const Scene& scene, TilePlan* plan, const Judge& judge) {
  if (!scene.data.problem.segments || !scene.asked.segments) return;
  const IntendedMask without =
      IntendedMask::Of(scene.data.problem, scene.data.inputs, 0, false);
  Rejudge(
      scene.mask,
      [&](int64_t head, int64_t row, int64_t col, TileClass truth) {
        return judge(Ids(scene.data.inputs.q_seg, Queries(plan->grid, row)),
                     Ids(scene.data.inputs.kv_seg, Keys(plan->grid, col)),
                     ClassOf(without, *plan, head, row, col), truth);
      },
      plan);
}

// How many queries of a tile see all its keys; none where some see a part.
std::optional<int64_t> Selecting(const Scene& scene, const TileGrid& g,
                                 int64_t head, int64_t row, int64_t col) {
  const Range keys = Keys(g, col);
  int64_t all = 0;
  for (int64_t i = Queries(g, row).begin; i < Queries(g, row).end; ++i) {
    const int64_t seen = scene.mask.Count(head, i, keys.begin, keys.end);
    if (seen != 0 && seen != keys.end - keys.begin) return std::nullopt;
    all += seen != 0;
  }
  return all;
}

void DropCausal(MaskExpr* mask) {
  using Kind = MaskExpr::Kind;
  if (mask->kind == Kind::kCausal) mask->kind = Kind::kFull;
  if (mask->kind != Kind::kAnd) return;
  std::erase_if(mask->children,
                [](const MaskExpr& m) { return m.kind == Kind::kCausal; });
  if (mask->children.empty()) *mask = {};
  if (mask->children.size() == 1) *mask = MaskExpr(mask->children[0]);
}

bool Causal(const MaskExpr& mask) {
  using Kind = MaskExpr::Kind;
  return mask.kind == Kind::kCausal ||
         (mask.kind == Kind::kAnd &&
          std::any_of(
              mask.children.begin(), mask.children.end(),
              [](const MaskExpr& m) { return m.kind == Kind::kCausal; }));
}

void BlocksByPrintedText(const Scene&, TilePlan* plan) {
  const optimized::BlockPool& pool = plan->pool;
  // Long arrays are printed by their first and last three rows and columns.
  const bool cut = pool.rows * pool.cols > 1000;
  const auto shown = [cut](int64_t n, int64_t of) {
    return !cut || of <= 6 || n < 3 || n >= of - 3;
  };
  std::map<std::vector<bool>, int32_t> by_text;
  std::vector<int32_t> same;
  for (int64_t block = 0; block < pool.size(); ++block) {
    std::vector<bool> text;
    for (int64_t r = 0; r < pool.rows; ++r) {
      for (int64_t c = 0; c < pool.cols; ++c) {
        if (shown(r, pool.rows) && shown(c, pool.cols)) {
          text.push_back(pool.At(block, r, c));
        }
      }
    }
    same.push_back(
        by_text.emplace(text, static_cast<int32_t>(block)).first->second);
  }
  EachList(plan, [&](TileList* list) {
    for (int32_t& block : list->block) {
      if (block >= 0) block = same[static_cast<size_t>(block)];
    }
  });
}

void BlocksPerHead(const Scene&, TilePlan* plan) {
  for (optimized::TilePattern& pattern : plan->patterns) {
    std::map<int32_t, int32_t> own;
    for (int32_t& block : pattern.by_query.block) {
      if (block < 0) continue;
      block =
          own.emplace(block, static_cast<int32_t>(own.size())).first->second;
    }
    for (int32_t& block : pattern.by_key.block) {
      if (block >= 0) block = own.at(block);
    }
  }
}

void RaggedTilesEmpty(const Scene& scene, TilePlan* plan) {
  const TileGrid g = plan->grid;
  Rejudge(
      scene.mask,
      [&](int64_t, int64_t row, int64_t col, TileClass truth) {
        return Ragged(g, row, col) ? TileClass::kEmpty : truth;
      },
      plan);
}

void FloorDivisionStored(const Scene&, PlanTrace* trace) {
  const TileGrid& g = trace->grid;
  for (TracedPass& pass : trace->forward) {
    for (TracedHead& head : pass.heads) {
      std::erase_if(head.stored,
                    [&](int64_t o) { return o >= g.q_len / g.tile_q; });
    }
  }
  for (TracedPass& pass : trace->transposed) {
    for (TracedHead& head : pass.heads) {
      std::erase_if(head.stored,
                    [&](int64_t o) { return o >= g.kv_len / g.tile_k; });
    }
  }
}

void RaggedTileFull(const Scene& scene, TilePlan* plan) {
  TilePlan in_range = *plan;
  in_range.options.boundary = optimized::Boundary::kInRange;
  Rejudge(
      scene.mask,
      [&](int64_t head, int64_t row, int64_t col, TileClass) {
        return ClassOf(scene.mask, in_range, head, row, col);
      },
      plan);
}

void CornerSampling(const Scene& scene, TilePlan* plan) {
  const TileGrid g = plan->grid;
  Rejudge(
      scene.mask,
      [&](int64_t head, int64_t row, int64_t col, TileClass truth) {
        const Range q = Queries(g, row), k = Keys(g, col);
        const auto sees = [&](int64_t i, int64_t j) {
          return scene.mask.At(head, i, j);
        };
        const bool all = sees(q.begin, k.begin) && sees(q.begin, k.end - 1) &&
                         sees(q.end - 1, k.begin) &&
                         sees(q.end - 1, k.end - 1) &&
                         sees((q.begin + q.end) / 2, (k.begin + k.end) / 2);
        return all && !Ragged(g, row, col) ? TileClass::kFull : truth;
      },
      plan);
}

void DocumentMinimumOnly(const Scene& scene, TilePlan* plan) {
  ByDocuments(
      scene, plan, [](Range q, Range k, TileClass without, TileClass truth) {
        const bool full = without == TileClass::kFull && q.begin == k.begin;
        return full ? TileClass::kFull : truth;
      });
}

void DocumentOverlapStrict(const Scene& scene, TilePlan* plan) {
  ByDocuments(scene, plan, [](Range q, Range k, TileClass, TileClass truth) {
    const bool one = q.begin == q.end && k.begin == k.end;
    const bool overlap = q.begin < k.end && k.begin < q.end;
    return one || overlap ? truth : TileClass::kEmpty;
  });
}

void DocumentOverlapOneSided(const Scene& scene, TilePlan* plan) {
  ByDocuments(
      scene, plan, [](Range q, Range k, TileClass without, TileClass truth) {
        const bool valid = without != TileClass::kEmpty && k.begin <= q.end;
        return Marked(valid, truth);
      });
}

void DiagonalFull(const Scene& scene, TilePlan* plan) {
  const std::optional<Scene> without = SceneOf(scene, [](BlockPlanCase* asked) {
    DropCausal(&asked->mask);
    for (auto& [head, mask] : asked->head_mask) DropCausal(&mask);
  });
  if (!without) return;
  const TileGrid g = plan->grid;
  const AttentionForwardProblem& problem = scene.data.problem;
  const int64_t offset = scene.data.inputs.Offset(problem, 0);
  Rejudge(
      scene.mask,
      [&](int64_t head, int64_t row, int64_t col, TileClass truth) {
        const Range q = Queries(g, row), k = Keys(g, col);
        const bool crossed =
            q.begin + offset < k.end && k.begin < q.end + offset;
        if (!crossed || !Causal(problem.mask(head))) return truth;
        return ClassOf(without->mask, *plan, head, row, col);
      },
      plan);
}

void UnionWithoutMembership(const Scene& scene, TilePlan* plan) {
  const TileGrid g = plan->grid;
  Rejudge(
      scene.mask,
      [&](int64_t head, int64_t row, int64_t col, TileClass truth) {
        const auto selecting = Selecting(scene, g, head, row, col);
        const bool any = selecting.value_or(0) > 0 && !Ragged(g, row, col);
        return any ? TileClass::kFull : truth;
      },
      plan);
}

void SelectionRepeated(const Scene& scene, PlanTrace* trace) {
  for (TracedPass& pass : trace->forward) {
    std::map<int64_t, int64_t> steps;
    int64_t most = 0;
    for (size_t h = 0; h < pass.heads.size(); ++h) {
      std::vector<TileVisit> visits;
      steps.clear();
      for (const TileVisit& visit : pass.heads[h].visits) {
        const auto selecting =
            Selecting(scene, trace->grid, static_cast<int64_t>(h), visit.outer,
                      visit.inner);
        visits.insert(visits.end(), selecting.value_or(0) > 1 ? 2 : 1, visit);
        steps[visit.outer] += selecting.value_or(0) > 1 ? 2 : 1;
        most = std::max(most, steps[visit.outer]);
      }
      pass.heads[h].visits = visits;
    }
    if (pass.grid_width) pass.grid_width = std::max(*pass.grid_width, most);
    if (pass.width) pass.width = std::max(*pass.width, most);
  }
}

void InvalidSelectionKept(const Scene& scene, TilePlan* plan) {
  // Query tiles with fewer blocks than the most have -1 in their place.
  std::vector<int64_t> most;
  for (const optimized::TilePattern& pattern : plan->patterns) {
    most.push_back(pattern.by_query.MaxActive());
  }
  const TilePlan sound = *plan;
  Rejudge(
      scene.mask,
      [&](int64_t head, int64_t row, int64_t col, TileClass truth) {
        const auto p =
            static_cast<size_t>(sound.head_pattern[static_cast<size_t>(head)]);
        const bool clamped =
            col == 0 && sound.patterns[p].by_query.ActiveOf(row) < most[p];
        return clamped ? Marked(true, truth) : truth;
      },
      plan);
}

void WindowFromChunkStart(const Scene& scene, TilePlan* plan) {
  const TileGrid g = plan->grid;
  const AttentionForwardProblem& problem = scene.data.problem;
  const int64_t offset = scene.data.inputs.Offset(problem, 0);
  Rejudge(
      scene.mask,
      [&](int64_t head, int64_t row, int64_t col, TileClass truth) {
        const bool beyond = Keys(g, col).begin > Queries(g, row).begin + offset;
        const bool lost = beyond && Causal(problem.mask(head));
        return lost ? TileClass::kEmpty : truth;
      },
      plan);
}

void HeadsMergedByWeakHash(const Scene& scene, TilePlan* plan) {
  for (int64_t h = 1; h < scene.mask.heads(); ++h) {
    if (scene.mask.Differences(0, h) != 1) continue;
    plan->head_pattern[static_cast<size_t>(h)] = plan->head_pattern[0];
  }
}

void DenseInDisguise(const Scene& scene, TilePlan* plan) {
  Rejudge(
      scene.mask,
      [](int64_t, int64_t, int64_t, TileClass truth) {
        return Marked(true, truth);
      },
      plan);
}

constexpr PlanMutantInfo kPlannerBugs[] = {
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
};

}  // namespace

std::span<const PlanMutantInfo> PlannerBugs() { return kPlannerBugs; }

}  // namespace lockstep::verify::plan_bugs
