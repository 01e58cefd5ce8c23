// Simpler cases of block_plan: what shrinking tries.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "verify/case/block_plan.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/block_plan.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

BlockPlanCase* PlanPart(Case* c) { return &c->Get<BlockPlanCase>(); }

int64_t Tiles(int64_t length, int64_t tile) {
  return (length + tile - 1) / tile;
}

// So many tiles of that extent, the last as ragged as before or, where it
// shrinks, as it can be. Capacity and shards follow.
void SetAxis(bool q, int64_t tiles, int64_t extent, BlockPlanCase* p) {
  int64_t& tile = q ? p->tile_q : p->tile_k;
  const int64_t length = q ? p->q_len : p->kv_len;
  const int64_t before = Tiles(length, tile);
  const int64_t last = length - (before - 1) * tile;
  tile = extent;
  const bool whole = last == tile || length % tile == 0 || extent == 1;
  const int64_t now = whole ? extent : std::clamp<int64_t>(last, 1, extent - 1);
  SetLength(q, (tiles - 1) * extent + now, p);
  int64_t& width = q ? p->width_t : p->width;
  // Room stays room: what was wider than the grid is.
  if (width > before) {
    width = tiles + 1;
  } else {
    width = std::min(width, tiles);
  }
  for (int64_t* shards : {q ? &p->q_shards : &p->kv_shards}) {
    while (tiles % *shards != 0) --*shards;
  }
}

// A run, or all but so many tokens of it, and these queries or keys are gone.
// Requires: there is such a run.
void CutRun(bool q, size_t run, int64_t left, BlockPlanCase* p) {
  auto& runs = (q ? p->q_seg : p->kv_seg).rows[0];
  const int64_t cut = runs[run].length - left;
  runs[run].length = left;
  if (left == 0) {
    runs.erase(runs.begin() + static_cast<int64_t>(run));
    if (run > 0 && run < runs.size() && runs[run - 1].id == runs[run].id) {
      runs[run - 1].length += runs[run].length;
      runs.erase(runs.begin() + static_cast<int64_t>(run));
    }
  }
  auto& counts = q ? p->valid_q : p->valid_kv;
  const int64_t length = (q ? p->q_len : p->kv_len) - cut;
  for (int64_t& count : counts) count = std::min(count, length);
  (q ? p->q_len : p->kv_len) = length;
}

class PlanReducer : SequenceReducer<&PlanPart> {
 public:
  PlanReducer(std::span<const Case> sequence, size_t number)
      : SequenceReducer(sequence, number), p_(call().Get<BlockPlanCase>()) {}

  std::vector<std::vector<Case>> All() {
    Grid();
    Runs();
    Tables();
    return Take();
  }

 private:
  using Plan = BlockPlanCase;

  void Grid() {
    const int64_t rows = Tiles(p_.q_len, p_.tile_q);
    const int64_t cols = Tiles(p_.kv_len, p_.tile_k);
    for (const int64_t n : Below(std::min(rows, cols), 1)) {
      Try([n](Plan* p) {
        SetAxis(true, n, p->tile_q, p);
        SetAxis(false, n, p->tile_k, p);
      });
    }
    for (const int64_t n : Below(rows, 1)) {
      Try([n](Plan* p) { SetAxis(true, n, p->tile_q, p); });
    }
    for (const int64_t n : Below(cols, 1)) {
      Try([n](Plan* p) { SetAxis(false, n, p->tile_k, p); });
    }
    for (const int64_t n : Below(std::min(p_.tile_q, p_.tile_k), 1)) {
      Try([=](Plan* p) {
        SetAxis(true, rows, n, p);
        SetAxis(false, cols, n, p);
      });
    }
    for (const int64_t n : Below(p_.tile_q, 1)) {
      Try([=](Plan* p) { SetAxis(true, rows, n, p); });
      Try([n](Plan* p) { p->tile_q = n; });
    }
    for (const int64_t n : Below(p_.tile_k, 1)) {
      Try([=](Plan* p) { SetAxis(false, cols, n, p); });
      Try([n](Plan* p) { p->tile_k = n; });
    }
  }

  void Runs() {
    const auto has = [](const Segments& side, size_t run) {
      return !side.rows.empty() && side.rows[0].size() > run;
    };
    for (const bool q : {true, false}) {
      const Segments& side = q ? p_.q_seg : p_.kv_seg;
      if (side.rows.empty()) continue;
      for (size_t run = 0; run < side.rows[0].size(); ++run) {
        for (const int64_t n : Below(side.rows[0][run].length, 0)) {
          Try([=](Plan* p) {
            if (has(p->q_seg, run) && has(p->kv_seg, run) &&
                p->q_seg == p->kv_seg) {
              CutRun(!q, run, n, p);
            }
            if (has(q ? p->q_seg : p->kv_seg, run)) CutRun(q, run, n, p);
          });
          Try([=](Plan* p) {
            if (has(q ? p->q_seg : p->kv_seg, run)) CutRun(q, run, n, p);
          });
        }
      }
    }
  }

  void Tables() {
    Try([](Plan* p) {
      const bool stored = p->dialect != PlanDialect::kBlockMask;
      p->dialect = PlanDialect::kShrunk;
      p->blocks = p->blocks || !stored;
      p->padded = p->padded && stored;
      p->q_shards = p->kv_shards = 1;
    });
    Try([](Plan* p) { p->width = p->width_t = 0; });
    Try([](Plan* p) { p->width = 0; });
    Try([](Plan* p) { p->width_t = 0; });
    for (const int64_t n : Below(p_.width, 1)) {
      Try([n](Plan* p) { p->width = n; });
    }
    for (const int64_t n : Below(p_.width_t, 1)) {
      Try([n](Plan* p) { p->width_t = n; });
    }
    for (const int64_t n : Below(p_.q_shards, 1)) {
      Try([n](Plan* p) { p->q_shards = n; });
    }
    for (const int64_t n : Below(p_.kv_shards, 1)) {
      Try([n](Plan* p) { p->kv_shards = n; });
    }
    for (const int64_t n : Below(p_.slack, 0)) {
      Try([n](Plan* p) { p->slack = n; });
    }
    Try([](Plan* p) { p->blocks = p->dialect != PlanDialect::kBlockMask; });
    Try([](Plan* p) { p->padded = p->dialect == PlanDialect::kBlockMask; });
    Try([](Plan* p) { p->segments = true; });
  }

  const BlockPlanCase& p_;
};

}  // namespace

std::vector<std::vector<Case>> ReduceBlockPlan(std::span<const Case> sequence,
                                               size_t call) {
  std::vector<std::vector<Case>> smaller = PlanReducer(sequence, call).All();
  for (auto& of_mask : ReduceAttentionForward(sequence, call)) {
    smaller.push_back(std::move(of_mask));
  }
  return smaller;
}

}  // namespace lockstep::verify
