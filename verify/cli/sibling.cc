// Verbs that live in programs of their own beside this one.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "verify/cli/cli.h"

namespace lockstep::verify::cli {
namespace {

struct Sibling {
  const char* verb;
  const char* program;
  const char* description;
};
constexpr Sibling kSiblings[] = {
    {"fuzz", "lockstep-fuzz", "Draw cases until one fails, and shrink it"},
    {"shrink", "lockstep-fuzz", "Make a failing case as small as it will go"},
    {"campaign", "lockstep-fuzz",
     "Join the shards of fuzz --out, confirm what they found"},
    {"corpus", "lockstep-fuzz",
     "The smallest set of cases that keeps their worth"},
};

}  // namespace

void AddSiblings(Parser* program) {
  for (const Sibling& sibling : kSiblings) {
    program->Add(sibling.verb, sibling.description, "");
  }
}

int StartSibling(int argc, char** argv) {
  if (argc < 2) return -1;
  for (const Sibling& sibling : kSiblings) {
    if (std::strcmp(argv[1], sibling.verb) != 0) continue;
    std::error_code error;
    const std::filesystem::path self =
        std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return Fail("cannot tell where lockstep lies", kExitSelf);
    const std::string path = self.parent_path() / sibling.program;
    std::vector<char*> arguments(argv, argv + argc);
    arguments.push_back(nullptr);
    execv(path.c_str(), arguments.data());
    return Fail("'" + std::string(sibling.verb) + "' is the program " + path +
                ", which cannot be started: " + std::strerror(errno));
  }
  return -1;
}

}  // namespace lockstep::verify::cli
