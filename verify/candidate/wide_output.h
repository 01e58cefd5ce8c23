// Outputs that a kernel returns in f32 for a case with a lane of 16 bits: a
// profile with out = f32.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_WIDE_OUTPUT_H_
#define LOCKSTEP_VERIFY_CANDIDATE_WIDE_OUTPUT_H_

#include <cstdint>
#include <vector>

#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {

// The outputs with f32 for lanes of 16 bits, their places unchanged.
std::vector<NamedOutput> Widened(std::vector<NamedOutput> outputs);

// Rounds f32 elements to `lane`, bf16 or f16, to nearest even. A value of the
// lane keeps its bits, even a NaN, so that poison stays poison. Strides are in
// elements.
void RoundElements(Lane lane, const std::vector<int64_t>& shape,
                   const void* from, const std::vector<int64_t>& from_strides,
                   void* to, const std::vector<int64_t>& to_strides);

// The f32 that RoundElements makes these bits of.
uint32_t WideBits(Lane lane, uint32_t bits);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_WIDE_OUTPUT_H_
