// Replies to the judge (docs/wire.md) that are no answers of a kernel.
#ifndef LOCKSTEP_VERIFY_HOST_REPLIES_H_
#define LOCKSTEP_VERIFY_HOST_REPLIES_H_

#include <cstdint>
#include <string>

#include "verify/host/library.h"

namespace lockstep::verify::host {

inline Json Error(int64_t id, const char* kind, const std::string& message) {
  return {{"type", "error"}, {"id", id}, {"kind", kind}, {"message", message}};
}

// Nothing more can be computed by this process.
inline Json Fatal(int64_t id, const char* kind, const std::string& message) {
  Json error = Error(id, kind, message);
  error["fatal"] = true;
  return error;
}

inline Json Unsupported(int64_t id, const std::string& reason) {
  return {{"type", "unsupported"}, {"id", id}, {"reason", reason}};
}

inline std::string LineOf(const Json& json) {
  // What a kernel says need not be UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_REPLIES_H_
