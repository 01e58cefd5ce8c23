// What planning allocates: proportional to the active tiles and the length,
// never to the square of the tiles. Alone in its program, because it counts
// every allocation.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

#include "gtest/gtest.h"
#include "optimized/tile_plan.h"
#include "verify/case/case.h"
#include "verify/inputs/attention_forward.h"
#include "verify/registry/ops.h"

namespace {

// Bytes in use, and their maximum since it was last set.
std::atomic<int64_t> live{0}, peak{0};
constexpr size_t kHeader = alignof(std::max_align_t);

}  // namespace

void* operator new(size_t size) {
  auto* const block = static_cast<char*>(std::malloc(size + kHeader));
  if (block == nullptr) throw std::bad_alloc();
  *reinterpret_cast<size_t*>(block) = size;
  const int64_t now = live += static_cast<int64_t>(size);
  int64_t before = peak;
  while (before < now && !peak.compare_exchange_weak(before, now)) {
  }
  return block + kHeader;
}

void operator delete(void* pointer) noexcept {
  if (pointer == nullptr) return;
  char* const block = static_cast<char*>(pointer) - kHeader;
  live -= static_cast<int64_t>(*reinterpret_cast<size_t*>(block));
  std::free(block);
}

void operator delete(void* pointer, size_t) noexcept {
  operator delete(pointer);
}

namespace lockstep::optimized {
namespace {

struct Cost {
  int64_t tiles = 0;   // of the grid
  int64_t active = 0;  // of the plan
  int64_t bytes = 0;   // most in use while planning, the result included
};

Cost CostOf(int64_t length, const std::string& mask, int64_t tile) {
  const std::string text = std::to_string(length);
  const auto c = verify::ParseCase(
      "attention_forward sq=" + text + " skv=" + text + " d=1 mask=" + mask +
      " q_seg=runs:" + std::to_string(length / 3) + "," +
      std::to_string(length - length / 3) + " kv_seg=runs:" +
      std::to_string(length / 3) + "," + std::to_string(length - length / 3));
  EXPECT_TRUE(c.ok()) << c.message();
  const auto data = verify::Materialise(c.value(), {});
  EXPECT_TRUE(data.ok()) << data.message();
  const int64_t before = live;
  peak = before;
  const auto plan =
      PlanTiles(data->problem, data->inputs, 0,
                {.tile_q = tile, .tile_k = tile, .blocks = false});
  EXPECT_TRUE(plan.ok()) << plan.message();
  const int64_t side = (length + tile - 1) / tile;
  return {side * side, plan->patterns[0].by_query.active(), peak - before};
}

// A window: the active tiles grow with the length, the grid with its square.
TEST(PlanMemory, FollowsTheActiveTiles) {
  for (const int64_t tile : {16, 64, 256}) {
    const Cost small = CostOf(16384, "causal&window:4096,0", tile);
    const Cost large = CostOf(131072, "causal&window:4096,0", tile);
    EXPECT_EQ(large.tiles, 64 * small.tiles);
    EXPECT_LT(large.active, 11 * small.active);
    // 9 bytes per tile in each of two orders; a line of
    // queries may hold its ranges.
    for (const Cost& cost : {small, large}) {
      EXPECT_LE(cost.bytes, 24 * cost.active + (int64_t{1} << 20))
          << "tile " << tile;
    }
    // At 16 x 16 a byte per tile of the grid would be 64 MiB.
    if (tile == 16) {
      EXPECT_LT(large.bytes, large.tiles);
    }
  }
}

// The same grid with ten times the active tiles costs at most ten times as
// much.
TEST(PlanMemory, IsNotTheGrids) {
  const Cost narrow = CostOf(131072, "causal&window:1024,0", 32);
  const Cost wide = CostOf(131072, "causal&window:16384,0", 32);
  EXPECT_EQ(narrow.tiles, wide.tiles);
  EXPECT_GT(wide.active, 10 * narrow.active);
  EXPECT_LT(5 * narrow.bytes, wide.bytes);
}

}  // namespace
}  // namespace lockstep::optimized
