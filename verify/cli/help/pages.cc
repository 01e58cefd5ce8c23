// lockstep completion, lockstep man: files for shells and readers, made from
// the parser.
#include <iostream>
#include <memory>
#include <string>

#include "verify/cli/cli.h"
#include "verify/cli/help/describe.h"
#include "verify/run/environment.h"

namespace lockstep::verify::cli {
namespace {

ProgramText Everything(const Parser& program) {
  std::string missing;
  ProgramText text = DescribeWithSiblings(program, &missing);
  if (!missing.empty()) Note(missing);
  return text;
}

}  // namespace

void AddPages(Parser* program) {
  Verb* completion =
      program->Add("completion", "Print the completion of bash, zsh or fish",
                   "Examples:\n"
                   "  source <(lockstep completion bash)\n"
                   "  lockstep completion zsh > ~/.zfunc/_lockstep\n"
                   "  lockstep completion fish > "
                   "~/.config/fish/completions/lockstep.fish");
  auto shell = std::make_shared<std::string>();
  completion->Value("SHELL", shell.get(), "bash, zsh or fish")
      .Required()
      .OneOf({"bash", "zsh", "fish"});
  completion->run = [program, shell] {
    const ProgramText text = Everything(*program);
    std::cout << (*shell == "bash"  ? BashCompletion(text)
                  : *shell == "zsh" ? ZshCompletion(text)
                                    : FishCompletion(text));
    return kExitPass;
  };
  Verb* man = program->Add("man", "Print the man page",
                           "Example:\n  lockstep man | man -l -");
  man->run = [program] {
    std::cout << ManPage(Everything(*program),
                         "lockstep " + ReadEnvironment().version);
    return kExitPass;
  };
}

}  // namespace lockstep::verify::cli
