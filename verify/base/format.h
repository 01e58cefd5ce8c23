// Numbers in messages.
#ifndef LOCKSTEP_VERIFY_BASE_FORMAT_H_
#define LOCKSTEP_VERIFY_BASE_FORMAT_H_

#include <cstdint>
#include <string>

namespace lockstep::verify {

// What printf would print.
[[gnu::format(printf, 1, 2)]] std::string Format(const char* format, ...);

// "1 case", "2 cases".
std::string Count(int64_t n, const std::string& noun);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_FORMAT_H_
