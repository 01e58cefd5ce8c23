// The profile reader: what is read is written back the same.
#include <string>

#include "fuzz/engine/engine.h"
#include "verify/profile/profile.h"

namespace lockstep::fuzz {
namespace {

void Check(std::string_view text) {
  const auto profile = verify::ParseProfile(text, "x");
  if (!profile.ok()) {
    Expect(!profile.message().empty(), "an error says something", text);
    return;
  }
  Expect(verify::LintProfile(profile.value()).empty(),
         "a contradictory profile is accepted", text);
  const std::string written = verify::ProfileText(profile.value());
  const auto again = verify::ParseProfile(written, "x");
  Expect(again.ok() && again.value() == profile.value(),
         "written again it is another profile", text);
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::fuzz::Check(lockstep::fuzz::TextOf(data, size));
  return 0;
}
