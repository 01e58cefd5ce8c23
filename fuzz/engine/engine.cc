#include "fuzz/engine/engine.h"

#include <cstdio>
#include <cstdlib>

namespace lockstep::fuzz {

void Expect(bool holds, std::string_view what, std::string_view input) {
  if (holds) return;
  std::fprintf(stderr, "lockstep: %.*s\n  input: %.*s\n",
               static_cast<int>(what.size()), what.data(),
               static_cast<int>(input.size()), input.data());
  std::abort();
}

}  // namespace lockstep::fuzz
