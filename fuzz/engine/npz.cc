// The reader of .npz archives: whatever the bytes, an error or tensors that
// take no more than is allowed. An input that begins with "hex:" is an archive
// in hexadecimal digits, so that seeds are text.
#include <charconv>
#include <string>
#include <vector>

#include "fuzz/engine/engine.h"
#include "verify/base/io/npy.h"

namespace lockstep::fuzz {
namespace {

constexpr int64_t kAllowed = int64_t{1} << 16;

std::vector<uint8_t> FileOf(std::string_view text) {
  constexpr std::string_view kHex = "hex:";
  if (!text.starts_with(kHex)) return {text.begin(), text.end()};
  std::vector<uint8_t> file;
  for (size_t at = kHex.size(); at + 2 <= text.size(); at += 2) {
    uint8_t byte = 0;
    std::from_chars(text.data() + at, text.data() + at + 2, byte, 16);
    file.push_back(byte);
  }
  return file;
}

void Check(const uint8_t* data, size_t size) {
  const std::string_view text = TextOf(data, size);
  const auto file = verify::ParseNpz("x", FileOf(text), kAllowed);
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
  Expect(bytes <= kAllowed, "more bytes than are allowed", text);
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::fuzz::Check(data, size);
  return 0;
}
