#include "verify/cli/gate/toml_depth.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace lockstep::verify::cli {
namespace {

// Where the string that begins at `at` ends: behind its last quote. A string of
// one line ends with the line, too: what follows is an error to the parser.
size_t EndOfString(std::string_view text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool lines = text.substr(at).starts_with(three);
  for (size_t i = at + (lines ? 3 : 1); i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (lines && text.substr(i).starts_with(three)) {
      // The text may itself end with two quotes.
      size_t end = i + 3;
      while (end < std::min(i + 5, text.size()) && text[end] == quote) ++end;
      return end;
    } else if (!lines && (text[i] == quote || text[i] == '\n')) {
      return i + 1;
    }
  }
  return text.size();
}

bool InKey(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '-' || c == ' ' ||
         c == '\t' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

int LineOfDeepKey(std::string_view text) {
  int parts = 1;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = EndOfString(text, i);
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    parts = c == '.' ? parts + 1 : InKey(c) ? parts : 1;
    if (parts > kMostKeyParts) {
      return 1 +
             static_cast<int>(std::count(text.begin(), text.begin() + i, '\n'));
    }
    ++i;
  }
  return 0;
}

}  // namespace lockstep::verify::cli
