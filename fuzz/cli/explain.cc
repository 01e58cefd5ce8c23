// lockstep explain
#include <iostream>
#include <memory>
#include <string>

#include "fuzz/cli/failing_case.h"
#include "fuzz/explain.h"

namespace lockstep::fuzz::cli {
namespace {

using verify::cli::Fail;

constexpr const char* kExplainExample =
    "Example:\n"
    "  lockstep explain 'attention_forward sq=37 skv=129 d=8 mask=causal'\n"
    "      --candidate mutant:attn.causal_strict\n\n";

struct ExplainArguments {
  FailingCaseArguments failing;
  std::string json;
};

int RunExplain(const ExplainArguments& a) {
  if (!a.json.empty()) {
    const Status writable = verify::cli::CheckDeliverable(a.json);
    if (!writable.ok()) return Fail(writable.message());
  }
  int code = 0;
  const auto found = JudgeFailing(a.failing, "explain", &code);
  if (!found) return code;
  code = found->ExitCode();
  const Result<Explained> explained =
      Explain(*found->domain, found->sequence, found->outcome, found->target,
              a.failing.seconds);
  if (!explained.ok()) return Fail(explained.message(), code);
  if (a.json != "-") std::cout << ExplainedText(explained.value());
  if (a.json.empty()) return code;
  const Status delivered =
      verify::cli::Deliver(a.json, ExplainedJson(explained.value()));
  return delivered.ok() ? code : Fail(delivered.message());
}

}  // namespace

void AddExplain(Parser* program) {
  Verb* verb = program->Add(
      "explain",
      "Find the known bugs that give the wrong answer of a failing case",
      kExplainExample + std::string(kExitCodesOfFailing));
  auto a = std::make_shared<ExplainArguments>();
  a->failing.answers = true;
  AddFailingCase(verb, "Seconds to spend on making the case small (default 60)",
                 &a->failing);
  verb->Value("--json", &a->json, "The same as JSON").Type("FILE|-");
  verb->run = [a] { return verify::cli::AfterHosts(RunExplain(*a)); };
}

}  // namespace lockstep::fuzz::cli
