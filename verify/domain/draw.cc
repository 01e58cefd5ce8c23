#include "verify/domain/draw.h"

#include <Random123/philox.h>

namespace lockstep::verify {

uint64_t Draw::Word(uint64_t count) {
  if (!from_bytes_) {
    if (next_ % 4 == 0) {
      const r123::Philox4x32::ctr_type counter = {
          {static_cast<uint32_t>(index_), static_cast<uint32_t>(index_ >> 32),
           key_, next_ / 4}};
      const r123::Philox4x32::key_type key = {
          {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)}};
      const auto block = r123::Philox4x32()(counter, key);
      for (size_t i = 0; i < 4; ++i) words_[i] = block[i];
    }
    // The upper half of a 64-bit product: uniform to within count / 2^32.
    return words_[next_++ % 4] * count >> 32;
  }
  uint64_t word = 0;
  for (uint64_t range = 1; range < count; range <<= 8) {
    if (bytes_.empty()) break;
    word = word << 8 | bytes_.front();
    bytes_ = bytes_.subspan(1);
  }
  return word % count;
}

int64_t Draw::In(int64_t low, int64_t high) {
  const uint64_t count = static_cast<uint64_t>(high - low) + 1;
  return low + static_cast<int64_t>(Word(count));
}

}  // namespace lockstep::verify
