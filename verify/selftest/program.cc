#include "verify/selftest/program.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "verify/base/digest.h"
#include "verify/base/io/files.h"
#include "verify/run/environment.h"

namespace lockstep::verify {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;

}  // namespace

Json ProgramJson() {
  const Environment environment = ReadEnvironment();
  Json json = {{"commit", environment.commit},
               {"dirty", environment.dirty},
               {"compiler", environment.compiler},
               {"cpu", environment.cpu}};
  const Result<std::vector<uint8_t>> bytes =
      ReadWholeFile("/proc/self/exe", kMostBytes);
  if (bytes.ok()) json["digest"] = DigestBytes(bytes->data(), bytes->size());
  return json;
}

}  // namespace lockstep::verify
