#include "optimized/tile_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "optimized/block_pool.h"
#include "optimized/tile_scan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/mask.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {
namespace {

bool AnyTerm(const MaskExpr& mask, const auto& predicate) {
  return predicate(mask) ||
         std::any_of(mask.children.begin(), mask.children.end(),
                     [&](const MaskExpr& m) { return AnyTerm(m, predicate); });
}

Status CheckTile(const char* axis, int64_t extent) {
  if (extent >= 1 && extent <= kMaxLength) return Status();
  return Status::Error(std::string("tiles: ") + axis + "=" +
                       std::to_string(extent) + " is out of range; want 1.." +
                       std::to_string(kMaxLength));
}

// Active tiles of one head; with `pool`, blocks of the partial ones.
TileList ScanTiles(TileScan* scan, int64_t head, int64_t rows,
                   BlockPoolBuilder* pool) {
  TileList list;
  for (int64_t row = 0; row < rows; ++row) {
    scan->Read(head, row);
    auto at = static_cast<size_t>(list.active());
    scan->AppendTo(&list);
    if (!pool) continue;
    for (; at < list.inner.size(); ++at) {
      if (list.classes[at] == TileClass::kFull) continue;
      list.block[at] = pool->Add(scan->Elements(list.inner[at]));
    }
  }
  return list;
}

// A mask that means the same for every head that has it.
bool SharedByHeads(const MaskExpr& mask, const AttentionForwardInputs& inputs) {
  return !AnyTerm(mask, [&](const MaskExpr& m) {
    return m.kind == MaskExpr::Kind::kDense &&
           inputs.dense_masks[m.dense].shape[1] != 1;
  });
}

// The first head with the same mask; `head` itself if there is none.
int64_t FirstHeadLike(int64_t head, const AttentionForwardProblem& problem,
                      const AttentionForwardInputs& inputs) {
  const MaskExpr& mask = problem.mask(head);
  if (!SharedByHeads(mask, inputs)) return head;
  int64_t first = 0;
  while (!(problem.mask(first) == mask)) ++first;
  return first;
}

// Only with blocks do equal patterns mean equal masks.
int32_t PatternId(TilePattern pattern, bool blocks,
                  std::vector<TilePattern>* patterns) {
  const auto found =
      blocks ? std::find(patterns->begin(), patterns->end(), pattern)
             : patterns->end();
  const auto id = static_cast<int32_t>(found - patterns->begin());
  if (found == patterns->end()) patterns->push_back(std::move(pattern));
  return id;
}

}  // namespace

int64_t TileList::Count(TileClass c) const {
  return std::count(classes.begin(), classes.end(), c);
}

int64_t TileList::MaxActive() const {
  int64_t most = 0;
  for (int64_t o = 0; o < outer(); ++o) most = std::max(most, ActiveOf(o));
  return most;
}

TileList Transpose(const TileList& list, int64_t inner_extent) {
  TileList result;
  result.start.assign(static_cast<size_t>(inner_extent) + 1, 0);
  for (const int32_t i : list.inner) ++result.start[static_cast<size_t>(i) + 1];
  for (size_t i = 1; i < result.start.size(); ++i) {
    result.start[i] += result.start[i - 1];
  }
  result.inner.resize(list.inner.size());
  result.classes.resize(list.inner.size());
  result.block.resize(list.inner.size());
  std::vector<int64_t> next(result.start.begin(), result.start.end() - 1);
  for (int64_t o = 0; o < list.outer(); ++o) {
    for (int64_t n = list.start[static_cast<size_t>(o)];
         n < list.start[static_cast<size_t>(o) + 1]; ++n) {
      const auto from = static_cast<size_t>(n);
      const auto to =
          static_cast<size_t>(next[static_cast<size_t>(list.inner[from])]++);
      result.inner[to] = static_cast<int32_t>(o);
      result.classes[to] = list.classes[from];
      result.block[to] = list.block[from];
    }
  }
  return result;
}

Status CheckTileOptions(const AttentionForwardProblem& problem,
                        const TileOptions& options) {
  for (const auto& [axis, extent] :
       {std::pair{"tile_q", options.tile_q}, {"tile_k", options.tile_k}}) {
    const Status status = CheckTile(axis, extent);
    if (!status.ok()) return status;
  }
  if (options.blocks && options.tile_q * options.tile_k > kMaxBlockElements) {
    return Status::Error("tiles: a block of " + std::to_string(options.tile_q) +
                         "x" + std::to_string(options.tile_k) +
                         " has more than " + std::to_string(kMaxBlockElements) +
                         " elements; plan it without blocks");
  }
  if (options.segments || !problem.segments) return Status();
  for (const MaskExpr& mask : problem.masks) {
    if (AnyTerm(mask, [](const MaskExpr& m) {
          return m.kind == MaskExpr::Kind::kSink;
        })) {
      return Status::Error(
          "tiles: a sink term counts from the start of a segment; plan it "
          "with the segment ids");
    }
  }
  return Status();
}

TileList ClassifyTiles(const AttentionForwardProblem& problem,
                       const AttentionForwardInputs& inputs, int64_t batch,
                       int64_t head, const TileOptions& options) {
  TileScan scan(problem, inputs, batch, options);
  const TileGrid grid{problem.q_len, problem.kv_len, options.tile_q,
                      options.tile_k};
  return ScanTiles(&scan, head, grid.rows(), nullptr);
}

Result<TilePlan> PlanTiles(const AttentionForwardProblem& problem,
                           const AttentionForwardInputs& inputs, int64_t batch,
                           const TileOptions& options) {
  Status status = Validate(problem);
  if (status.ok() && (batch < 0 || batch >= problem.batch)) {
    status = Status::Error("tiles: no batch row " + std::to_string(batch) +
                           " of " + std::to_string(problem.batch));
  }
  if (status.ok()) status = CheckTileOptions(problem, options);
  if (!status.ok()) return status;
  TilePlan plan;
  plan.grid = {problem.q_len, problem.kv_len, options.tile_q, options.tile_k};
  plan.options = options;
  TileScan scan(problem, inputs, batch, options);
  BlockPoolBuilder pool(options.tile_q, options.tile_k);
  for (int64_t head = 0; head < problem.q_heads; ++head) {
    const int64_t first = FirstHeadLike(head, problem, inputs);
    if (first < head) {
      plan.head_pattern.push_back(
          plan.head_pattern[static_cast<size_t>(first)]);
      continue;
    }
    TilePattern pattern;
    pattern.by_query = ScanTiles(&scan, head, plan.grid.rows(),
                                 options.blocks ? &pool : nullptr);
    pattern.by_key = Transpose(pattern.by_query, plan.grid.cols());
    plan.head_pattern.push_back(
        PatternId(std::move(pattern), options.blocks, &plan.patterns));
  }
  plan.pool = pool.Take();
  return plan;
}

}  // namespace lockstep::optimized
