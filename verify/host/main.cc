// lockstep-host PATH [ARG=VALUE...]: a shared object that exports the functions
// of lockstep/candidate.h, behind the wire of docs/wire.md. The judge starts it
// for candidates so:PATH.
#include <fcntl.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "verify/host/session.h"

namespace {

constexpr int kUsage = 2;

// "r,w,in,out".
std::optional<std::array<int, 4>> ParseDescriptors(const char* text) {
  std::array<int, 4> numbers{};
  const char* end = text + std::strlen(text);
  for (size_t n = 0; n < numbers.size(); ++n) {
    const auto [stop, error] = std::from_chars(text, end, numbers[n]);
    const bool last = n + 1 == numbers.size();
    if (error != std::errc() || (last ? stop != end : *stop != ',')) {
      return std::nullopt;
    }
    text = stop + 1;
  }
  return numbers;
}

int Usage() {
  std::fputs(
      "lockstep-host: is started by lockstep for candidates so:PATH, with "
      "LOCKSTEP_WIRE in its environment (docs/candidates.md)\n",
      stderr);
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  const char* variable = std::getenv("LOCKSTEP_WIRE");
  if (argc < 2 || variable == nullptr) return Usage();
  const auto wire = ParseDescriptors(variable);
  if (!wire) return Usage();
  // What the kernel starts must not hold the wire open.
  for (const int descriptor : *wire) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  lockstep::verify::host::Session session(
      {(*wire)[0], (*wire)[1], (*wire)[2], (*wire)[3]}, argv[1],
      std::vector<std::string>(argv + 2, argv + argc));
  return session.Serve();
}
