// The safetensors reader: whatever the bytes, an error or tensors that lie in
// them and can be written again. An input that begins with '{' is a header
// whose length is put before it, so that seeds are text; behind its first zero
// byte lies the data.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/engine/engine.h"
#include "verify/base/io/safetensors.h"

namespace lockstep::fuzz {
namespace {

std::vector<uint8_t> FileOf(const uint8_t* data, size_t size) {
  if (size == 0 || data[0] != '{') return {data, data + size};
  const uint8_t* end = std::find(data, data + size, uint8_t{0});
  const auto header = static_cast<uint64_t>(end - data);
  std::vector<uint8_t> file(8);
  for (size_t n = 0; n < 8; ++n) {
    file[n] = static_cast<uint8_t>(header >> (8 * n));
  }
  file.insert(file.end(), data, end);
  if (end < data + size) file.insert(file.end(), end + 1, data + size);
  return file;
}

void Check(const uint8_t* data, size_t size) {
  const std::string_view text = TextOf(data, size);
  const auto file = verify::SafetensorsFile::Parse("x", FileOf(data, size));
  if (!file.ok()) {
    Expect(file.message().find('\n') == std::string::npos,
           "an error is one line", text);
    return;
  }
  size_t bytes = 0;
  for (const verify::SafetensorsTensor& tensor : file->tensors()) {
    bytes += tensor.bytes.size();
    Expect(file->Get(tensor.name, tensor.type, tensor.shape).ok(),
           "a tensor is not found by its own name", text);
  }
  Expect(bytes <= size, "more bytes than the file has", text);
  const auto written =
      verify::FormatSafetensors(file->tensors(), file->metadata());
  if (!written.ok()) return;  // a type that is read but never written
  const auto again = verify::SafetensorsFile::Parse(
      "x", {written.value().begin(), written.value().end()});
  Expect(again.ok() && again->Digest() == file->Digest(),
         "written again it is another file", text);
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::fuzz::Check(data, size);
  return 0;
}
