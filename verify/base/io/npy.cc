#include "verify/base/io/npy.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "verify/base/io/files.h"
#include "verify/base/status_macros.h"
#include "verify/base/text.h"

namespace lockstep::verify {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// NumPy's spelling, and that of safetensors.
constexpr std::pair<std::string_view, const char*> kNpyTypes[] = {
    {"<f4", "F32"},  {"<f2", "F16"},  {"<f8", "F64"}, {"<V2", "BF16"},
    {"|V2", "BF16"}, {"|b1", "BOOL"}, {"|u1", "U8"},  {"|i1", "I8"},
    {"<i2", "I16"},  {"<u2", "U16"},  {"<i4", "I32"}, {"<u4", "U32"},
    {"<i8", "I64"},  {"<u8", "U64"},
};

// One array, with the memory behind it.
struct Array {
  std::string file;  // where it lies, for messages
  std::string name;
  std::vector<uint8_t> contents;
  SafetensorsTensor tensor;
};

// What follows "'key': " in the header, a Python dictionary of literals.
Result<std::string_view> After(std::string_view header, const char* key) {
  const std::string quoted = "'" + std::string(key) + "':";
  const size_t at = header.find(quoted);
  if (at == std::string_view::npos) {
    return Status::Error("its header has no " + std::string(key));
  }
  std::string_view rest = header.substr(at + quoted.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

Result<std::string> ReadType(std::string_view header) {
  ASSIGN_OR_RETURN(const std::string_view text, After(header, "descr"));
  const std::string_view rest = text;
  const size_t end = rest.find('\'', 1);
  if (!rest.starts_with('\'') || end == std::string_view::npos) {
    return Status::Error("its elements are records; want plain numbers");
  }
  const std::string_view name = rest.substr(1, end - 1);
  std::string known;
  for (const auto& [numpy, type] : kNpyTypes) {
    if (name == numpy) return std::string(type);
    known += " " + std::string(numpy);
  }
  return Status::Error("elements of type '" + std::string(name) +
                       "'; want one of" + known);
}

// "(3, 4)", "(3,)", "()".
Result<std::vector<int64_t>> ReadShape(std::string_view header) {
  ASSIGN_OR_RETURN(const std::string_view text, After(header, "shape"));
  std::string_view rest = text;
  const Status bad = Status::Error("its shape is none");
  if (!rest.starts_with('(')) return bad;
  rest.remove_prefix(1);
  std::vector<int64_t> shape;
  while (!rest.starts_with(')')) {
    int64_t extent = 0;
    const char* end = rest.data() + rest.size();
    const auto [stop, error] = std::from_chars(rest.data(), end, extent);
    if (error != std::errc{} || extent < 0) return bad;
    shape.push_back(extent);
    if (shape.size() > kMaxSafetensorsRank) return bad;
    rest.remove_prefix(static_cast<size_t>(stop - rest.data()));
    if (rest.starts_with(',')) rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (rest.empty()) return bad;
  }
  return shape;
}

// The product of extents and bytes of an element; -1 where it overflows.
int64_t BytesOf(const SafetensorsTensor& tensor) {
  int64_t bytes = SafetensorsTypeBytes(tensor.type);
  for (const int64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return -1;
  }
  return bytes;
}

Status ParseHeader(std::span<const uint8_t> rest, std::string_view header,
                   SafetensorsTensor* tensor) {
  ASSIGN_OR_RETURN(std::string type, ReadType(header));
  ASSIGN_OR_RETURN(const std::string_view order,
                   After(header, "fortran_order"));
  if (!order.starts_with("False")) {
    return Status::Error(
        "is in Fortran order; save numpy.ascontiguousarray(x)");
  }
  ASSIGN_OR_RETURN(std::vector<int64_t> shape, ReadShape(header));
  tensor->type = std::move(type);
  tensor->shape = std::move(shape);
  tensor->bytes = rest;
  if (BytesOf(*tensor) == static_cast<int64_t>(rest.size())) return {};
  return Status::Error("has " + std::to_string(rest.size()) +
                       " bytes of elements; its shape and type take " +
                       std::to_string(BytesOf(*tensor)));
}

Status ParseArray(Array* array) {
  const std::span<const uint8_t> bytes(array->contents);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  if (!text.starts_with(kMagic) || bytes.size() < 12) {
    return Status::Error("is no array of NumPy");
  }
  const uint8_t version = bytes[6];
  if (version < 1 || version > 3) {
    return Status::Error("is of version " + std::to_string(version) +
                         " of the format; known are 1, 2 and 3");
  }
  const size_t begin = version == 1 ? 10 : 12;
  size_t length = bytes[8] | size_t{bytes[9]} << 8;
  if (version > 1) length |= size_t{bytes[10]} << 16 | size_t{bytes[11]} << 24;
  if (length > bytes.size() - begin) return Status::Error("is truncated");
  return ParseHeader(bytes.subspan(begin + length), text.substr(begin, length),
                     &array->tensor);
}

// Of `arrays` whose contents are read.
Result<SafetensorsFile> AsFile(const std::string& path,
                               std::vector<Array> arrays) {
  std::vector<SafetensorsTensor> tensors;
  for (Array& array : arrays) {
    const Status status = ParseArray(&array);
    if (!status.ok()) {
      return Status::Error(array.file + ": " + status.message());
    }
    array.tensor.name = array.name;
    tensors.push_back(array.tensor);
  }
  const Result<std::string> text = FormatSafetensors(tensors, {});
  if (!text.ok()) return Status::Error(path + ": " + text.message());
  return SafetensorsFile::Parse(
      path, std::vector<uint8_t>(text->begin(), text->end()));
}

size_t Bounded(int64_t max_bytes) {
  return static_cast<size_t>(std::min(max_bytes, kMaxSafetensorsFile));
}

// `files` have at most `max_bytes` together.
Result<SafetensorsFile> ReadFiles(const std::string& path,
                                  std::vector<std::string> files,
                                  int64_t max_bytes) {
  std::sort(files.begin(), files.end());
  size_t left = Bounded(max_bytes);
  std::vector<Array> arrays;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(auto contents, ReadWholeFile(file, left));
    left -= contents.size();
    arrays.push_back(
        {file, fs::path(file).stem().string(), std::move(contents), {}});
  }
  return AsFile(path, std::move(arrays));
}

}  // namespace

Result<SafetensorsFile> ReadNpy(const std::string& path, int64_t max_bytes) {
  return ReadFiles(path, {path}, max_bytes);
}

Result<SafetensorsFile> ParseNpy(const std::string& path,
                                 std::vector<uint8_t> contents) {
  std::vector<Array> arrays;
  arrays.push_back(
      {path, fs::path(path).stem().string(), std::move(contents), {}});
  return AsFile(path, std::move(arrays));
}

std::string WhyNoNpz(const std::string& path, const std::string& folder) {
  return path + ": archives of NumPy are not read; unpack it by " +
         "python3 -m zipfile -e " + ShellWord(path) + " " + ShellWord(folder);
}

Result<SafetensorsFile> ReadNpyFolder(const std::string& folder,
                                      int64_t max_bytes) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".npy") files.push_back(at->path().string());
  }
  if (files.empty()) return Status::Error(folder + ": no .npy file there");
  return ReadFiles(folder, std::move(files), max_bytes);
}

Result<SafetensorsFile> ReadTensors(const std::string& path,
                                    int64_t max_bytes) {
  std::error_code error;
  if (fs::is_directory(path, error)) return ReadNpyFolder(path, max_bytes);
  const fs::path extension = fs::path(path).extension();
  if (extension == ".npy") return ReadNpy(path, max_bytes);
  if (extension == ".npz") {
    const std::string folder = fs::path(path).replace_extension().string();
    return Status::Error(WhyNoNpz(path, folder) +
                         ", and name the folder in its place");
  }
  return SafetensorsFile::Read(path, max_bytes);
}

}  // namespace lockstep::verify
