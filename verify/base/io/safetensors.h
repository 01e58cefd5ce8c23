// safetensors files: eight bytes of header length, a JSON header, tensor data.
// The reader takes hostile input: it allocates no more than the file's size and
// refuses with one line whatever the format does not allow.
#ifndef LOCKSTEP_VERIFY_BASE_IO_SAFETENSORS_H_
#define LOCKSTEP_VERIFY_BASE_IO_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/digest.h"

namespace lockstep::verify {

inline constexpr size_t kMaxSafetensorsHeader = size_t{16} << 20;
inline constexpr int64_t kMaxSafetensorsFile = int64_t{1} << 34;
inline constexpr size_t kMaxSafetensorsRank = 8;
inline constexpr size_t kMaxSafetensorsTensors = 65536;

// One tensor: dense, row-major, little-endian. `bytes` lies in the file read.
using SafetensorsTensor = NamedBytes;

class SafetensorsFile {
 public:
  // Errors name `path` and the first thing wrong; more than `max_bytes`, of
  // which nothing but the header is read then.
  static Result<SafetensorsFile> Read(const std::string& path,
                                      int64_t max_bytes = kMaxSafetensorsFile);
  static Result<SafetensorsFile> Parse(const std::string& path,
                                       std::vector<uint8_t> contents);

  const std::string& path() const { return path_; }
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }

  // Null if absent.
  const SafetensorsTensor* Find(std::string_view name) const;

  // The tensor if it is there with this type and shape; an error otherwise.
  Result<SafetensorsTensor> Get(std::string_view name, std::string_view type,
                                const std::vector<int64_t>& shape) const;

  // DigestTensors of all tensors: what `file:PATH#DIGEST` pins.
  std::string Digest() const;

 private:
  std::string path_;
  std::vector<uint8_t> contents_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Bytes of one element of a safetensors type; 0 for an unknown one.
int64_t SafetensorsTypeBytes(std::string_view type);

// The file as bytes: larger element types first, so that every tensor is
// aligned to its elements; otherwise in the order given.
// Errors: a doubled name, an unknown type, bytes that do not fit the shape.
Result<std::string> FormatSafetensors(
    const std::vector<SafetensorsTensor>& tensors,
    const std::map<std::string, std::string>& metadata);

// FormatSafetensors, then WriteFileAtomically.
Status WriteSafetensors(const std::string& path,
                        const std::vector<SafetensorsTensor>& tensors,
                        const std::map<std::string, std::string>& metadata);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_IO_SAFETENSORS_H_
