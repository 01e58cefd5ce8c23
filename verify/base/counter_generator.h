// Random words by counters: a word depends on seed, stream and place alone.
#ifndef LOCKSTEP_VERIFY_BASE_COUNTER_GENERATOR_H_
#define LOCKSTEP_VERIFY_BASE_COUNTER_GENERATOR_H_

#include <array>
#include <cstdint>

namespace lockstep::verify {

// Philox4x32-10 (Salmon et al., SC11), keyed by the seed.
class CounterGenerator {
 public:
  CounterGenerator(uint64_t gen, uint64_t seed) : gen_(gen), seed_(seed) {}

  uint64_t seed() const { return seed_; }

  // Four uniform words for one element of one stream.
  std::array<uint32_t, 4> Draw(uint32_t stream, int64_t element) const;

 private:
  uint64_t gen_;
  uint64_t seed_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_COUNTER_GENERATOR_H_
