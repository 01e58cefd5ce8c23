// lockstep shrink
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "fuzz/cli/failing_case.h"
#include "fuzz/shrink.h"
#include "fuzz/text.h"

namespace lockstep::fuzz::cli {
namespace {

constexpr const char* kShrinkExample =
    "Example:\n"
    "  lockstep shrink 'attention_forward sq=37 skv=129 d=8 mask=causal'\n"
    "      --candidate mutant:attn.causal_strict\n\n";

int RunShrink(const FailingCaseArguments& a) {
  int code = 0;
  const std::optional<FailingCase> found = JudgeFailing(a, "shrink", &code);
  if (!found) return code;
  Fault fault;
  fault.line = verify::MinimalLine(found->sequence);
  fault.shrunk = Shrink(*found->domain, found->sequence, found->outcome,
                        found->target, a.seconds);
  std::cout << FaultText(fault);
  return found->ExitCode();
}

}  // namespace

void AddShrink(Parser* program) {
  Verb* verb =
      program->Add("shrink", "Make a failing case as small as possible",
                   kShrinkExample + std::string(kExitCodesOfFailing));
  auto a = std::make_shared<FailingCaseArguments>();
  AddFailingCase(verb, "To spend (default 60)", a.get());
  verb->run = [a] { return verify::cli::AfterHosts(RunShrink(*a)); };
}

}  // namespace lockstep::fuzz::cli
