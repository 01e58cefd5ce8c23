// JSON that others wrote, and ours. Text that is not UTF-8 (paths may be
// anything) is replaced, never thrown about.
#ifndef LOCKSTEP_VERIFY_BASE_IO_JSON_H_
#define LOCKSTEP_VERIFY_BASE_IO_JSON_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lockstep::verify {

using Json = nlohmann::ordered_json;

// The value of the text. It is discarded (no object, no array) where the text
// is no JSON, has a byte 0, or nests deeper than any file of Lockstep. A copy
// of such a value would overflow the stack.
inline constexpr int kMostJsonDepth = 64;
Json ParseJson(std::string_view text);

// indent < 0: one line.
std::string DumpJson(const Json& json, int indent);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_IO_JSON_H_
