// Files in memory that are mapped, and of which few pages exist.
#ifndef LOCKSTEP_VERIFY_BASE_SPARSE_FILE_H_
#define LOCKSTEP_VERIFY_BASE_SPARSE_FILE_H_

#include <cstdint>

namespace lockstep::verify {

// The first byte of [from, to) that is not zero; `to` if there is none. Pages
// that do not exist are not touched. `memory`: where the file's first byte is
// mapped.
int64_t FirstNonZero(int descriptor, const uint8_t* memory, int64_t from,
                     int64_t to);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_SPARSE_FILE_H_
