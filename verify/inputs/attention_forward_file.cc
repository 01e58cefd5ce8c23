#include "verify/inputs/attention_forward_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
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

// Element n of a tensor of I32, or of I64 if `wide`.
int64_t IntegerAt(const SafetensorsTensor& tensor, bool wide, int64_t n) {
  int64_t value = 0;
  if (wide) {
    std::memcpy(&value, tensor.bytes.data() + n * 8, 8);
    return value;
  }
  int32_t narrow = 0;
  std::memcpy(&narrow, tensor.bytes.data() + n * 4, 4);
  return narrow;
}

// Each list names keys of the case, and -1 behind them.
Status CheckEntries(const SafetensorsFile& file,
                    const std::vector<int64_t>& entries, int64_t width,
                    int64_t kv_len) {
  for (size_t n = 0; n < entries.size(); ++n) {
    const int64_t key = entries[n];
    const bool first = n % static_cast<size_t>(width) == 0;
    const bool behind = !first && entries[n - 1] < 0;
    const bool ok = key == -1 || (0 <= key && key < kv_len && !behind);
    if (ok) continue;
    const std::string want =
        behind ? "-1, as the entry before is -1"
               : "-1 or a key below skv=" + std::to_string(kv_len);
    return Status::Error(file.path() + ": 'indices': element " +
                         std::to_string(n) + " is " + std::to_string(key) +
                         "; want " + want);
  }
  return {};
}

// "row 1, entry 2".
std::string PlaceText(int64_t row, int64_t entry) {
  return "row " + std::to_string(row) + ", entry " + std::to_string(entry);
}

// Entries [row, n] of a file, `columns` a row, as a table.
template <class EntryAt>
Result<PageTable> TableOf(const std::string& path,
                          const std::vector<int64_t>& used, int64_t width,
                          int64_t pool, int64_t columns,
                          const EntryAt& entry_at) {
  PageTable table;
  std::map<int64_t, std::array<int64_t, 2>> places;  // the first of each page
  for (int64_t b = 0; b < std::ssize(used); ++b) {
    const int64_t own = used[static_cast<size_t>(b)];
    for (int64_t n = 0; n < std::max(columns, width); ++n) {
      const int64_t page = n < columns ? entry_at(b * columns + n) : -1;
      if (page >= pool || page < (n < own ? 0 : -1)) {
        return Status::Error(
            path + ": 'page_table': " + PlaceText(b, n) + " is " +
            std::to_string(page) + "; want " +
            (n < own ? "a page of 0.." : "-1 or a page of 0..") +
            std::to_string(pool - 1) + ", as pool=" + std::to_string(pool) +
            (n < own ? " and the row has " + std::to_string(own) + " pages"
                     : ""));
      }
      if (n < width) table.pages.push_back(static_cast<int32_t>(page));
      if (n >= own) continue;
      const auto [first, is_new] = places.try_emplace(page, std::array{b, n});
      if (is_new) continue;
      table.shared = true;
      const auto [row, entry] = first->second;
      if (entry == n) continue;
      return Status::Error(
          path + ": 'page_table': page " + std::to_string(page) + " is at " +
          PlaceText(row, entry) + ", and at " + PlaceText(b, n) +
          "; rows may share a page only at the same entry");
    }
  }
  return table;
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
  for (const LaneRow& row : kLaneRows) {
    if (found == nullptr || found->type != row.safetensors) continue;
    plan->file_lane = static_cast<Lane>(&row - kLaneRows.data());
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
    const int64_t id = IntegerAt(*found, wide, at);
    if (id < INT32_MIN || id > INT32_MAX) {
      return Status::Error(file.path() + ": id " + std::to_string(id) +
                           " does not fit 32 bits; " + wanted);
    }
    ids[n] = static_cast<int32_t>(id);
  }
  return {};
}

Result<std::vector<int32_t>> FindLists(const SafetensorsFile& file,
                                       const std::array<int64_t, 4>& shape,
                                       int64_t kv_len) {
  const SafetensorsTensor* found = file.Find("indices");
  if (found == nullptr && file.tensors().size() == 1) {
    found = &file.tensors()[0];
  }
  const auto [rows, heads, queries, width] = shape;
  const std::string plane =
      std::to_string(queries) + ", " + std::to_string(width) + "]";
  const std::string wanted =
      "want tensor 'indices' (or one tensor alone), I32 or I64, [" + plane +
      " or [" + Extent(rows) + ", " + Extent(heads) + ", " + plane;
  if (found == nullptr) {
    return Status::Error(file.path() + ": no index lists; " + wanted);
  }
  const bool wide = found->type == "I64";
  std::vector<int64_t> own = found->shape;
  if (own.size() == 2) own.insert(own.begin(), {1, 1});
  const bool fits = own.size() == 4 && (own[0] == 1 || own[0] == rows) &&
                    (own[1] == 1 || own[1] == heads) && own[2] == queries &&
                    own[3] == width;
  if ((!wide && found->type != "I32") || !fits) {
    return Status::Error(file.path() + ": tensor " + FoundText(*found) + "; " +
                         wanted);
  }
  std::vector<int64_t> entries;
  for (int64_t n = 0; n < own[0] * own[1] * queries * width; ++n) {
    entries.push_back(IntegerAt(*found, wide, n));
  }
  RETURN_IF_ERROR(CheckEntries(file, entries, width, kv_len));
  std::vector<int32_t> lists;
  for (int64_t b = 0; b < rows; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t plane_at =
          (own[0] == 1 ? 0 : b) * own[1] + (own[1] == 1 ? 0 : h);
      const auto from = entries.begin() + plane_at * queries * width;
      for (int64_t n = 0; n < queries * width; ++n) {
        lists.push_back(static_cast<int32_t>(from[n]));
      }
    }
  }
  return lists;
}

Result<PageTable> FindPageTable(const SafetensorsFile& file,
                                const std::vector<int64_t>& used, int64_t width,
                                int64_t pool) {
  const SafetensorsTensor* found = file.Find("page_table");
  if (found == nullptr && file.tensors().size() == 1) {
    found = &file.tensors()[0];
  }
  const auto rows = static_cast<int64_t>(used.size());
  const int64_t most = *std::max_element(used.begin(), used.end());
  const std::string wanted =
      "want tensor 'page_table' (or one tensor alone), I32 or I64, [" +
      std::to_string(rows) + ", N]" + (rows == 1 ? " or [N]" : "") +
      " with N of " + std::to_string(most) + " or more";
  if (found == nullptr) {
    return Status::Error(file.path() + ": no page table; " + wanted);
  }
  std::vector<int64_t> shape = found->shape;
  if (shape.size() == 1) shape.insert(shape.begin(), 1);
  const bool wide = found->type == "I64";
  const bool fits = shape.size() == 2 && shape[0] == rows && shape[1] >= most;
  if ((!wide && found->type != "I32") || !fits) {
    return Status::Error(file.path() + ": tensor " + FoundText(*found) + "; " +
                         wanted);
  }
  return TableOf(file.path(), used, width, pool, shape[1],
                 [&](int64_t n) { return IntegerAt(*found, wide, n); });
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
