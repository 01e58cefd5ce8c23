// Outputs that a kernel hands over in f32 where the case has bf16: a profile
// with out = f32.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_WIDE_OUTPUT_H_
#define LOCKSTEP_VERIFY_CANDIDATE_WIDE_OUTPUT_H_

#include <cstdint>
#include <vector>

#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {

// The outputs with f32 for bf16, their places unchanged.
std::vector<NamedOutput> Widened(std::vector<NamedOutput> outputs);

// f32 elements to bf16, to nearest even. What is a bf16 value already keeps its
// bits, be it a NaN: poison stays poison. Strides in elements.
void RoundElements(const std::vector<int64_t>& shape, const void* from,
                   const std::vector<int64_t>& from_strides, void* to,
                   const std::vector<int64_t>& to_strides);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_WIDE_OUTPUT_H_
