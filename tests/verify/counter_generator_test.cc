// Words by counters: the published answer, and batches against lone elements.
#include "verify/base/random/counter_generator.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep::verify {
namespace {

TEST(CounterGenerator, GivesRandom123sPublishedAnswer) {
  const auto words = CounterGenerator(0, 0).Draw(0, 0);
  EXPECT_EQ(words, (std::array<uint32_t, 4>{0x6627e8d5u, 0xe169c58du,
                                            0xbc57ac4cu, 0x9b00dbd8u}));
}

TEST(CounterGenerator, WordsOfABatchAreThoseOfItsElements) {
  const CounterGenerator generator(3, 0x123456789abcdef0u);
  for (const int64_t first : {int64_t{0}, int64_t{5}, (int64_t{1} << 32) - 3}) {
    for (const int64_t count : {0, 1, 3, 4, 5, 8, 9, 31, 64}) {
      CounterGenerator::Batch words;
      generator.Draw(7, first, count, &words);
      for (int64_t n = 0; n < count; ++n) {
        const auto alone = generator.Draw(7, first + n);
        for (size_t w = 0; w < 4; ++w) {
          ASSERT_EQ(words.of[w][static_cast<size_t>(n)], alone[w])
              << first << " + " << n << " of " << count;
        }
      }
    }
  }
  // In whatever order they are asked for.
  WordStream stream(generator, 7, 200);
  for (const int64_t element : {0, 1, 63, 64, 199, 3, 130, 129, 198}) {
    EXPECT_EQ(stream.At(element), generator.Draw(7, element));
  }
}

}  // namespace
}  // namespace lockstep::verify
