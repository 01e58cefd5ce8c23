#include "verify/base/counter_generator.h"

#include <Random123/philox.h>

namespace lockstep::verify {

std::array<uint32_t, 4> CounterGenerator::Draw(uint32_t stream,
                                               int64_t element) const {
  const auto index = static_cast<uint64_t>(element);
  // Elements are below 2^48, so sixteen bits are free for the generator.
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<uint32_t>(index),
       static_cast<uint32_t>(index >> 32 | gen_ << 16), stream, 0}};
  const r123::Philox4x32::key_type key = {
      {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)}};
  const auto words = r123::Philox4x32()(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

}  // namespace lockstep::verify
