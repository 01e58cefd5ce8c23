// Members of a zip archive, as NumPy writes one (.npz): stored or deflated. The
// reader takes hostile input. It allocates no more than is allowed, and no more
// than the given bytes can unfold to. It refuses with one line what is torn,
// ambiguous or of another kind.
#ifndef LOCKSTEP_VERIFY_BASE_IO_ZIP_H_
#define LOCKSTEP_VERIFY_BASE_IO_ZIP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::verify {

inline constexpr size_t kMaxZipMembers = 65536;

struct ZipMember {
  std::string name;
  std::vector<uint8_t> contents;
};

// All members, in the order of the directory, of at most `max_bytes` together;
// archives of more than 4 GiB (zip64) as well. Errors: no archive, torn, more
// than `max_bytes`, encrypted, another compression, contents of another size or
// checksum than is told. Errors, too: two members of one name, members that
// share bytes, names that are empty or hold '/', '\' or a control character.
Result<std::vector<ZipMember>> ReadZip(std::span<const uint8_t> archive,
                                       uint64_t max_bytes);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_IO_ZIP_H_
