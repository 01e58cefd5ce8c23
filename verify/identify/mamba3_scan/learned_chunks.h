// The lengths of chunks that can be learned: those of public kernels.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_LEARNED_CHUNKS_H_
#define LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_LEARNED_CHUNKS_H_

#include <cstdint>

namespace lockstep::verify {

// Tokens, ascending. The least that covers the kernel's own is learned.
inline constexpr int64_t kLearnedChunks[] = {64, 128, 256};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_LEARNED_CHUNKS_H_
