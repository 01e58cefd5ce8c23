#include "verify/domain/block_plan.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "verify/case/attention_forward/case.h"
#include "verify/case/block_plan.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

// Pairs times heads: the judge looks at each a few times.
constexpr int64_t kMostPairs = int64_t{1} << 14;

// The contract's largest offset.
constexpr int64_t kFarthest = int64_t{1} << 40;

int64_t TilesOf(int64_t length, int64_t tile) {
  return (length + tile - 1) / tile;
}

// Tiles whose count needs another integer: the axis is long, the other short.
void DrawManyTiles(Draw* draw, BlockPlanCase* p) {
  const bool q = draw->OneIn(3);
  int64_t* lengths[] = {&p->q_len, &p->kv_len};
  int64_t* tiles[] = {&p->tile_q, &p->tile_k};
  *tiles[1 - q] = draw->Of<int64_t>({1, 1, 1, 2});
  *tiles[q] = draw->Of<int64_t>({1, 2});
  const bool wide = draw->OneIn(16);
  const int64_t count =
      wide ? draw->Of<int64_t>({32769, 32768, 32770})
           : draw->Of<int64_t>({128, 129, 130, 127, 255, 256, 257});
  *lengths[1 - q] = (count - 1) * *tiles[1 - q] + 1;
  *lengths[q] = wide ? 1 : draw->In(1, 3);
}

// So many tiles that their blocks need another integer, if all differ.
void DrawManyBlocks(Draw* draw, BlockPlanCase* p) {
  p->tile_q = p->tile_k = draw->In(3, 4);
  p->q_len = draw->In(11, 13) * p->tile_q;
  p->kv_len = draw->In(12, 14) * p->tile_k;
  p->q_heads = 1;
}

// Tiles of more than a thousand elements, which prints and samples shorten.
void DrawLargeTiles(Draw* draw, BlockPlanCase* p) {
  p->tile_q = draw->Of<int64_t>({32, 33, 64});
  p->tile_k = draw->Of<int64_t>({32, 64});
  p->q_len = draw->In(1, 2) * p->tile_q + draw->Of<int64_t>({0, 0, -1, 1});
  p->kv_len = draw->In(1, 2) * p->tile_k + draw->Of<int64_t>({0, 0, -1, 1});
}

int64_t DrawTile(Draw* draw, int64_t edge) {
  return draw->Of<int64_t>(
      {edge, edge, edge, 2, 2, 1, 3, 5, 2 * edge, edge + 1});
}

void DrawPlanShape(Draw* draw, const DomainOptions& options, BlockPlanCase* p) {
  using enum PlanDialect;
  p->dialect = draw->Of({kShrunk, kShrunk, kShrunk, kSplash, kSplash, kFlatList,
                         kFlatList, kBlockMask});
  p->q_heads = draw->Of<int64_t>({1, 1, 1, 1, 2, 2, 3, 4});
  if (draw->OneIn(16)) {
    DrawManyTiles(draw, p);
    p->q_heads = 1;
  } else if (draw->OneIn(48)) {
    DrawManyBlocks(draw, p);
  } else if (draw->OneIn(12)) {
    DrawLargeTiles(draw, p);
    p->q_heads = 1;
  } else {
    p->tile_q = DrawTile(draw, options.tile_q);
    p->tile_k = draw->OneIn(2) ? p->tile_q : DrawTile(draw, options.tile_kv);
    p->q_len = DrawLength(draw, p->tile_q);
    p->kv_len = draw->OneIn(3) ? p->q_len : DrawLength(draw, p->tile_k);
    while (p->q_len * p->kv_len * p->q_heads > kMostPairs) {
      if (p->q_heads > 1) {
        p->q_heads = 1;
      } else {
        int64_t& longer = p->q_len < p->kv_len ? p->kv_len : p->q_len;
        longer = (longer + 1) / 2;
      }
    }
  }
  if (p->dialect == kSplash || p->dialect == kFlatList) {
    p->q_len = TilesOf(p->q_len, p->tile_q) * p->tile_q;
    p->kv_len = TilesOf(p->kv_len, p->tile_k) * p->tile_k;
  }
  p->valid_q = {p->q_len};
  p->valid_kv = {p->kv_len};
}

// Heads whose masks are nearly alike: what a hash or a cache may take for one.
void DrawTwins(Draw* draw, BlockPlanCase* p) {
  if (p->q_heads == 1 || !draw->OneIn(3) || !p->dense.empty()) return;
  const int64_t head = draw->In(0, p->q_heads - 1);
  MaskExpr term;
  term.kind = MaskExpr::Kind::kWindow;
  // The first loses one pair where the lengths are equal.
  const int64_t bound = draw->Of<int64_t>(
      {std::max(p->q_len, p->kv_len) - 2, draw->In(0, p->kv_len), p->tile_k});
  (draw->OneIn(4) ? term.right : term.left) = std::max<int64_t>(bound, 0);
  MaskExpr twin;
  twin.kind = MaskExpr::Kind::kAnd;
  twin.children = {p->mask, term};
  p->head_mask[head] = p->mask.kind == MaskExpr::Kind::kFull ? term : twin;
}

// Where there are many tiles, every one may have a block of its own.
void DrawManyContents(Draw* draw, BlockPlanCase* p) {
  const int64_t tiles =
      TilesOf(p->q_len, p->tile_q) * TilesOf(p->kv_len, p->tile_k);
  if (tiles <= 128 || p->tile_q * p->tile_k < 9 || draw->OneIn(2)) return;
  DenseSource source;
  source.kind = DenseSource::Kind::kRandom;
  source.density.value = 0.5;
  p->dense = {source};
  p->head_mask.clear();
  p->mask = {};
  p->mask.kind = MaskExpr::Kind::kDense;
  p->mask.dense = 0;
}

// Numbers that 32 bits do not hold, or just so, in place of some bounds.
void DrawExtremes(Draw* draw, MaskExpr* mask) {
  using Kind = MaskExpr::Kind;
  const int64_t far = draw->Of<int64_t>(
      {kFarthest, int64_t{1} << 31, (int64_t{1} << 31) - 1, int64_t{1} << 32});
  switch (mask->kind) {
    case Kind::kWindow:
      (draw->OneIn(2) ? mask->left : mask->right) = far;
      break;
    case Kind::kChunked:
      mask->chunk = far;
      break;
    case Kind::kPrefix:
      mask->prefix = {far};
      break;
    case Kind::kSink:
      mask->tokens = far;
      break;
    default:
      break;
  }
  for (MaskExpr& child : mask->children) DrawExtremes(draw, &child);
}

void DrawFarAway(Draw* draw, BlockPlanCase* p) {
  DrawExtremes(draw, &p->mask);
  if (draw->OneIn(2)) return;
  const int64_t far =
      draw->Of<int64_t>({kFarthest, int64_t{1} << 31, (int64_t{1} << 31) - 1});
  p->align.kind = Alignment::Kind::kOffset;
  p->align.offset = draw->OneIn(2) ? -far : far;
}

std::vector<SegmentRun> RunsOf(const std::vector<int32_t>& ids) {
  std::vector<SegmentRun> runs;
  for (const int32_t id : ids) {
    if (runs.empty() || runs.back().id != id) runs.push_back({id, 0});
    ++runs.back().length;
  }
  return runs;
}

// Ids of one axis by a pattern that sparse masks are made of.
std::vector<int32_t> DrawIds(Draw* draw, int64_t pattern, bool q, int64_t tile,
                             int64_t length) {
  std::vector<int32_t> ids(static_cast<size_t>(length), 0);
  const auto fill = [&](int64_t from, int64_t count, int64_t id) {
    for (int64_t i = std::max<int64_t>(from, 0);
         i < std::min(from + count, length); ++i) {
      ids[static_cast<size_t>(i)] = static_cast<int32_t>(id);
    }
  };
  switch (pattern) {
    case 0:  // one-token runs in a sea of one id
      for (int64_t n = draw->In(0, 2); n >= 0; --n) {
        fill(draw->In(0, length - 1), 1, draw->Of<int64_t>({1, 2, -1}));
      }
      break;
    case 1: {  // unsorted, about a tile long
      for (int64_t at = 0; at < length;) {
        const int64_t run = draw->In(1, tile + 1);
        fill(at, run, draw->In(-1, 3));
        at += run;
      }
      break;
    }
    case 2: {  // two documents, then padding that matches nothing
      const int64_t first = draw->In(0, length);
      const int64_t second = draw->In(first, length);
      fill(first, length, 1);
      fill(second, length, q ? -1 : -2);
      break;
    }
    default:  // whole tiles without a partner
      fill(draw->In(0, TilesOf(length, tile) - 1) * tile, tile, q ? 1 : 2);
      break;
  }
  return ids;
}

// Every n-th run of w tokens sees each other, on both axes.
std::vector<int32_t> Strided(int64_t run, int64_t period, int64_t length) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < length; ++i) {
    ids.push_back(static_cast<int32_t>(i / run % period));
  }
  return ids;
}

void DrawSparse(Draw* draw, BlockPlanCase* p) {
  p->q_seg.kind = p->kv_seg.kind = Segments::Kind::kRuns;
  const int64_t pattern = draw->In(0, 4);
  if (pattern == 4) {
    const int64_t run = draw->Of<int64_t>({1, 2, p->tile_k, p->tile_q});
    const int64_t period = draw->In(2, 3);
    p->q_seg.rows = {RunsOf(Strided(run, period, p->q_len))};
    p->kv_seg.rows = {RunsOf(Strided(run, period, p->kv_len))};
    return;
  }
  const auto q_ids = DrawIds(draw, pattern, true, p->tile_q, p->q_len);
  // Self-attention has the same ids on both sides.
  const bool alike = p->q_len == p->kv_len && pattern < 2 && draw->OneIn(2);
  p->q_seg.rows = {RunsOf(q_ids)};
  p->kv_seg.rows = {RunsOf(
      alike ? q_ids : DrawIds(draw, pattern, false, p->tile_k, p->kv_len))};
}

int64_t DrawShards(Draw* draw, int64_t tiles) {
  int64_t shards = draw->Of<int64_t>({1, 2, 2, 3, 4});
  while (tiles % shards != 0) --shards;
  return shards;
}

int64_t DrawWidth(Draw* draw, int64_t tiles) {
  if (draw->OneIn(3)) return 0;
  // The code that makes the tables refuses widths that are too small.
  return draw->Of<int64_t>(
      {tiles, tiles + 1, 2 * tiles, draw->In(1, 2 * tiles)});
}

// What of it the tables have to say, and with how much room.
void DrawTables(Draw* draw, BlockPlanCase* p) {
  using enum PlanDialect;
  const int64_t rows = TilesOf(p->q_len, p->tile_q);
  const int64_t cols = TilesOf(p->kv_len, p->tile_k);
  p->blocks = p->dialect != kBlockMask && !draw->OneIn(4);
  p->padded = p->dialect == kBlockMask;
  if (p->dialect == kShrunk) {
    p->padded = draw->OneIn(4);
    if (draw->OneIn(3)) {
      p->width = std::min(DrawWidth(draw, cols), 2 * cols);
      p->width_t = std::min(DrawWidth(draw, rows), 2 * rows);
    }
  }
  if (p->dialect == kSplash) p->q_shards = DrawShards(draw, rows);
  if (p->dialect == kFlatList) {
    const bool q = draw->OneIn(2);
    (q ? p->q_shards : p->kv_shards) = DrawShards(draw, q ? rows : cols);
  }
  if (p->q_seg.kind != Segments::Kind::kNone && draw->OneIn(6)) {
    p->segments = false;
  }
  if (draw->OneIn(12)) p->slack = draw->In(1, 4);
}

// The case again, with something changed that tables may have kept.
Case NextPlanCall(Draw* draw, Case c) {
  BlockPlanCase& p = c.Get<BlockPlanCase>();
  switch (draw->In(0, 4)) {
    case 0:
      p.mask = {};
      p.mask.kind = MaskExpr::Kind::kCausal;
      p.head_mask.clear();
      p.dense.clear();
      break;
    case 1:
      p.valid_kv = {draw->In(0, p.kv_len)};
      break;
    case 2:
      p.q_seg = p.kv_seg = {};
      DrawSparse(draw, &p);
      break;
    case 3:
      p.q_seg = p.kv_seg = {};
      break;
    default:
      break;
  }
  c.seed += 1;
  return c;
}

}  // namespace

std::vector<Case> DrawBlockPlan(const OpRow& op, Draw* draw,
                                const DomainOptions& options) {
  Case c = EmptyCase(op);
  BlockPlanCase& p = c.Get<BlockPlanCase>();
  DrawPlanShape(draw, options, &p);
  DomainOptions edges = options;
  edges.tile_q = p.tile_q;
  edges.tile_kv = p.tile_k;
  DrawMasks(draw, edges, &p);
  DrawManyContents(draw, &p);
  if (draw->OneIn(24)) DrawFarAway(draw, &p);
  DrawTwins(draw, &p);
  if (draw->OneIn(4)) {
    DrawSparse(draw, &p);
  } else {
    DrawPayload(draw, edges, &p);
  }
  DrawTables(draw, &p);
  c.seed = static_cast<uint64_t>(draw->In(0, 1 << 20));
  // Sinks that count from a segment's start need the segments.
  if (!ValidateCase(c).ok()) p.segments = true;
  c = NormalForm(c).value_or(EmptyCase(op));
  std::vector<Case> sequence = {c};
  if (draw->OneIn(12)) {
    const std::optional<Case> next = NormalForm(NextPlanCall(draw, c));
    if (next) sequence.push_back(*next);
  }
  return sequence;
}

}  // namespace lockstep::verify
