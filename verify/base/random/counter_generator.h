// Random words by counters: a word depends on seed, stream and place alone.
#ifndef LOCKSTEP_VERIFY_BASE_RANDOM_COUNTER_GENERATOR_H_
#define LOCKSTEP_VERIFY_BASE_RANDOM_COUNTER_GENERATOR_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep::verify {

// Philox4x32-10 (Salmon et al., SC11), keyed by the seed.
class CounterGenerator {
 public:
  // Of several elements: of[word][element].
  static constexpr int64_t kBatch = 64;
  struct Batch {
    std::array<std::array<uint32_t, kBatch>, 4> of;
  };

  CounterGenerator(uint64_t gen, uint64_t seed) : gen_(gen), seed_(seed) {}

  uint64_t seed() const { return seed_; }

  // Four uniform words for one element of one stream.
  std::array<uint32_t, 4> Draw(uint32_t stream, int64_t element) const;
  // The same of elements first, ..., first + count - 1.
  //   Requires: 0 <= count <= kBatch.
  void Draw(uint32_t stream, int64_t first, int64_t count, Batch* words) const;

 private:
  uint64_t gen_;
  uint64_t seed_;
};

// A stream's words, for loops over its elements in order. Any other order is
// right, too, and slower.
class WordStream {
 public:
  // Keeps a reference to `generator`. Elements are below `count`.
  WordStream(const CounterGenerator& generator, uint32_t stream, int64_t count)
      : generator_(&generator), stream_(stream), count_(count) {}

  std::array<uint32_t, 4> At(int64_t element) {
    if (element < begin_ || element >= end_) Fetch(element);
    const auto n = static_cast<size_t>(element - begin_);
    return {words_.of[0][n], words_.of[1][n], words_.of[2][n], words_.of[3][n]};
  }

 private:
  void Fetch(int64_t element) {
    begin_ = element;
    end_ = std::min(element + CounterGenerator::kBatch, count_);
    generator_->Draw(stream_, begin_, end_ - begin_, &words_);
  }

  const CounterGenerator* generator_;
  uint32_t stream_;
  int64_t count_;
  int64_t begin_ = 0, end_ = 0;
  CounterGenerator::Batch words_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_RANDOM_COUNTER_GENERATOR_H_
