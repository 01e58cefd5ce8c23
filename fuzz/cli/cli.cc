#include "fuzz/cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <new>

namespace lockstep::fuzz::cli {
namespace {

using verify::cli::Fail;

// One line, whatever the parser wrote.
std::string OneLine(std::string text) {
  const size_t end = text.find_last_not_of(" \n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

int Run(int argc, char** argv) {
  CLI::App program("Looks for cases on which a kernel is wrong.", "lockstep");
  program.require_subcommand(0, 1);
  const std::vector<Verb> verbs = {AddFuzz(&program), AddShrink(&program),
                                   AddCampaign(&program), AddCorpus(&program)};
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = program.get_subcommands();
    std::cout << (chosen.empty() ? program.help()
                                 : chosen[0]->help(program.get_name()));
    return verify::kExitPass;
  } catch (const CLI::ParseError& error) {
    return Fail(OneLine(error.what()) + " (see lockstep fuzz --help)");
  }
  for (const Verb& verb : verbs) {
    if (verb.app->parsed()) return verb.run();
  }
  std::string known;
  for (const Verb& verb : verbs) known += " " + verb.app->get_name();
  return Fail("no verb given; verbs:" + known + " (see lockstep --help)");
}

}  // namespace

int Main(int argc, char** argv) {
  // Our code throws nothing; the libraries we use, and memory, may.
  try {
    return Run(argc, argv);
  } catch (const std::bad_alloc&) {
    return Fail("out of memory", verify::kExitSelf);
  } catch (const std::exception& error) {
    return Fail(OneLine(error.what()), verify::kExitSelf);
  }
}

}  // namespace lockstep::fuzz::cli
