#include "verify/cli/cli.h"

#include <algorithm>
#include <string>
#include <vector>

#include "verify/cli/process.h"
#include "verify/run/environment.h"

namespace lockstep::verify::cli {
namespace {

constexpr const char* kFooter =
    "Example:\n"
    "  lockstep verify 'attention_forward hq=4 hkv=2 sq=37 skv=129 d=64 "
    "cap=50 mask=causal'\n\n"
    "Exit codes: 0 pass, 1 fail, 2 usage, 3 candidate broke, 4 suspicious,\n"
    "5 vacuous or nothing ran, 6 self-check failed, 77 unsupported here,\n"
    "130 interrupted (docs/verdicts.md).";

std::vector<std::string>& GivenWords() {
  static std::vector<std::string> arguments;
  return arguments;
}

std::string VersionText() {
  const Environment environment = ReadEnvironment();
  return "lockstep " + environment.version + " (commit " + environment.commit +
         (environment.dirty ? " with changes" : "") + ", " +
         environment.compiler + ", " + environment.build_type + ", contract " +
         std::to_string(environment.contract_version) + ")";
}

int RunCommand(int argc, char** argv) {
  Parser program(
      "Judges attention and scan kernels against a bit-exact scalar reference.",
      kFooter, "lockstep");
  program.SetVersion(VersionText());
  AddVerify(&program);
  AddInvariance(&program);
  AddIdentify(&program);
  AddReplay(&program);
  AddList(&program);
  AddEnv(&program);
  AddExport(&program);
  AddPlan(&program);
  AddIds(&program);
  AddSiblings(&program);
  const int started = StartSibling(argc, argv);
  return started >= 0 ? started : program.Run(argc, argv);
}

}  // namespace

const std::vector<std::string>& CommandArguments() { return GivenWords(); }

int Main(int argc, char** argv) {
  bool bisect = false;
  const int code = Guarded([&] {
    LetThreadsSleep();
    GivenWords().assign(argv + (argc > 0 ? 1 : 0), argv + argc);
    const auto& words = GivenWords();
    bisect = std::find(words.begin(), words.end(), "--bisect") != words.end();
    return RunCommand(argc, argv);
  });
  // Here, so that a mistyped option does not make a commit a bad one.
  return bisect ? BisectCode(code) : code;
}

}  // namespace lockstep::verify::cli
