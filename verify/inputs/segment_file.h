// Segment ids of a user's own file, which needs to have nothing else.
#ifndef LOCKSTEP_VERIFY_INPUTS_SEGMENT_FILE_H_
#define LOCKSTEP_VERIFY_INPUTS_SEGMENT_FILE_H_

#include <array>
#include <cstdint>
#include <string>

#include "reference/contract/status.h"
#include "verify/base/io/safetensors.h"

namespace lockstep::verify {

// The tensor `name` of the file, or its only one: I32 or I64, shape [s] or
// [1, s] for all batch rows, or [b, s]. `shape` is {b, s}; writes b * s ids.
// Errors: no such tensor, another type or shape, an id beyond 32 bits.
Status CopySegmentIds(const SafetensorsFile& file, const std::string& name,
                      const std::array<int64_t, 2>& shape, int32_t* ids);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_SEGMENT_FILE_H_
