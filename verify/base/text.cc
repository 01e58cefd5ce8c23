#include "verify/base/text.h"

#include <algorithm>
#include <cstddef>

namespace lockstep::verify {

std::string ListNames(std::span<const std::string_view> names) {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? " or " : ", ";
    list += "'" + std::string(names[i]) + "'";
  }
  return list;
}

std::string ShellQuote(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string ShellWord(const std::string& word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') ||
           std::string_view("_-./=:,+@%").find(c) != std::string_view::npos;
  };
  const bool safe =
      !word.empty() && std::all_of(word.begin(), word.end(), plain);
  return safe ? word : ShellQuote(word);
}

std::string Quote(std::string_view text) {
  constexpr size_t kLongest = 40;
  std::string quoted = "'";
  for (const char c : text.substr(0, kLongest)) {
    // Bytes of other scripts pass; control characters would break the line.
    const unsigned char byte = static_cast<unsigned char>(c);
    quoted += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return quoted + (text.size() > kLongest ? "...'" : "'");
}

}  // namespace lockstep::verify
