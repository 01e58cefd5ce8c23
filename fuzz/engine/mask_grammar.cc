// The mask grammar: trees as deep as they come, read and written back.
#include <string>

#include "fuzz/engine/engine.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz {
namespace {

void Check(std::string_view text) {
  // A blank would end the value and begin another key.
  if (text.find_first_of(" \t\r\n") != std::string_view::npos) return;
  const auto read = verify::ParseCase(
      "attention_forward hq=2 sq=5 skv=7 d=1 mask=" + std::string(text));
  if (!read.ok()) return;
  const std::string line = verify::MinimalLine(read.value());
  const auto again = verify::ParseCase(line);
  Expect(again.ok() && again.value() == read.value(),
         "a printed mask reads back as another", line);
  // Every head has the tree, and its own copy is judged.
  (void)verify::ToProblem(read->Get<verify::AttentionForwardCase>());
  (void)verify::ValidateCase(read.value());
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::fuzz::Check(lockstep::fuzz::TextOf(data, size));
  return 0;
}
