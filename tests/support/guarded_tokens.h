// The tokens of a ragged batch, each in a page of memory of its own. Access to
// the pages before the first and behind the last token faults. Under the
// address sanitizer access to the rest of a token's page fails, too.
#ifndef LOCKSTEP_TESTS_SUPPORT_GUARDED_TOKENS_H_
#define LOCKSTEP_TESTS_SUPPORT_GUARDED_TOKENS_H_

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/contract/tensor_view.h"
#include "tests/support/attention_problem.h"

namespace lockstep::test {

// Tokens behind the last row, and before the first.
inline constexpr int64_t kTail = 2;

// Tokens [heads, channels], between tokens whose access faults.
class GuardedTokens {
 public:
  GuardedTokens(Lane lane, int64_t heads, int64_t tokens, int64_t channels)
      : token_bytes_(sysconf(_SC_PAGESIZE)) {
    const auto width = static_cast<int64_t>(LaneBytes(lane));
    EXPECT_LE(heads * channels * width, token_bytes_);
    bytes_ = static_cast<size_t>((tokens + 2 * kTail) * token_bytes_);
    memory_ = static_cast<uint8_t*>(
        mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    uint8_t* const first = memory_ + kTail * token_bytes_;
    EXPECT_EQ(mprotect(first, static_cast<size_t>(tokens * token_bytes_),
                       PROT_READ | PROT_WRITE),
              0);
    const int64_t used = heads * channels * width;
    for (int64_t token = 0; token < tokens; ++token) {
      ASAN_POISON_MEMORY_REGION(first + token * token_bytes_ + used,
                                token_bytes_ - used);
    }
    view.data = first;
    view.lane = lane;
    view.shape = {1, heads, tokens + kTail, channels};
    view.strides = {0, channels, token_bytes_ / width, 1};
  }
  ~GuardedTokens() {
    ASAN_UNPOISON_MEMORY_REGION(memory_, bytes_);
    munmap(memory_, bytes_);
  }
  GuardedTokens(const GuardedTokens&) = delete;
  GuardedTokens& operator=(const GuardedTokens&) = delete;

  uint8_t* At(int64_t head, int64_t token, int64_t channel) const {
    const auto width = static_cast<int64_t>(LaneBytes(view.lane));
    return static_cast<uint8_t*>(view.data) + token * token_bytes_ +
           (head * view.shape[3] + channel) * width;
  }

  LaneView const_view() const {
    return {view.data, view.lane, view.shape, view.strides};
  }
  // Of one channel of f32: [1, heads, tokens].
  template <typename T>
  TensorView<T, 3> Rows() const {
    const auto& n = view.shape;
    const auto& s = view.strides;
    return {static_cast<T*>(view.data), {n[0], n[1], n[2]}, {s[0], s[1], s[2]}};
  }

  MutableLaneView view;

 private:
  int64_t token_bytes_;
  size_t bytes_ = 0;
  uint8_t* memory_ = nullptr;
};

// The starts of rows of these lengths.
inline std::vector<int32_t> StartsOf(const std::vector<int64_t>& lengths) {
  std::vector<int32_t> starts = {0};
  for (const int64_t n : lengths) {
    starts.push_back(starts.back() + static_cast<int32_t>(n));
  }
  return starts;
}

inline void Put(const LaneView& from, const std::vector<int32_t>& starts,
                const GuardedTokens& to) {
  const auto width = static_cast<int64_t>(LaneBytes(from.lane));
  for (size_t b = 0; b + 1 < starts.size(); ++b) {
    for (int32_t token = starts[b]; token < starts[b + 1]; ++token) {
      for (int64_t h = 0; h < from.shape[1]; ++h) {
        const int64_t at = static_cast<int64_t>(b) * from.strides[0] +
                           h * from.strides[1] +
                           (token - starts[b]) * from.strides[2];
        std::memcpy(to.At(h, token, 0),
                    static_cast<const uint8_t*>(from.data) + at * width,
                    static_cast<size_t>(from.shape[3] * width));
      }
    }
  }
}

// Counts from 0 to the extent, with empty rows at the start, in the middle and
// at the end.
inline std::vector<int64_t> Lengths(std::mt19937& rng, int64_t batch,
                                    int64_t extent) {
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < batch; ++b) {
    lengths.push_back(Draw(rng, 0, 3) == 0 ? 0 : Draw(rng, 0, extent));
  }
  return lengths;
}

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_GUARDED_TOKENS_H_
