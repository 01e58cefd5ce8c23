#include "verify/cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <new>

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

// One line, whatever the parser wrote.
std::string OneLine(std::string text) {
  const size_t end = text.find_last_not_of(" \n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

int Run(int argc, char** argv) {
  CLI::App program(
      "Judges attention kernels against a bit-exact scalar reference.",
      "lockstep");
  program.footer(kFooter);
  program.require_subcommand(0, 1);
  const std::vector<Verb> verbs = {AddVerify(&program), AddReplay(&program),
                                   AddList(&program),   AddEnv(&program),
                                   AddExport(&program), AddSelftest(&program),
                                   AddPlan(&program)};
  AddSiblings(&program);
  const int started = StartSibling(argc, argv);
  if (started >= 0) return started;
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = program.get_subcommands();
    std::cout << (chosen.empty() ? program.help()
                                 : chosen[0]->help(program.get_name()));
    return kExitPass;
  } catch (const CLI::ParseError& error) {
    return Fail(OneLine(error.what()) + " (see lockstep --help)");
  }
  for (const Verb& verb : verbs) {
    if (verb.app->parsed()) return verb.run();
  }
  std::string known;
  for (const Verb& verb : verbs) known += " " + verb.app->get_name();
  return Fail("no verb given; verbs:" + known + " (see lockstep --help)");
}

}  // namespace

const std::vector<std::string>& CommandArguments() { return Arguments(); }

int Main(int argc, char** argv) {
  // Our code throws nothing; the libraries we use, and memory, may.
  try {
    Arguments().assign(argv + (argc > 0 ? 1 : 0), argv + argc);
    return Run(argc, argv);
  } catch (const std::bad_alloc&) {
    return Fail("out of memory", kExitSelf);
  } catch (const std::exception& error) {
    return Fail(OneLine(error.what()), kExitSelf);
  }
}

}  // namespace lockstep::verify::cli
