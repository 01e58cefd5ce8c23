#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "optimized/tile_plan.h"
#include "verify/dialects/shrunk.h"
#include "verify/plan_mutants_trials.h"
#include "verify/plan_scene.h"

namespace lockstep::verify::plan_trials {
namespace {

using optimized::TileClass;
using optimized::TileGrid;

constexpr TileGrid kFour = {4, 4, 2, 2};

// One head; the planner's classes are those of `judge` if it is broken.
PlanTrial Misjudged(const TileGrid& grid, const PairVisible& visible,
                    bool broken, const TileJudge& judge) {
  const PlanScene scene = MakeScene(grid, 1, visible);
  return broken ? Shrunk(scene, Judged(scene, judge)) : Shrunk(scene);
}

TileClass Marked(bool active, TileClass truth) {
  if (!active) return TileClass::kEmpty;
  return truth == TileClass::kFull ? truth : TileClass::kPartial;
}

// Documents of four tokens in tiles of two.
struct Four {
  int64_t document[4];
  int64_t Least(int64_t tile) const {
    return std::min(document[2 * tile], document[2 * tile + 1]);
  }
  int64_t Most(int64_t tile) const {
    return std::max(document[2 * tile], document[2 * tile + 1]);
  }
  PairVisible CausalWithin() const {
    return [ids = *this](int64_t, int64_t i, int64_t j) {
      return j <= i && ids.document[i] == ids.document[j];
    };
  }
};
constexpr Four kThreeAndOne = {{0, 0, 0, 1}};
constexpr Four kTwoAndTwo = {{0, 0, 1, 1}};

}  // namespace

bool Causal(int64_t, int64_t i, int64_t j) { return j <= i; }

bool Documents(int64_t, int64_t i, int64_t j) {
  constexpr int kIds[] = {0, 0, 0, 1, 1, 1, 1, 2};
  return j <= i && kIds[i] == kIds[j];
}

bool Gaps(int64_t, int64_t i, int64_t j) {
  return j <= i && i / 2 != 1 && j / 2 != 2;
}

bool Window(int64_t, int64_t i, int64_t j) { return j <= i && i - j <= 2; }

PlanTrial Shrunk(const PlanScene& scene, const optimized::TilePlan& plan) {
  const Result<ShrunkTables> tables = ExportShrunk(plan, 0, 0);
  return {std::move(LiftShrunk(tables.value()).value()), scene.mask};
}

PlanTrial Shrunk(const PlanScene& scene) { return Shrunk(scene, scene.plan); }

PlanTrial BlocksByPrintedText(bool broken) {
  // Ones but for one row, which no print of the outer rows shows.
  PlanScene scene =
      MakeScene({64, 64, 32, 64}, 1,
                [](int64_t, int64_t i, int64_t) { return i != 15 && i != 48; });
  if (broken) {
    optimized::TilePattern& pattern = scene.plan.patterns[0];
    pattern.by_query.block[1] = pattern.by_key.block[1] = 0;
  }
  return Shrunk(scene);
}

PlanTrial BlocksPerHead(bool broken) {
  PlanScene scene = MakeScene(kFour, 2, [](int64_t h, int64_t i, int64_t j) {
    return h == 0 ? j <= i : i == j;
  });
  if (broken) {
    optimized::TilePattern& pattern = scene.plan.patterns[1];
    for (auto* list : {&pattern.by_query, &pattern.by_key}) {
      std::fill(list->block.begin(), list->block.end(), 0);
    }
  }
  return Shrunk(scene);
}

PlanTrial FloorDivision(bool broken) {
  PlanTrial trial =
      Misjudged({5, 5, 2, 2}, Causal, broken,
                [](int64_t row, int64_t col, TileClass truth) {
                  return row == 2 || col == 2 ? TileClass::kEmpty : truth;
                });
  if (broken) {
    trial.trace.forward[0].heads[0].stored.pop_back();
    trial.trace.transposed[0].heads[0].stored.pop_back();
  }
  return trial;
}

PlanTrial RaggedTileFull(bool broken) {
  optimized::TileOptions options;
  options.boundary =
      broken ? optimized::Boundary::kInRange : optimized::Boundary::kPadded;
  const PlanScene scene = MakeScene(
      {2, 3, 2, 2}, 1, [](int64_t, int64_t, int64_t) { return true; }, options);
  PlanTrial trial = Shrunk(scene);
  trial.trace.boundary = optimized::Boundary::kPadded;
  return trial;
}

PlanTrial RaggedTileEmpty(bool broken) {
  return Misjudged({3, 3, 2, 2}, Causal, broken,
                   [](int64_t row, int64_t col, TileClass truth) {
                     return row == 1 || col == 1 ? TileClass::kEmpty : truth;
                   });
}

PlanTrial CornerSampling(bool broken) {
  // Documents 0 1 1 0: both ends and the middle agree, (0, 1) does not.
  const auto visible = [](int64_t, int64_t i, int64_t j) {
    return (i == 0 || i == 3) == (j == 0 || j == 3);
  };
  return Misjudged({4, 4, 4, 4}, visible, broken,
                   [&](int64_t, int64_t, TileClass truth) {
                     const bool all = visible(0, 0, 0) && visible(0, 0, 3) &&
                                      visible(0, 3, 0) && visible(0, 3, 3) &&
                                      visible(0, 2, 2);
                     return all ? TileClass::kFull : truth;
                   });
}

PlanTrial DocumentMinimumOnly(bool broken) {
  return Misjudged(kFour, kThreeAndOne.CausalWithin(), broken,
                   [](int64_t row, int64_t col, TileClass truth) {
                     const bool full = col < row && kThreeAndOne.Least(row) ==
                                                        kThreeAndOne.Least(col);
                     return full ? TileClass::kFull : truth;
                   });
}

PlanTrial DocumentOverlapStrict(bool broken) {
  return Misjudged(kFour, kThreeAndOne.CausalWithin(), broken,
                   [](int64_t row, int64_t col, TileClass truth) {
                     const bool valid =
                         col <= row &&
                         kThreeAndOne.Least(row) < kThreeAndOne.Most(col);
                     return Marked(valid, truth);
                   });
}

PlanTrial DocumentOverlapOneSided(bool broken) {
  return Misjudged(kFour, kTwoAndTwo.CausalWithin(), broken,
                   [](int64_t row, int64_t col, TileClass truth) {
                     const bool valid = col <= row && kTwoAndTwo.Least(col) <=
                                                          kTwoAndTwo.Most(row);
                     return Marked(valid, truth);
                   });
}

PlanTrial DiagonalFull(bool broken) {
  return Misjudged({2, 2, 2, 2}, Causal, broken,
                   [](int64_t row, int64_t col, TileClass truth) {
                     return col <= row ? TileClass::kFull : truth;
                   });
}

PlanTrial UnionWithoutMembership(bool broken) {
  // Query 0 selects block 0, query 1 block 1.
  return Misjudged(
      {2, 4, 2, 2}, [](int64_t, int64_t i, int64_t j) { return j / 2 == i; },
      broken, [](int64_t, int64_t, TileClass) { return TileClass::kFull; });
}

PlanTrial SelectionRepeated(bool broken) {
  PlanTrial trial = Shrunk(MakeScene(
      {2, 4, 2, 2}, 1, [](int64_t, int64_t, int64_t) { return true; }));
  if (broken) {
    auto& visits = trial.trace.forward[0].heads[0].visits;
    visits.insert(visits.begin(), visits.front());
    trial.trace.forward[0].grid_width = 3;
  }
  return trial;
}

PlanTrial InvalidSelectionKept(bool broken) {
  // Every query tile selects itself and -1.
  return Misjudged(
      kFour,
      [](int64_t, int64_t i, int64_t j) { return i / 2 == j / 2 && j <= i; },
      broken,
      [](int64_t, int64_t col, TileClass truth) {
        return col == 0 && truth == TileClass::kEmpty ? TileClass::kPartial
                                                      : truth;
      });
}

PlanTrial WindowFromChunkStart(bool broken) {
  return Misjudged({4, 4, 2, 1}, Causal, broken,
                   [](int64_t row, int64_t col, TileClass truth) {
                     return col <= 2 * row ? truth : TileClass::kEmpty;
                   });
}

PlanTrial HeadsMergedByWeakHash(bool broken) {
  PlanScene scene = MakeScene(kFour, 2, [](int64_t h, int64_t i, int64_t j) {
    return j <= i && !(h == 1 && i == 3 && j == 0);
  });
  if (broken) scene.plan.head_pattern = {0, 0};
  return Shrunk(scene);
}

PlanTrial DenseInDisguise(bool broken) {
  return Misjudged(
      kEight, Window, broken,
      [](int64_t, int64_t, TileClass truth) { return Marked(true, truth); });
}

}  // namespace lockstep::verify::plan_trials
