#include "verify/inputs/segment_file.h"

#include <cstring>
#include <vector>

namespace lockstep::verify {

Status CopySegmentIds(const SafetensorsFile& file, const std::string& name,
                      const std::array<int64_t, 2>& shape, int32_t* ids) {
  const SafetensorsTensor* found = file.Find(name);
  if (found == nullptr && file.tensors().size() == 1) {
    found = &file.tensors()[0];
  }
  const auto [rows, extent] = shape;
  const std::string wanted =
      "want tensor '" + name + "' (or one tensor alone), I32 or I64, [" +
      std::to_string(extent) + "] or [" + std::to_string(rows) + ", " +
      std::to_string(extent) + "]";
  if (found == nullptr) {
    return Status::Error(file.path() + ": no segment ids; " + wanted);
  }
  const bool wide = found->type == "I64";
  const std::vector<int64_t> one = {extent};
  const std::vector<int64_t> each = {rows, extent};
  const std::vector<int64_t> all = {1, extent};
  const bool fits =
      found->shape == one || found->shape == each || found->shape == all;
  if ((!wide && found->type != "I32") || !fits) {
    std::string is = found->type + " [";
    for (const int64_t n : found->shape) {
      is += (is.back() == '[' ? "" : ", ") + std::to_string(n);
    }
    return Status::Error(file.path() + ": tensor '" + found->name + "' is " +
                         is + "]; " + wanted);
  }
  const bool repeated = found->shape != each;
  for (int64_t n = 0; n < rows * extent; ++n) {
    const int64_t at = repeated ? n % extent : n;
    int64_t id = 0;
    if (wide) {
      std::memcpy(&id, found->bytes.data() + at * 8, 8);
    } else {
      int32_t narrow = 0;
      std::memcpy(&narrow, found->bytes.data() + at * 4, 4);
      id = narrow;
    }
    if (id < INT32_MIN || id > INT32_MAX) {
      return Status::Error(file.path() + ": id " + std::to_string(id) +
                           " does not fit 32 bits; " + wanted);
    }
    ids[n] = static_cast<int32_t>(id);
  }
  return {};
}

}  // namespace lockstep::verify
