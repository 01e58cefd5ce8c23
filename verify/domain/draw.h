// Choices for a generator of cases, from a counter-based stream or from the
// bytes of a coverage-guided engine: the same generator serves both.
#ifndef LOCKSTEP_VERIFY_DOMAIN_DRAW_H_
#define LOCKSTEP_VERIFY_DOMAIN_DRAW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace lockstep::verify {

class Draw {
 public:
  // Philox4x32-10 with key = seed and counter = (index, key, n): choice n of a
  // case depends on nothing else, whatever was drawn before.
  Draw(uint64_t seed, uint32_t key, uint64_t index)
      : seed_(seed), index_(index), key_(key) {}
  // Consumes bytes; behind their end every choice is its first.
  explicit Draw(std::span<const uint8_t> bytes)
      : bytes_(bytes), from_bytes_(true) {}

  // low..high, uniform. Requires: high - low < 2^32.
  int64_t In(int64_t low, int64_t high);
  // With probability about 1 / n; never where bytes have ended.
  bool OneIn(int64_t n) { return In(1, n) == n && n > 1; }
  // One of the alternatives; repeat one to make it likelier.
  template <typename T>
  T Of(std::initializer_list<T> from) {
    return from.begin()[In(0, static_cast<int64_t>(from.size()) - 1)];
  }

 private:
  uint64_t Word(uint64_t count);

  uint64_t seed_ = 0;
  uint64_t index_ = 0;
  uint32_t key_ = 0;
  uint32_t next_ = 0;  // words drawn so far
  std::array<uint32_t, 4> words_{};
  std::span<const uint8_t> bytes_;
  bool from_bytes_ = false;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_DRAW_H_
