// What a worker reads from a tile plan, against the brute-force meaning of the
// mask.
#include "optimized/mask_reader.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/sparse_plan.h"
#include "optimized/tile_plan.h"
#include "reference/mask.h"
#include "tests/support/attention_problem.h"
#include "tests/support/mask_problem.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::MaskProblem;

struct Scene {
  MaskProblem mask;
  AttentionForwardInputs inputs;
  int64_t batch = 0;
  std::vector<TilePlan> plans;
  std::vector<HeadQueries> parts;

  bool Visible(int64_t head, int64_t i, int64_t j) const {
    return reference::IsVisible(mask.problem, inputs, batch, head, i, j);
  }
};

// Heads and queries by chance, in tiles of another height than the plan's.
Scene RandomScene(uint32_t seed) {
  std::mt19937 rng(seed);
  Scene scene;
  scene.mask = test::RandomMaskProblem(rng);
  const AttentionForwardProblem& p = scene.mask.problem;
  scene.inputs = scene.mask.Inputs();
  scene.batch = Draw(rng, 0, p.batch - 1);
  TileOptions options;
  options.tile_q = Draw(rng, 1, 9);
  options.tile_k = Draw(rng, 1, 9);
  options.blocks = Draw(rng, 0, 1) == 1;
  for (int64_t b = 0; b < p.batch; ++b) {
    scene.plans.push_back(PlanTiles(p, scene.inputs, b, options).value());
  }
  for (int64_t n = Draw(rng, 1, 3); n > 0; --n) {
    const int64_t begin = Draw(rng, 0, p.q_len - 1);
    scene.parts.push_back(
        {Draw(rng, 0, p.q_heads - 1), {begin, Draw(rng, begin + 1, p.q_len)}});
  }
  return scene;
}

struct TileTruth {
  bool any = false;
  bool all = true;
};

TileTruth TruthOf(const Scene& scene, Range keys) {
  TileTruth truth;
  for (const HeadQueries& part : scene.parts) {
    for (int64_t i = part.queries.begin; i < part.queries.end; ++i) {
      for (int64_t j = keys.begin; j < keys.end; ++j) {
        const bool seen = scene.Visible(part.head, i, j);
        truth.any |= seen;
        truth.all &= seen;
      }
    }
  }
  return truth;
}

void ExpectTileBits(const Scene& scene, MaskReader& reader, int64_t tile,
                    Range keys, const std::string& where) {
  size_t row = 0;
  for (const HeadQueries& part : scene.parts) {
    for (int64_t i = part.queries.begin; i < part.queries.end; ++i, ++row) {
      std::vector<uint64_t> words(1);
      const Range seen = reader.TileBits(row, tile, words);
      EXPECT_EQ(seen.empty(), words[0] == 0) << where;
      if (words[0] != 0) {
        EXPECT_EQ(seen.begin, std::countr_zero(words[0])) << where;
        EXPECT_EQ(seen.end, 64 - std::countl_zero(words[0])) << where;
      }
      for (int64_t k = 0; k < 64; ++k) {
        const bool visible = keys.begin + k < keys.end &&
                             scene.Visible(part.head, i, keys.begin + k);
        ASSERT_EQ((words[0] >> k) & 1, visible ? 1u : 0u)
            << where << " query " << i << " key " << keys.begin + k;
      }
    }
  }
}

void ExpectRowBits(const Scene& scene, MaskReader& reader,
                   const std::string& where) {
  const int64_t kv_len = scene.mask.problem.kv_len;
  const HeadQueries& part = scene.parts.back();
  std::vector<uint64_t> words(static_cast<size_t>((kv_len + 63) / 64), 7);
  reader.RowBits(part.head, part.queries.begin, words);
  for (int64_t j = 0; j < static_cast<int64_t>(words.size()) * 64; ++j) {
    const bool bit = (words[static_cast<size_t>(j / 64)] >> (j % 64)) & 1;
    ASSERT_EQ(bit,
              j < kv_len && scene.Visible(part.head, part.queries.begin, j))
        << where << " key " << j;
  }
}

TEST(MaskReader, VisitsWhatTheRowsSeeAndReadsExactBits) {
  int64_t skipped = 0, full = 0, partial = 0;
  for (uint32_t seed = 0; seed < 5000 && !HasFailure(); ++seed) {
    const Scene scene = RandomScene(seed);
    const std::string where = "seed " + std::to_string(seed);
    const TileGrid& grid = scene.plans[0].grid;
    MaskReader reader(scene.mask.problem, scene.inputs, scene.plans);
    reader.Start(scene.batch, scene.parts);
    size_t next = 0;
    for (int64_t tile = 0; tile < grid.cols(); ++tile) {
      const Range keys{tile * grid.tile_k,
                       std::min((tile + 1) * grid.tile_k, grid.kv_len)};
      const TileTruth truth = TruthOf(scene, keys);
      const bool visited =
          next < reader.visits().size() && reader.visits()[next].tile == tile;
      ASSERT_TRUE(visited || !truth.any) << where << " tile " << tile;
      skipped += !visited;
      if (!visited) continue;
      const bool is_full = reader.visits()[next++].kind == TileClass::kFull;
      ASSERT_TRUE(truth.all || !is_full) << where << " tile " << tile;
      full += is_full;
      partial += !is_full;
      ExpectTileBits(scene, reader, tile, keys, where);
    }
    EXPECT_EQ(next, reader.visits().size()) << where;
    ExpectRowBits(scene, reader, where);
  }
  EXPECT_GT(skipped, 1000);
  EXPECT_GT(full, 1000);
  EXPECT_GT(partial, 1000);
}

// Stored rows are whole words; what stands in them behind the tile is nobody's.
TEST(MaskReader, BitsBehindATileAreNotSeen) {
  int64_t partial = 0;
  for (uint32_t seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    Scene scene = RandomScene(seed);
    const auto batch = static_cast<size_t>(scene.batch);
    const TileGrid& grid = scene.plans[batch].grid;
    for (uint64_t& word : scene.plans[batch].pool.words) {
      word |= ~uint64_t{0} << grid.tile_k;
    }
    MaskReader reader(scene.mask.problem, scene.inputs, scene.plans);
    reader.Start(scene.batch, scene.parts);
    partial += !scene.plans[batch].pool.words.empty();
    for (const KeyTileVisit& visit : reader.visits()) {
      const Range keys{visit.tile * grid.tile_k,
                       std::min((visit.tile + 1) * grid.tile_k, grid.kv_len)};
      ExpectTileBits(scene, reader, visit.tile, keys,
                     "seed " + std::to_string(seed));
    }
  }
  EXPECT_GT(partial, 200);
}

TEST(SetBits, SetsARangeClippedToTheWords) {
  for (int64_t begin = -3; begin < 200; ++begin) {
    for (int64_t end = begin - 2; end < 200; ++end) {
      std::vector<uint64_t> words(3);
      SetBits({begin, end}, words);
      for (int64_t bit = 0; bit < 192; ++bit) {
        const bool set = (words[static_cast<size_t>(bit / 64)] >> bit % 64) & 1;
        ASSERT_EQ(set, begin <= bit && bit < end)
            << begin << " to " << end << ", bit " << bit;
      }
    }
  }
}

// Of some key tiles the visits are those of all tiles that lie in them.
TEST(MaskReader, VisitsOfSomeTiles) {
  int64_t left_out = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const Scene scene = RandomScene(seed);
    const int64_t tiles = scene.plans[0].grid.cols();
    const Range some{tiles / 3, tiles - tiles / 4};
    MaskReader reader(scene.mask.problem, scene.inputs, scene.plans);
    reader.Start(scene.batch, scene.parts);
    std::vector<KeyTileVisit> expected = reader.visits();
    left_out += static_cast<int64_t>(
        std::erase_if(expected, [&](const KeyTileVisit& visit) {
          return visit.tile < some.begin || visit.tile >= some.end;
        }));
    reader.Start(scene.batch, scene.parts, some);
    ASSERT_EQ(reader.visits(), expected) << "seed " << seed;
    reader.Start(scene.batch, scene.parts, Range());
    ASSERT_TRUE(reader.visits().empty());
  }
  EXPECT_GT(left_out, 200);
}

// Rows that make up a tile of the plan visit exactly its active tiles.
TEST(MaskReader, WholeQueryTilesVisitTheirListOnly) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Scene scene = RandomScene(seed);
    const TileGrid& grid = scene.plans[0].grid;
    const int64_t head = scene.parts[0].head;
    MaskReader reader(scene.mask.problem, scene.inputs, scene.plans);
    const TileList& list =
        scene.plans[static_cast<size_t>(scene.batch)].pattern(head).by_query;
    for (int64_t row = 0; row < grid.rows(); ++row) {
      const HeadQueries part{
          head,
          {row * grid.tile_q, std::min((row + 1) * grid.tile_q, grid.q_len)}};
      reader.Start(scene.batch, {&part, 1});
      const auto begin = static_cast<size_t>(list.start[size_t(row)]);
      ASSERT_EQ(static_cast<int64_t>(reader.visits().size()),
                list.ActiveOf(row));
      for (size_t n = 0; n < reader.visits().size(); ++n) {
        EXPECT_EQ(reader.visits()[n], (KeyTileVisit{list.inner[begin + n],
                                                    list.classes[begin + n]}));
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::optimized
