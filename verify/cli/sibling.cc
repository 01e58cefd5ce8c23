// Verbs that live in programs of their own beside this one.
#include <unistd.h>

#include <cerrno>
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
    {"check", "lockstep-fuzz",
     "Tell what a kernel computes, and whether it does so everywhere"},
    {"fuzz", "lockstep-fuzz", "Draw cases until one fails, and shrink it"},
    {"shrink", "lockstep-fuzz", "Make a failing case as small as possible"},
    {"explain", "lockstep-fuzz",
     "Find the known bugs that give the wrong answer of a failing case"},
    {"campaign", "lockstep-fuzz",
     "Join the shards of fuzz --out, and confirm their findings"},
    {"selftest", "lockstep-fuzz",
     "Test the judge with known bugs and correct kernels"},
    {"bench", "lockstep-bench",
     "Time kernels, as fractions of what the machine can do"},
    {"gate", "lockstep-bench",
     "Decide whether a kernel is worth using in place of another"},
};

// Where a program beside this one lies. Errors: /proc is not there.
Result<std::string> PathBeside(const char* program) {
  std::error_code error;
  const std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return Status::Error(
        "cannot find the path of lockstep without /proc; start " +
        std::string(program) + " beside it instead");
  }
  return (self.parent_path() / program).string();
}

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
    const Result<std::string> path = PathBeside(sibling.program);
    if (!path.ok()) return Fail(path.message());
    std::vector<char*> arguments(argv, argv + argc);
    arguments.push_back(nullptr);
    execv(path->c_str(), arguments.data());
    const std::string why =
        errno == ENOENT
            ? "which is not there; in a checkout build it with: cmake --build "
              "--preset release --target " +
                  std::string(sibling.program)
            : std::string("which cannot be started: ") + std::strerror(errno);
    return Fail("'" + std::string(sibling.verb) + "' is the program " +
                path.value() + ", " + why);
  }
  return -1;
}

}  // namespace lockstep::verify::cli
