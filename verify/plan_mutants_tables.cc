#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "optimized/tile_plan.h"
#include "optimized/worklist.h"
#include "verify/dialects/block_mask.h"
#include "verify/dialects/shrunk.h"
#include "verify/dialects/splash.h"
#include "verify/plan_mutants_trials.h"
#include "verify/plan_scene.h"

namespace lockstep::verify::plan_trials {
namespace {

using optimized::TileGrid;
using optimized::Worklist;

ShrunkTables Tables(const PlanScene& scene, int64_t capacity = 0) {
  return std::move(ExportShrunk(scene.plan, capacity, capacity).value());
}

PlanTrial Lifted(const ShrunkTables& tables, const PlanScene& scene) {
  return {std::move(LiftShrunk(tables).value()), scene.mask};
}

PlanScene Padded(const TileGrid& grid, const PairVisible& visible) {
  optimized::TileOptions options;
  options.boundary = optimized::Boundary::kPadded;
  return MakeScene(grid, 1, visible, options);
}

PlanTrial Lifted(const BlockMaskTables& tables, const PlanScene& scene) {
  return {std::move(LiftBlockMask(tables).value()), scene.mask};
}

void CutTo(int64_t width, Worklist* work) {
  Worklist cut = *work;
  cut.width = cut.grid_width = width;
  for (const auto member :
       {&Worklist::data_next, &Worklist::block_mask, &Worklist::mask_next}) {
    (cut.*member).clear();
    for (int64_t o = 0; o < work->outer; ++o) {
      const auto first = (work->*member).begin() + o * work->width;
      (cut.*member).insert((cut.*member).end(), first, first + width);
    }
  }
  *work = std::move(cut);
}

// Three active tiles of 2 x 2, and one step forward.
PlanTrial CutForward(const PairVisible& visible, bool broken) {
  const PlanScene scene = MakeScene({4, 4, 2, 2}, 1, visible);
  ShrunkTables tables = Tables(scene);
  if (broken) CutTo(1, &tables.patterns[0].forward);
  return Lifted(tables, scene);
}

}  // namespace

PlanTrial StatesSwapped(bool broken) {
  const PlanScene scene = MakeScene(kEight, 1, Causal);
  ShrunkTables tables = Tables(scene);
  for (Worklist* work :
       {&tables.patterns[0].forward, &tables.patterns[0].transposed}) {
    for (int32_t& state : work->block_mask) {
      if (broken && state != 0) state = 3 - state;
    }
  }
  return Lifted(tables, scene);
}

PlanTrial FullTilesDropped(bool broken) {
  const PlanScene scene = Padded(kEight, Causal);
  BlockMaskTables tables = std::move(ExportBlockMask(scene.plan).value());
  if (broken) {
    std::fill(tables.full_kv.num.begin(), tables.full_kv.num.end(), 0);
    std::fill(tables.full_q.num.begin(), tables.full_q.num.end(), 0);
  }
  return Lifted(tables, scene);
}

PlanTrial WholeGridDataNext(bool broken) {
  const PlanScene scene = MakeScene(kEight, 1, Documents);
  SplashTables tables = std::move(ExportSplash(scene.plan, 1).value());
  const Result<SplashTables> whole = ExportSplash(scene.plan, 1, false);
  for (int64_t row = 0; broken && row < tables.forward.rows; ++row) {
    for (int64_t step = 0; step < tables.forward.cols; ++step) {
      tables.forward.data_next[tables.forward.At(0, row, step)] =
          whole->forward.data_next[whole->forward.At(0, row, step)];
    }
  }
  return {std::move(LiftSplash(tables).value()), scene.mask};
}

PlanTrial WidthOfOtherDirection(bool broken) {
  // Tiles [[2, 0], [2, 0]]: one step forward, two transposed.
  const PlanScene scene = MakeScene(
      {4, 4, 2, 2}, 1, [](int64_t, int64_t, int64_t j) { return j < 2; });
  ShrunkTables tables = Tables(scene);
  if (broken) {
    CutTo(tables.patterns[0].forward.grid_width,
          &tables.patterns[0].transposed);
  }
  return Lifted(tables, scene);
}

PlanTrial WidthOfLastRow(bool broken) {
  return CutForward([](int64_t, int64_t i, int64_t j) { return j >= i; },
                    broken);
}

PlanTrial WidthOfFirstRow(bool broken) { return CutForward(Causal, broken); }

PlanTrial MaskNextLate(bool broken) {
  const PlanScene scene = MakeScene(kEight, 1, Documents);
  ShrunkTables tables = Tables(scene);
  Worklist& work = tables.patterns[0].forward;
  int32_t before = 0;
  for (size_t cell = 0; broken && cell < work.block_mask.size(); ++cell) {
    if (work.block_mask[cell] == 1) std::swap(before, work.mask_next[cell]);
  }
  return Lifted(tables, scene);
}

PlanTrial ForwardTablesTransposed(bool broken) {
  const PlanScene scene = MakeScene(kEight, 1, Documents);
  ShrunkTables tables = Tables(scene);
  if (broken) tables.patterns[0].transposed = tables.patterns[0].forward;
  return Lifted(tables, scene);
}

PlanTrial TransposeLosesClasses(bool broken) {
  const PlanScene scene = MakeScene(kEight, 1, Causal);
  ShrunkTables tables = Tables(scene);
  const auto ones = static_cast<int32_t>(tables.pool.Append());
  for (int64_t element = 0; element < 4; ++element) {
    tables.pool.Set(ones, element / 2, element % 2, true);
  }
  Worklist& work = tables.patterns[0].transposed;
  for (size_t cell = 0; broken && cell < work.block_mask.size(); ++cell) {
    if (work.block_mask[cell] != 2) continue;
    work.block_mask[cell] = 1;
    work.mask_next[cell] = ones;
  }
  return Lifted(tables, scene);
}

PlanTrial IndexWraps(bool broken) {
  const PlanScene scene = MakeScene(
      {1, 130, 1, 1}, 1, [](int64_t, int64_t, int64_t) { return true; });
  ShrunkTables tables = Tables(scene);
  if (broken) {
    tables.inner_bytes = 1;
    for (int32_t& tile : tables.patterns[0].forward.data_next) {
      tile = static_cast<int8_t>(tile);
    }
  }
  return Lifted(tables, scene);
}

PlanTrial PaddingNotFetchable(bool broken) {
  const PlanScene scene = MakeScene(kEight, 1, Gaps);
  ShrunkTables tables = Tables(scene);
  Worklist& work = tables.patterns[0].forward;
  for (size_t cell = 0; broken && cell < work.block_mask.size(); ++cell) {
    if (work.block_mask[cell] == 0) work.data_next[cell] = -1;
  }
  return Lifted(tables, scene);
}

PlanTrial PaddingWithState(bool broken) {
  const PlanScene scene = MakeScene(kEight, 1, Causal);
  ShrunkTables tables = Tables(scene, 6);
  Worklist& work = tables.patterns[0].forward;
  for (int64_t o = 0; broken && o < work.outer; ++o) {
    work.block_mask[work.At(o, 5)] = 2;
  }
  return Lifted(tables, scene);
}

PlanTrial TablesOfOtherWindow(bool broken) {
  const PlanScene cached = MakeScene(kEight, 1, Window);
  const PlanScene asked = MakeScene(kEight, 1, Causal);
  return Lifted(Tables(cached), broken ? asked : cached);
}

PlanTrial CapturedDocuments(bool broken) {
  const auto documents = [](int64_t first) {
    return MakeScene({4, 4, 2, 2}, 1, [=](int64_t, int64_t i, int64_t j) {
      return j <= i && (i < first) == (j < first);
    });
  };
  const PlanScene first = documents(2);
  const PlanScene second = documents(1);
  return Lifted(Tables(first), broken ? second : first);
}

PlanTrial CompactColumnsTransposed(bool broken) {
  const PlanScene scene = Padded(kEight, Window);
  BlockMaskTables tables = std::move(ExportBlockMask(scene.plan).value());
  // No key list has more than two tiles: two columns are enough.
  const BlockMaskTables wide = tables;
  tables.kv_columns = 2;
  for (const auto member : {&BlockMaskTables::kv, &BlockMaskTables::full_kv}) {
    std::vector<int32_t>& indices = (tables.*member).indices;
    indices.clear();
    for (size_t row = 0; row < 4; ++row) {
      const auto from =
          (wide.*member).indices.begin() + static_cast<std::ptrdiff_t>(4 * row);
      indices.insert(indices.end(), from, from + 2);
    }
  }
  if (broken) tables.q.num[2] = tables.q.num[3] = 0;  // beyond two columns
  return Lifted(tables, scene);
}

PlanTrial CropComparesIndices(bool broken) {
  // Cut from four key tiles to three; tile 3 was second in every list.
  const PlanScene scene =
      Padded({6, 6, 2, 2}, [](int64_t, int64_t, int64_t j) { return j == 0; });
  BlockMaskTables tables = std::move(ExportBlockMask(scene.plan).value());
  if (broken) {
    tables.kv.num[0] = 2;
    tables.kv.indices[1] = 3;
  }
  return Lifted(tables, scene);
}

}  // namespace lockstep::verify::plan_trials
