#include "verify/domain/attention_forward_parts.h"

#include <algorithm>
#include <utility>

#include "verify/case/attention_forward/case.h"

namespace lockstep::verify {
namespace {

using MaskKind = MaskExpr::Kind;

constexpr int kDeepest = 3;

// Lengths that masks are sensitive to.
int64_t DrawBound(Draw* draw, int64_t edge, int64_t length) {
  return draw->Of<int64_t>({0, 1, 2, 3, std::max<int64_t>(edge - 1, 0), edge,
                            edge + 1, std::max<int64_t>(length - 1, 0), length,
                            length + 1});
}

DenseSource DrawDense(Draw* draw, const DomainOptions& options,
                      const AttentionForwardCase& c) {
  DenseSource source;
  if (draw->OneIn(2)) {
    source.kind = DenseSource::Kind::kRandom;
    source.density.value = draw->Of({0.5, 0.8, 0.2, 0.97, 0.03, 0.0, 1.0});
    return source;
  }
  source.kind = DenseSource::Kind::kBlocks;
  source.density.value = draw->Of({0.5, 0.3, 0.8});
  const int64_t tile_q = options.tile_q;
  const int64_t tile_kv = options.tile_kv;
  // Clustered, tile-aligned, shifted against the tiles, whole columns, whole
  // rows (some empty).
  const auto block =
      draw->Of<std::pair<int64_t, int64_t>>({{2, 2},
                                             {tile_q, tile_kv},
                                             {tile_q - 1, tile_kv + 1},
                                             {c.q_len, 1},
                                             {1, c.kv_len},
                                             {1, 3}});
  source.block_q = std::max<int64_t>(block.first, 1);
  source.block_k = std::max<int64_t>(block.second, 1);
  return source;
}

MaskExpr DrawTerm(Draw* draw, const DomainOptions& options,
                  AttentionForwardCase* c) {
  MaskExpr term;
  const int64_t edge = options.tile_kv;
  switch (draw->In(0, 8)) {
    case 0:
    case 1:
      term.kind = MaskKind::kCausal;
      break;
    case 2:
    case 3:
      term.kind = MaskKind::kWindow;
      if (!draw->OneIn(4)) term.left = DrawBound(draw, edge, c->kv_len);
      if (!draw->OneIn(4)) term.right = DrawBound(draw, edge, c->kv_len);
      break;
    case 4:
      term.kind = MaskKind::kChunked;
      term.chunk = std::max<int64_t>(DrawBound(draw, edge, c->kv_len), 1);
      break;
    case 5: {
      term.kind = MaskKind::kPrefix;
      const int64_t counts = draw->OneIn(2) ? c->batch : 1;
      for (int64_t b = 0; b < counts; ++b) {
        term.prefix.push_back(draw->In(0, c->kv_len + 1));
      }
      break;
    }
    case 6:
      term.kind = MaskKind::kSink;
      term.tokens = draw->Of<int64_t>({1, 2, 3, 0, c->kv_len});
      break;
    case 7:
      term.kind = MaskKind::kDense;
      term.dense = c->dense.size();
      c->dense.push_back(DrawDense(draw, options, *c));
      break;
    default:
      term.kind = MaskKind::kFull;
      break;
  }
  return term;
}

MaskExpr DrawTree(Draw* draw, const DomainOptions& options, int depth,
                  MaskKind above, AttentionForwardCase* c) {
  if (depth == 0 || draw->OneIn(2)) return DrawTerm(draw, options, c);
  MaskExpr tree;
  tree.kind = above == MaskKind::kAnd ? MaskKind::kOr : MaskKind::kAnd;
  for (int64_t n = draw->Of<int64_t>({2, 2, 3}); n > 0; --n) {
    tree.children.push_back(DrawTree(draw, options, depth - 1, tree.kind, c));
  }
  return tree;
}

MaskExpr DrawMask(Draw* draw, const DomainOptions& options,
                  AttentionForwardCase* c) {
  MaskExpr mask;
  switch (draw->In(0, 5)) {
    case 0:
      return mask;
    case 1:
      mask.kind = MaskKind::kCausal;
      return mask;
    case 2:
    case 3:
      return DrawTerm(draw, options, c);
    default:
      return DrawTree(draw, options, kDeepest,
                      draw->OneIn(2) ? MaskKind::kAnd : MaskKind::kOr, c);
  }
}

// Ends of documents: anywhere, one by one, or around the tiles' edges.
std::vector<SegmentRun> DrawRuns(Draw* draw, int64_t edge, int64_t length) {
  const int64_t pattern = draw->In(0, 5);
  const int64_t ids = draw->In(0, 4);
  const auto first = static_cast<int32_t>(draw->In(-2, 3));
  std::vector<SegmentRun> runs;
  for (int64_t at = 0; at < length;) {
    int64_t run = draw->In(1, length);
    if (pattern == 1) run = 1;
    if (pattern == 2) run = (at / edge + 1) * edge - at + draw->In(-1, 1);
    if (pattern >= 3) run = draw->In(1, std::max<int64_t>(length / 2, 1));
    run = std::clamp<int64_t>(run, 1, length - at);
    const auto n = static_cast<int32_t>(runs.size());
    // Counted; 0 1 0; equal in their low eight bits; falling; any.
    int32_t id = n;
    if (ids == 1) id = n % 2;
    if (ids == 2) id = 256 * (n % 3);
    if (ids == 3) id = first - n;
    if (ids == 4) id = static_cast<int32_t>(draw->In(0, 2));
    if (!runs.empty() && runs.back().id == id) {
      runs.back().length += run;
    } else {
      runs.push_back({id, run});
    }
    at += run;
  }
  return runs;
}

// The same documents on a shorter or longer axis.
std::vector<SegmentRun> Fit(std::vector<SegmentRun> runs, int64_t length) {
  int64_t at = 0;
  size_t kept = 0;
  for (; kept < runs.size() && at < length; ++kept) {
    runs[kept].length = std::min(runs[kept].length, length - at);
    at += runs[kept].length;
  }
  runs.resize(kept);
  runs.back().length += length - at;
  return runs;
}

void DrawCounts(Draw* draw, int64_t batch, int64_t edge, int64_t length,
                std::vector<int64_t>* counts) {
  counts->clear();
  const int64_t n = draw->OneIn(2) ? batch : 1;
  for (int64_t b = 0; b < n; ++b) {
    const int64_t count = draw->Of<int64_t>(
        {draw->In(0, length), length - 1, 0, 1, edge, length});
    counts->push_back(std::clamp<int64_t>(count, 0, length));
  }
}

}  // namespace

int64_t DrawLength(Draw* draw, int64_t edge) {
  switch (draw->In(0, 9)) {
    case 0:
      return draw->In(1, 3);
    case 1:
    case 2:
    case 3:
      return draw->In(1, 9);
    case 4:
    case 5:
      return std::max<int64_t>(draw->In(1, 2) * edge + draw->In(-1, 1), 1);
    case 6:
      return std::max<int64_t>(draw->In(1, 6) * edge + draw->In(-1, 1), 1);
    case 7:
      return draw->In(10, 17);
    case 8:
      return draw->Of<int64_t>({15, 16, 17, 31, 32, 33});
    default:
      return draw->OneIn(3) ? draw->Of<int64_t>({63, 64, 65, 127, 129})
                            : draw->In(1, 20);
  }
}

void DrawMasks(Draw* draw, const DomainOptions& options,
               AttentionForwardCase* c) {
  c->mask = DrawMask(draw, options, c);
  if (c->q_heads > 1 && draw->OneIn(6)) {
    for (int64_t head = 0; head < c->q_heads; ++head) {
      if (draw->OneIn(2)) c->head_mask[head] = DrawMask(draw, options, c);
    }
  }
  switch (draw->In(0, 5)) {
    case 0:
    case 1:
      c->align.kind = Alignment::Kind::kBottomRight;
      break;
    case 2:
      c->align.kind = Alignment::Kind::kOffset;
      c->align.offset =
          draw->Of<int64_t>({1, -1, 2, draw->In(-3, c->kv_len),
                             c->kv_len - c->q_len, c->kv_len, -c->q_len});
      break;
    default:
      break;
  }
}

void DrawPayload(Draw* draw, const DomainOptions& options,
                 AttentionForwardCase* c) {
  if (draw->OneIn(4)) {
    c->q_seg.kind = c->kv_seg.kind = Segments::Kind::kRuns;
    const int64_t rows = draw->OneIn(2) ? c->batch : 1;
    for (int64_t b = 0; b < rows; ++b) {
      c->q_seg.rows.push_back(DrawRuns(draw, options.tile_q, c->q_len));
      c->kv_seg.rows.push_back(draw->OneIn(2)
                                   ? DrawRuns(draw, options.tile_kv, c->kv_len)
                                   : Fit(c->q_seg.rows.back(), c->kv_len));
    }
  }
  if (draw->OneIn(6)) {
    DrawCounts(draw, c->batch, options.tile_q, c->q_len, &c->valid_q);
  }
  if (draw->OneIn(5)) {
    DrawCounts(draw, c->batch, options.tile_kv, c->kv_len, &c->valid_kv);
  }
}

}  // namespace lockstep::verify
