// Keys and values in pages have the bits of those that lie together, and no
// slot without a key is read: each slot is a page of memory, which nobody may
// touch unless a key lies in it.
#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "reference/contract/attention_pages.h"
#include "tests/support/attention_problem.h"
#include "tests/support/order_problem.h"
#include "tests/support/runnable_targets.h"
#include "tests/support/volume.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::Instance;

LOCKSTEP_NAME_TARGETS_NOT_RUN();

// A pool whose slots without a key cannot be read. A slot is a page of memory;
// under the address sanitizer no more of it than its channels can be read.
class GuardedPool {
 public:
  GuardedPool(Lane lane, int64_t pages, int64_t heads, int64_t size,
              int64_t channels)
      : slot_bytes_(sysconf(_SC_PAGESIZE)) {
    const auto width = static_cast<int64_t>(LaneBytes(lane));
    view.lane = lane;
    view.shape = {pages, heads, size, channels};
    const int64_t slot = slot_bytes_ / width;
    view.strides = {heads * size * slot, size * slot, slot, 1};
    bytes_ = static_cast<size_t>(pages * heads * size * slot_bytes_);
    view.data = memory_ = static_cast<uint8_t*>(
        mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~GuardedPool() {
    ASAN_UNPOISON_MEMORY_REGION(memory_, bytes_);
    munmap(memory_, bytes_);
  }
  GuardedPool(const GuardedPool&) = delete;
  GuardedPool& operator=(const GuardedPool&) = delete;

  // Row j of head h of `from` becomes a slot.
  void Put(const LaneView& from, int64_t b, int64_t h, int64_t j, int64_t page,
           int64_t slot) {
    const auto width = static_cast<int64_t>(LaneBytes(from.lane));
    uint8_t* const to =
        memory_ +
        ((page * view.shape[1] + h) * view.shape[2] + slot) * slot_bytes_;
    ASSERT_EQ(
        mprotect(to, static_cast<size_t>(slot_bytes_), PROT_READ | PROT_WRITE),
        0);
    const int64_t at =
        b * from.strides[0] + h * from.strides[1] + j * from.strides[2];
    std::memcpy(to, static_cast<const uint8_t*>(from.data) + at * width,
                static_cast<size_t>(from.shape[3] * width));
    ASAN_POISON_MEMORY_REGION(to + from.shape[3] * width,
                              slot_bytes_ - from.shape[3] * width);
  }

  LaneView view;

 private:
  int64_t slot_bytes_;
  size_t bytes_ = 0;
  uint8_t* memory_ = nullptr;
};

// The instance's bits with its keys in pages of `size`.
std::vector<uint32_t> RunPaged(Instance& instance, int64_t size,
                               std::mt19937& rng, const Caps& caps,
                               AttentionForwardExecution* execution) {
  const AttentionForwardProblem& p = instance.problem;
  AttentionForwardInputs in = instance.Inputs();
  const int64_t width = (p.kv_len + size - 1) / size;
  std::vector<int32_t> order(static_cast<size_t>(p.batch * width + 2));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), rng);
  const auto pages = static_cast<int64_t>(order.size());
  GuardedPool k(p.lane, pages, p.kv_heads, size, p.head_dim);
  GuardedPool v(p.lane, pages, p.kv_heads, size, p.value_dim);
  std::vector<int32_t> table(static_cast<size_t>(p.batch * width));
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t n = 0; n < width; ++n) {
      const auto at = static_cast<size_t>(b * width + n);
      const int64_t keys = in.ValidKv(p, b);
      if (n * size >= keys) {
        table[at] = n % 2 == 0 ? -1 : std::numeric_limits<int32_t>::max();
        continue;
      }
      table[at] = order[at];
      for (int64_t j = n * size; j < std::min(keys, (n + 1) * size); ++j) {
        for (int64_t h = 0; h < p.kv_heads; ++h) {
          k.Put(in.k, b, h, j, order[at], j % size);
          if (!p.v_in_k) v.Put(in.v, b, h, j, order[at], j % size);
        }
      }
    }
  }
  in.k = in.v = LaneView();
  test::Outputs outputs(p);
  LaneView values = p.v_in_k ? k.view : v.view;
  values.shape[3] = p.value_dim;
  const KeyPages paged = {
      size, k.view, values, {table.data(), {p.batch, width}, {width, 1}}};
  const Status status = AttentionForward(
      p, in, paged, MakePlan(p, caps).value(), outputs.View(), execution);
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs.Bits();
}

TEST(AttentionPages, HaveTheBitsOfKeysThatLieTogether) {
  const std::vector<std::string> targets = test::RunnableTargets();
  int64_t in_place = 0, visited = 0;
  for (uint32_t seed = 0; seed < test::Volume(300); ++seed) {
    std::mt19937 rng(seed);
    Instance instance = test::RandomInstance(rng);
    if (seed % 5 == 0) test::MakeF16(instance);
    if (seed % 2 == 0) instance.problem.q_len = 1;  // read in place
    if (seed % 2 == 0) instance.valid_q.clear();
    if (seed % 2 == 0) instance.dense.clear();
    if (seed % 2 == 0) instance.problem.masks = {MaskExpr{}};
    instance.Fill(rng);
    Caps caps;
    caps.target = targets[seed % targets.size()];
    caps.threads = static_cast<int>(1 + seed % 2);
    caps.tile_keys = 16 * Draw(rng, 1, 6);
    constexpr int64_t kSizes[] = {1, 2, 3, 5, 16, 17, 64};
    const int64_t size = kSizes[seed % std::size(kSizes)];
    const std::vector<uint32_t> expected = instance.RunReference();
    AttentionForwardExecution execution;
    ASSERT_EQ(expected, RunPaged(instance, size, rng, caps, &execution))
        << "seed " << seed << ", pages of " << size;
    in_place += execution.tiles_in_place;
    visited += execution.tiles_full + execution.tiles_partial;
  }
  EXPECT_GT(in_place, test::Volume(100));
  EXPECT_GT(visited - in_place, test::Volume(100));
}

// Values are the first channels of keys, and no other pool is there.
TEST(AttentionPages, HaveTheBitsOfValuesInKeys) {
  const std::vector<std::string> targets = test::RunnableTargets();
  for (uint32_t seed = 0; seed < test::Volume(200); ++seed) {
    std::mt19937 rng(seed);
    Instance instance = test::RandomInstance(rng);
    if (seed % 5 == 0) test::MakeF16(instance);
    AttentionForwardProblem& p = instance.problem;
    if (seed % 2 == 0) p.q_len = 1;  // read in place
    if (seed % 2 == 0) instance.valid_q.clear();
    if (seed % 2 == 0) instance.dense.clear();
    if (seed % 2 == 0) p.masks = {MaskExpr{}};
    p.value_dim = Draw(rng, 1, p.head_dim);
    instance.Fill(rng);
    for (int64_t row = 0; row < p.batch * p.kv_heads * p.kv_len; ++row) {
      std::copy_n(instance.k.begin() + row * p.head_dim, p.value_dim,
                  instance.v.begin() + row * p.value_dim);
    }
    Caps caps;
    caps.target = targets[seed / 2 % targets.size()];
    caps.tile_keys = 16 * Draw(rng, 1, 6);
    const std::vector<uint32_t> expected = instance.RunReference();
    p.v_in_k = true;
    ASSERT_EQ(expected, RunPaged(instance, 1 + seed % 20, rng, caps, nullptr))
        << "seed " << seed;
  }
}

// Of the dot instruction, of every order of sums, and of keys in parts.
TEST(AttentionPages, HaveTheBitsOfEveryOrder) {
  for (uint32_t seed = 0; seed < test::Volume(40); ++seed) {
    std::mt19937 rng(seed);
    Instance instance = test::NextOrder(seed, 2, rng);
    instance.valid_kv = {70, static_cast<int64_t>(1 + seed)};
    Caps caps;
    caps.native_dot = seed % 3 == 0;
    const std::vector<uint32_t> expected = instance.RunReference();
    ASSERT_EQ(expected, RunPaged(instance, 1 + seed % 20, rng, caps, nullptr))
        << "seed " << seed;
  }
}

TEST(AttentionPages, RefuseWhatDoesNotFit) {
  AttentionForwardProblem p;
  p.batch = 2;
  p.kv_len = 5;
  p.head_dim = p.value_dim = 4;
  std::vector<float> pool(64);
  std::vector<int32_t> table = {0, 1, 2, 3, 0, -1};
  const LaneView view = {pool.data(), Lane::kF32, {4, 1, 2, 4}, {8, 8, 4, 1}};
  KeyPages pages = {2, view, view, {table.data(), {2, 3}, {3, 1}}};
  AttentionForwardInputs in;
  in.valid_kv = {5, 4};
  EXPECT_TRUE(CheckKeyPages(p, in, pages).ok());
  in.valid_kv = {5, 5};
  EXPECT_EQ(CheckKeyPages(p, in, pages).message(),
            "page_table[1,2] is -1; want 0..3");
  table[5] = 4;
  EXPECT_EQ(CheckKeyPages(p, in, pages).message(),
            "page_table[1,2] is 4; want 0..3");
  pages.k.strides[3] = 2;
  EXPECT_EQ(CheckKeyPages(p, in, pages).message(),
            "k_pages has channels 2 elements apart; want 1");
  pages.size = 0;
  EXPECT_EQ(CheckKeyPages(p, in, pages).message(),
            "page=0 is out of range; want 1..65536");
}

}  // namespace
}  // namespace lockstep::optimized
