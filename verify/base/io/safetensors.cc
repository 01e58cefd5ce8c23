#include "verify/base/io/safetensors.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "verify/base/io/files.h"
#include "verify/base/io/safetensors_header.h"
#include "verify/base/status_macros.h"
#include "verify/base/text.h"

namespace lockstep::verify {
namespace fs = std::filesystem;
namespace {

struct TypeSize {
  std::string_view name;
  int64_t bytes;
};

constexpr TypeSize kTypes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
    {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
    {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8},
};

constexpr size_t kLengthBytes = 8;

uint64_t ReadLength(const uint8_t* bytes) {
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) length = length << 8 | bytes[i];
  return length;
}

Status CheckHeaderLength(uint64_t length, uint64_t file_bytes) {
  if (length > kMaxSafetensorsHeader) {
    return Status::Error("header of " + std::to_string(length) +
                         " bytes; the most is " +
                         std::to_string(kMaxSafetensorsHeader));
  }
  if (length > file_bytes - kLengthBytes) {
    return Status::Error("truncated: header of " + std::to_string(length) +
                         " bytes in a file of " + std::to_string(file_bytes));
  }
  return {};
}

std::string FormatShape(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

// Bytes of a dense tensor; an error on overflow.
Result<int64_t> DenseBytes(std::string_view type,
                           const std::vector<int64_t>& shape) {
  int64_t bytes = SafetensorsTypeBytes(type);
  bool overflow = false;
  bool empty = false;
  for (const int64_t extent : shape) {
    empty |= extent == 0;
    overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
  }
  if (empty) return int64_t{0};
  if (overflow) {
    return Status::Error("shape " + FormatShape(shape) + " overflows 64 bits");
  }
  return bytes;
}

Status CheckEntry(const HeaderEntry& entry, uint64_t data_bytes) {
  const std::string what = "tensor " + Quote(entry.name) + ": ";
  if (SafetensorsTypeBytes(entry.type) == 0) {
    return Status::Error(what + "unknown dtype " + Quote(entry.type));
  }
  const auto [begin, end] = std::pair(entry.offsets[0], entry.offsets[1]);
  if (begin > end || end > data_bytes) {
    return Status::Error(what + "data_offsets [" + std::to_string(begin) + "," +
                         std::to_string(end) + "] outside the " +
                         std::to_string(data_bytes) + " bytes of data");
  }
  const auto bytes = DenseBytes(entry.type, entry.shape);
  if (!bytes.ok()) return Status::Error(what + bytes.message());
  if (static_cast<uint64_t>(bytes.value()) != end - begin) {
    return Status::Error(what + entry.type + " " + FormatShape(entry.shape) +
                         " is " + std::to_string(bytes.value()) +
                         " bytes, its data_offsets hold " +
                         std::to_string(end - begin));
  }
  return {};
}

// Tensors must cover the data exactly: what lies in a gap or twice under a
// name is either damage or a hiding place.
Status CheckCover(const std::vector<HeaderEntry>& entries,
                  uint64_t data_bytes) {
  std::vector<const HeaderEntry*> order;
  for (const HeaderEntry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(),
            [](const HeaderEntry* a, const HeaderEntry* b) {
              return a->offsets < b->offsets;
            });
  uint64_t covered = 0;
  for (const HeaderEntry* entry : order) {
    if (entry->offsets[0] != covered) {
      return Status::Error("tensor " + Quote(entry->name) + " starts at " +
                           std::to_string(entry->offsets[0]) +
                           (entry->offsets[0] < covered
                                ? ", overlapping data up to "
                                : ", leaving a gap after ") +
                           std::to_string(covered));
    }
    covered = entry->offsets[1];
  }
  if (covered == data_bytes) return {};
  return Status::Error("the tensors hold " + std::to_string(covered) +
                       " bytes, the file has " + std::to_string(data_bytes) +
                       " bytes of data");
}

Result<SafetensorsHeader> ReadHeader(std::string_view json,
                                     uint64_t data_bytes) {
  auto header = ParseSafetensorsHeader(json);
  if (!header.ok()) return header;
  for (const HeaderEntry& entry : header->entries) {
    RETURN_IF_ERROR(CheckEntry(entry, data_bytes));
  }
  RETURN_IF_ERROR(CheckCover(header->entries, data_bytes));
  return header;
}

Status InFile(const std::string& path, const std::string& message) {
  return Status::Error(path + ": not a good safetensors file: " + message);
}

// Looks at length and header before anything of the file's size is allocated.
Status Probe(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};  // ReadWholeFile says so
  const uintmax_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  std::array<char, kLengthBytes> length_bytes;
  if (error || size < kLengthBytes ||
      !file.read(length_bytes.data(), kLengthBytes)) {
    return {};
  }
  const uint64_t length =
      ReadLength(reinterpret_cast<const uint8_t*>(length_bytes.data()));
  RETURN_IF_ERROR(CheckHeaderLength(length, size));
  std::string json(static_cast<size_t>(length), '\0');
  if (!file.read(json.data(), static_cast<std::streamsize>(json.size()))) {
    return {};
  }
  const auto header = ReadHeader(json, size - kLengthBytes - length);
  return header.ok() ? Status() : header.status();
}

}  // namespace

int64_t SafetensorsTypeBytes(std::string_view type) {
  for (const TypeSize& known : kTypes) {
    if (known.name == type) return known.bytes;
  }
  return 0;
}

Result<SafetensorsFile> SafetensorsFile::Read(const std::string& path,
                                              int64_t max_bytes) {
  const Status status = Probe(path);
  if (!status.ok()) return InFile(path, status.message());
  ASSIGN_OR_RETURN(auto contents,
                   ReadWholeFile(path, static_cast<size_t>(std::min(
                                           max_bytes, kMaxSafetensorsFile))));
  return Parse(path, std::move(contents));
}

Result<SafetensorsFile> SafetensorsFile::Parse(const std::string& path,
                                               std::vector<uint8_t> contents) {
  SafetensorsFile file;
  file.path_ = path;
  file.contents_ = std::move(contents);
  const std::span<const uint8_t> bytes(file.contents_);
  if (bytes.size() < kLengthBytes) {
    return InFile(path, "truncated: " + std::to_string(bytes.size()) +
                            " bytes, the header length alone takes 8");
  }
  const uint64_t length = ReadLength(bytes.data());
  const Status status = CheckHeaderLength(length, bytes.size());
  if (!status.ok()) return InFile(path, status.message());
  const std::span<const uint8_t> rest = bytes.subspan(kLengthBytes);
  const std::span<const uint8_t> data =
      rest.subspan(static_cast<size_t>(length));
  auto header =
      ReadHeader(std::string_view(reinterpret_cast<const char*>(rest.data()),
                                  static_cast<size_t>(length)),
                 data.size());
  if (!header.ok()) return InFile(path, header.message());
  file.metadata_ = std::move(header->metadata);
  for (HeaderEntry& entry : header->entries) {
    const auto begin = static_cast<size_t>(entry.offsets[0]);
    const auto end = static_cast<size_t>(entry.offsets[1]);
    file.tensors_.push_back({std::move(entry.name), std::move(entry.type),
                             std::move(entry.shape),
                             data.subspan(begin, end - begin)});
  }
  return file;
}

const SafetensorsTensor* SafetensorsFile::Find(std::string_view name) const {
  for (const SafetensorsTensor& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Result<SafetensorsTensor> SafetensorsFile::Get(
    std::string_view name, std::string_view type,
    const std::vector<int64_t>& shape) const {
  const SafetensorsTensor* tensor = Find(name);
  const std::string what = path_ + ": tensor " + Quote(name);
  if (tensor == nullptr) return Status::Error(what + " is not in the file");
  if (tensor->type != type) {
    return Status::Error(what + " has type " + tensor->type + "; want " +
                         std::string(type));
  }
  if (tensor->shape != shape) {
    return Status::Error(what + " has shape " + FormatShape(tensor->shape) +
                         "; want " + FormatShape(shape));
  }
  return *tensor;
}

std::string SafetensorsFile::Digest() const { return DigestTensors(tensors_); }

namespace {

// Larger elements first keeps every tensor aligned to its own.
std::vector<const SafetensorsTensor*> WidestFirst(
    const std::vector<SafetensorsTensor>& tensors) {
  std::vector<const SafetensorsTensor*> order;
  for (const int64_t width : {8, 4, 2, 1, 0}) {
    for (const SafetensorsTensor& tensor : tensors) {
      if (SafetensorsTypeBytes(tensor.type) == width) order.push_back(&tensor);
    }
  }
  return order;
}

}  // namespace

Result<std::string> FormatSafetensors(
    const std::vector<SafetensorsTensor>& tensors,
    const std::map<std::string, std::string>& metadata) {
  const std::vector<const SafetensorsTensor*> order = WidestFirst(tensors);
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const SafetensorsTensor* tensor : order) {
    const std::string what = "tensor " + Quote(tensor->name) + ": ";
    if (tensor->name == "__metadata__" || header.contains(tensor->name)) {
      return Status::Error(what + "a name that is taken");
    }
    const auto bytes = DenseBytes(tensor->type, tensor->shape);
    if (!bytes.ok()) return Status::Error(what + bytes.message());
    if (SafetensorsTypeBytes(tensor->type) == 0 ||
        static_cast<uint64_t>(bytes.value()) != tensor->bytes.size()) {
      return Status::Error(what + "its bytes do not fit " + tensor->type + " " +
                           FormatShape(tensor->shape));
    }
    const uint64_t end = offset + tensor->bytes.size();
    header[tensor->name] = {{"dtype", tensor->type},
                            {"shape", tensor->shape},
                            {"data_offsets", {offset, end}}};
    offset = end;
  }
  // Names that are not UTF-8 are written with replacement characters.
  std::string json =
      header.is_null()
          ? "{}"
          : header.dump(-1, ' ', false,
                        nlohmann::ordered_json::error_handler_t::replace);
  json.append((8 - json.size() % 8) % 8, ' ');
  std::string file(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i) {
    file[i] = static_cast<char>(json.size() >> (8 * i) & 255);
  }
  file += json;
  for (const SafetensorsTensor* tensor : order) {
    file.append(reinterpret_cast<const char*>(tensor->bytes.data()),
                tensor->bytes.size());
  }
  return file;
}

Status WriteSafetensors(const std::string& path,
                        const std::vector<SafetensorsTensor>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  const auto file = FormatSafetensors(tensors, metadata);
  if (!file.ok()) return Status::Error(path + ": " + file.message());
  return WriteFileAtomically(path, file.value());
}

}  // namespace lockstep::verify
