// Reading and writing whole files; nothing is ever left half written.
#ifndef LOCKSTEP_VERIFY_FILES_H_
#define LOCKSTEP_VERIFY_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::verify {

// Contents of a regular file of at most `max_bytes`; nothing is allocated for
// a larger one.
Result<std::vector<uint8_t>> ReadWholeFile(const std::string& path,
                                           size_t max_bytes);

// Writes beside `path`, then renames. On error `path` is as it was.
Status WriteFileAtomically(const std::string& path, std::string_view bytes);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_FILES_H_
