#include "verify/inputs/attention_forward_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "verify/base/io/npy.h"
#include "verify/base/status_macros.h"

namespace lockstep::verify {
namespace fs = std::filesystem;
namespace {

// "'q_seg' is I32 [7]".
std::string FoundText(const SafetensorsTensor& found) {
  std::string text = "'" + found.name + "' is " + found.type + " [";
  for (const int64_t n : found.shape) {
    text += (text.back() == '[' ? "" : ", ") + std::to_string(n);
  }
  return text + "]";
}

std::string Extent(int64_t extent) {
  return extent == 1 ? "1" : "1 or " + std::to_string(extent);
}

std::string WantText(const WantedMask& wanted) {
  const std::string plane =
      std::to_string(wanted.rows) + ", " + std::to_string(wanted.columns) + "]";
  return std::string("want tensor '") + wanted.name +
         "' (or one tensor alone), U8 or BOOL, [" + plane + " or [" +
         Extent(wanted.batch) + ", " + Extent(wanted.heads) + ", " + plane;
}

}  // namespace

Result<SafetensorsFile> OpenPinned(const std::string& path,
                                   const std::string& digest,
                                   const MaterialiseOptions& options) {
  Status worst = Status::Error(path + ": no such file");
  const bool absolute = fs::path(path).is_absolute();
  for (const std::string& directory : options.search_directories) {
    const fs::path place =
        absolute ? fs::path(path) : directory / fs::path(path);
    std::error_code error;
    if (!fs::exists(place, error)) continue;
    auto file =
        ReadTensors(place.lexically_normal().string(), options.max_bytes);
    if (!file.ok()) {
      worst = file.status();
      continue;
    }
    const std::string found = file->Digest();
    if (digest.empty() || found == digest) return file;
    worst = Status::Error(path + ": its tensors have the digest " + found +
                          ", the case pins " + digest);
  }
  return worst;
}

Status PlanFileTensor(const SafetensorsFile& file, const char* name,
                      const std::array<int64_t, 4>& shape, FillPlan* plan) {
  const SafetensorsTensor* found = file.Find(name);
  plan->file_lane = Lane::kF32;
  for (const Lane lane : {Lane::kBf16, Lane::kF16, Lane::kE4m3, Lane::kE5m2}) {
    const bool is =
        found != nullptr && found->type == LaneRowOf(lane).safetensors;
    if (is) plan->file_lane = lane;
  }
  ASSIGN_OR_RETURN(const auto tensor,
                   file.Get(name, LaneRowOf(plan->file_lane).safetensors,
                            {shape.begin(), shape.end()}));
  plan->file = tensor.bytes;
  return {};
}

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
    return Status::Error(file.path() + ": tensor " + FoundText(*found) + "; " +
                         wanted);
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

Result<FoundMask> FindMask(const SafetensorsFile& file,
                           const WantedMask& wanted) {
  const SafetensorsTensor* found = file.Find(wanted.name);
  if (found == nullptr && file.tensors().size() == 1) {
    found = &file.tensors()[0];
  }
  if (found == nullptr) {
    return Status::Error(file.path() + ": no mask; " + WantText(wanted));
  }
  FoundMask mask{{1, 1, wanted.rows, wanted.columns}, found->bytes};
  const std::vector<int64_t> plane = {wanted.rows, wanted.columns};
  const std::vector<int64_t>& shape = found->shape;
  if (shape.size() == 4) {
    if (shape[0] == wanted.batch) mask.shape[0] = wanted.batch;
    if (shape[1] == wanted.heads) mask.shape[1] = wanted.heads;
  }
  const bool fits =
      shape == plane || std::equal(shape.begin(), shape.end(),
                                   mask.shape.begin(), mask.shape.end());
  if (!fits || (found->type != "U8" && found->type != "BOOL")) {
    return Status::Error(file.path() + ": tensor " + FoundText(*found) + "; " +
                         WantText(wanted));
  }
  const auto strange = std::find_if(mask.bytes.begin(), mask.bytes.end(),
                                    [](uint8_t bit) { return bit > 1; });
  if (strange == mask.bytes.end()) return mask;
  return Status::Error(file.path() + ": tensor '" + found->name +
                       "': element " +
                       std::to_string(strange - mask.bytes.begin()) + " is " +
                       std::to_string(*strange) + "; want 0 or 1");
}

}  // namespace lockstep::verify
