// Segment ids in other ranges. Ids are names: a kernel that keeps them in a
// narrower type, or takes some of them for padding, confuses documents.
#ifndef LOCKSTEP_VERIFY_CASE_SEGMENTS_SEGMENT_IDS_H_
#define LOCKSTEP_VERIFY_CASE_SEGMENTS_SEGMENT_IDS_H_

#include <cstdint>
#include <vector>

#include "verify/case/values.h"

namespace lockstep::verify {

enum class IdRange : uint8_t {
  kSteps16,   // as long as they are few, with the same lower 16 bits
  kSteps24,   // the same of 24 bits
  kLargest,   // up to 2^31 - 1, closer than f32 tells apart
  kSmallest,  // from -2^31 on
  kMirrored,  // -2, -1, 1, 2
};

// The name in that range of the id that is number `rank` of `count`, in the
// same order. Requires: 0 <= rank < count <= 2^30.
int32_t OtherId(IdRange range, int64_t rank, int64_t count);

// The ids of both sides together get names in that range. A side whose ids are
// those of a file stays as it is; then the other one does, too.
void RenameIds(IdRange range, std::vector<Segments*> sides);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_SEGMENTS_SEGMENT_IDS_H_
