#include "verify/cli/cli.h"

#include <string>
#include <vector>

namespace lockstep::verify::cli {
namespace {

constexpr const char* kFooter =
    "Example:\n"
    "  lockstep verify 'attention_forward hq=4 hkv=2 sq=37 skv=129 d=64 "
    "cap=50 mask=causal'\n\n"
    "Exit codes: 0 pass, 1 fail, 2 usage, 3 candidate broke, 4 suspicious,\n"
    "5 vacuous or nothing ran, 6 self-check failed, 77 unsupported here,\n"
    "130 interrupted (docs/verdicts.md).";

std::vector<std::string>& Arguments() {
  static std::vector<std::string> arguments;
  return arguments;
}

int Run(int argc, char** argv) {
  Parser program(
      "Judges attention kernels against a bit-exact scalar reference.", kFooter,
      "lockstep");
  AddVerify(&program);
  AddReplay(&program);
  AddList(&program);
  AddEnv(&program);
  AddExport(&program);
  AddSelftest(&program);
  AddPlan(&program);
  AddSiblings(&program);
  const int started = StartSibling(argc, argv);
  return started >= 0 ? started : program.Run(argc, argv);
}

}  // namespace

const std::vector<std::string>& CommandArguments() { return Arguments(); }

int Main(int argc, char** argv) {
  return Guarded([&] {
    Arguments().assign(argv + (argc > 0 ? 1 : 0), argv + argc);
    return Run(argc, argv);
  });
}

}  // namespace lockstep::verify::cli
