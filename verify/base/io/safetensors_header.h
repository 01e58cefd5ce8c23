// The JSON header of a safetensors file. The only place where the JSON parser
// reads untrusted bytes.
#ifndef LOCKSTEP_VERIFY_BASE_IO_SAFETENSORS_HEADER_H_
#define LOCKSTEP_VERIFY_BASE_IO_SAFETENSORS_HEADER_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::verify {

struct HeaderEntry {
  std::string name;
  std::string type;
  std::vector<int64_t> shape;
  std::array<uint64_t, 2> offsets{};  // [begin, end) in the data
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;  // in the order of the file
  std::map<std::string, std::string> metadata;
};

// Errors: not JSON, another structure, doubled or missing or unknown fields,
// numbers that are not counts, too many tensors or axes. Types, sizes and
// offsets are the caller's. Memory stays within a small multiple of `json`.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_IO_SAFETENSORS_HEADER_H_
