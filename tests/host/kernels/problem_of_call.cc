#include "tests/host/kernels/problem_of_call.h"

#include <cstdio>
#include <cstring>
#include <string_view>

namespace lockstep::tests {

int Refuse(const Status& status, lockstep_receipt* receipt) {
  std::snprintf(receipt->message, sizeof(receipt->message), "%s",
                status.message().c_str());
  return LOCKSTEP_UNSUPPORTED;
}

std::string ArgumentOf(int argc, const char* const* argv, const char* key) {
  const size_t length = std::strlen(key);
  for (int n = 0; n < argc; ++n) {
    const std::string_view word = argv[n];
    if (word.substr(0, length) == key && word.size() > length &&
        word[length] == '=') {
      return std::string(word.substr(length + 1));
    }
  }
  return "";
}

}  // namespace lockstep::tests
