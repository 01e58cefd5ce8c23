#include "verify/base/printable.h"

#include <cstdint>

namespace lockstep::verify {
namespace {

uint32_t ByteAt(std::string_view text, size_t at) {
  return at < text.size() ? static_cast<uint8_t>(text[at]) : 0u;
}

// The code point of a valid sequence.
uint32_t CodeAt(std::string_view text, size_t at, size_t length) {
  const uint32_t first = ByteAt(text, at);
  if (length == 1) return first;
  uint32_t code = first & (0x7fu >> length);
  for (size_t n = 1; n < length; ++n) {
    code = code << 6 | (ByteAt(text, at + n) & 0x3f);
  }
  return code;
}

// What a terminal acts upon instead of showing it: C0 and C1, delete, and the
// embeddings, overrides and isolates of the bidirectional algorithm.
bool Acts(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
         (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

size_t TextLength(std::string_view text, size_t at) {
  const uint32_t b0 = ByteAt(text, at);
  if (b0 < 0x80) {
    return b0 >= 0x20 || b0 == '\t' || b0 == '\n' || b0 == '\r' ? 1 : 0;
  }
  const size_t length = b0 >= 0xf0 && b0 < 0xf5   ? 4
                        : b0 >= 0xe0 && b0 < 0xf0 ? 3
                        : b0 >= 0xc2 && b0 < 0xe0 ? 2
                                                  : 0;
  if (length == 0) return 0;
  for (size_t n = 1; n < length; ++n) {
    if ((ByteAt(text, at + n) & 0xc0) != 0x80) return 0;
  }
  const uint32_t code = CodeAt(text, at, length);
  const bool overlong = (length == 3 && code < 0x800) ||
                        (length == 4 && (code < 0x10000 || code > 0x10ffff));
  const bool forbidden =
      (code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff;
  return overlong || forbidden ? 0 : length;
}

std::string Printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = TextLength(text, at);
    if (length > 0 && !Acts(CodeAt(text, at, length))) {
      out += text.substr(at, length);
      at += length;
      continue;
    }
    // Of a sequence that acts, every byte; otherwise the one that is wrong.
    for (const size_t end = at + (length > 0 ? length : 1); at < end; ++at) {
      const uint32_t byte = ByteAt(text, at);
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

}  // namespace lockstep::verify
