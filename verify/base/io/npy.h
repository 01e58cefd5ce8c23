// Arrays of NumPy as tensors, read as if they lay in a safetensors file: .npy,
// versions 1 to 3. A tensor has the name of the file, without ".npy".
#ifndef LOCKSTEP_VERIFY_BASE_IO_NPY_H_
#define LOCKSTEP_VERIFY_BASE_IO_NPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/io/safetensors.h"

namespace lockstep::verify {

// Types: f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1, little-endian; V2, which is
// what NumPy writes for bfloat16, is BF16. Errors, one line with the path:
// another type, Fortran order, a bad header, bytes that do not fit. If there
// are more than `max_bytes`, nothing is read.
Result<SafetensorsFile> ReadNpy(const std::string& path,
                                int64_t max_bytes = kMaxSafetensorsFile);

// The same of a file's contents.
Result<SafetensorsFile> ParseNpy(const std::string& path,
                                 std::vector<uint8_t> contents);

// Why the archive `path` (.npz) is not read, and the command that unpacks it
// into `folder`.
std::string WhyNoNpz(const std::string& path, const std::string& folder);

// All .npy files of a folder, of at most `max_bytes` together. Errors: as
// above; none there.
Result<SafetensorsFile> ReadNpyFolder(const std::string& folder,
                                      int64_t max_bytes = kMaxSafetensorsFile);

// A .npy file, a folder of them, or a safetensors file. Errors: as above;
// WhyNoNpz.
Result<SafetensorsFile> ReadTensors(const std::string& path,
                                    int64_t max_bytes = kMaxSafetensorsFile);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_IO_NPY_H_
