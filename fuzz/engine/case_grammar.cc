// The case grammar: what is read is written back the same, in both forms.
#include <string>

#include "fuzz/engine/engine.h"
#include "verify/case/case.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz {
namespace {

void Check(std::string_view text) {
  const auto read = verify::ParseCaseSequence(text);
  if (!read.ok()) {
    Expect(!read.message().empty() &&
               read.message().find('\n') == std::string::npos,
           "an error is one line", text);
    return;
  }
  for (const std::string& line : {verify::CanonicalLine(read.value()),
                                  verify::MinimalLine(read.value())}) {
    const auto again = verify::ParseCaseSequence(line);
    Expect(again.ok() && again.value() == read.value(),
           "a printed line reads back as another case", line);
  }
  for (const verify::Case& c : read.value()) {
    const bool valid = verify::ValidateCase(c).ok();
    Expect(valid || verify::EstimateBytes(c) == INT64_MAX,
           "a refused case has a size", text);
  }
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::fuzz::Check(lockstep::fuzz::TextOf(data, size));
  return 0;
}
