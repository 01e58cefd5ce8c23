#include "verify/base/io/json.h"

namespace lockstep::verify {

Json ParseJson(std::string_view text) {
  // The parser takes a byte 0 for the end, and what follows would be hidden.
  if (text.find('\0') != text.npos) return Json(Json::value_t::discarded);
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (depth > kMostJsonDepth) return Json(Json::value_t::discarded);
  }
  return Json::parse(text, nullptr, false);
}

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lockstep::verify
