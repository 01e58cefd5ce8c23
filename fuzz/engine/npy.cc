// The reader of .npy arrays: whatever the bytes, an error or a tensor that
// takes no more than they have. An input that begins with "hex:" is an array in
// hexadecimal digits, so that seeds are text.
#include <charconv>
#include <string>
#include <vector>

#include "fuzz/engine/engine.h"
#include "verify/base/io/npy.h"

namespace lockstep::fuzz {
namespace {

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
  const auto file = verify::ParseNpy("x.npy", FileOf(text));
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
  Expect(bytes <= size, "more bytes than there are", text);
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::fuzz::Check(data, size);
  return 0;
}
