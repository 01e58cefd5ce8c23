#include "verify/base/random/counter_generator.h"

#include <Random123/philox.h>

#include "reference/contract/with_fma.h"

namespace lockstep::verify {
namespace {

// Elements are below 2^48, so sixteen bits are free for the generator.
uint32_t UpperCounter(uint64_t element, uint64_t gen) {
  return static_cast<uint32_t>(element >> 32 | gen << 16);
}

// Words of several elements, a word in the lower half of each lane, so that a
// product is whole.
constexpr size_t kAbreast = 8;
using Lanes [[gnu::vector_size(8 * kAbreast)]] = uint64_t;
constexpr uint64_t kLower = 0xffffffffu;
static_assert(CounterGenerator::kBatch % kAbreast == 0);

// Philox4x32 of kAbreast counters from that element of the batch on.
LOCKSTEP_IN_BOTH inline void Encrypt(uint64_t seed, size_t first,
                                     CounterGenerator::Batch* words) {
  Lanes x[4];
  for (size_t w = 0; w < 4; ++w) {
    for (size_t n = 0; n < kAbreast; ++n) x[w][n] = words->of[w][first + n];
  }
  auto key0 = static_cast<uint32_t>(seed);
  auto key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < philox4x32_rounds; ++round) {
    const Lanes a = uint64_t{PHILOX_M4x32_0} * (x[0] & kLower);
    const Lanes b = uint64_t{PHILOX_M4x32_1} * (x[2] & kLower);
    x[0] = (b >> 32) ^ x[1] ^ uint64_t { key0 };
    x[1] = b & kLower;
    x[2] = (a >> 32) ^ x[3] ^ uint64_t { key1 };
    x[3] = a & kLower;
    key0 += PHILOX_W32_0;
    key1 += PHILOX_W32_1;
  }
  for (size_t w = 0; w < 4; ++w) {
    for (size_t n = 0; n < kAbreast; ++n) {
      words->of[w][first + n] = static_cast<uint32_t>(x[w][n]);
    }
  }
}

}  // namespace

std::array<uint32_t, 4> CounterGenerator::Draw(uint32_t stream,
                                               int64_t element) const {
  const auto index = static_cast<uint64_t>(element);
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<uint32_t>(index), UpperCounter(index, gen_), stream, 0}};
  const r123::Philox4x32::key_type key = {
      {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)}};
  const auto words = r123::Philox4x32()(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

void CounterGenerator::Draw(uint32_t stream, int64_t first, int64_t count,
                            Batch* words) const {
  // Too few to be worth a vector.
  if (count < static_cast<int64_t>(kAbreast) / 2) {
    for (int64_t n = 0; n < count; ++n) {
      const std::array<uint32_t, 4> drawn = Draw(stream, first + n);
      for (size_t w = 0; w < 4; ++w) {
        words->of[w][static_cast<size_t>(n)] = drawn[w];
      }
    }
    return;
  }
  const size_t whole =
      (static_cast<size_t>(count) + kAbreast - 1) / kAbreast * kAbreast;
  for (size_t n = 0; n < whole; ++n) {
    const uint64_t index = static_cast<uint64_t>(first) + n;
    words->of[0][n] = static_cast<uint32_t>(index);
    words->of[1][n] = UpperCounter(index, gen_);
    words->of[2][n] = stream;
    words->of[3][n] = 0;
  }
  // The same integers with wider vectors.
  WithFma([&]() LOCKSTEP_IN_BOTH {
    for (size_t n = 0; n < whole; n += kAbreast) Encrypt(seed_, n, words);
  });
}

}  // namespace lockstep::verify
