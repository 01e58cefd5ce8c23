// Entry points for coverage-guided engines (libFuzzer, Centipede), and what
// they share. One target per program; with replay_main.cc in place of an
// engine the same target runs files, in every build.
#ifndef LOCKSTEP_FUZZ_ENGINE_ENGINE_H_
#define LOCKSTEP_FUZZ_ENGINE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

// Judges one input; returns 0, and aborts where a property does not hold.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace lockstep::fuzz {

// Aborts with one line where `holds` is false: an engine's way to learn it.
void Expect(bool holds, std::string_view what, std::string_view input);

inline std::string_view TextOf(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_ENGINE_ENGINE_H_
