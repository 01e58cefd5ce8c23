// Verbs that live in programs of their own beside this one.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "verify/base/status_macros.h"
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
    {"shrink", "lockstep-fuzz", "Make a failing case as small as possible"},
    {"explain", "lockstep-fuzz",
     "Find the known bugs that give the wrong answer of a failing case"},
    {"campaign", "lockstep-fuzz",
     "Join the shards of fuzz --out, and confirm their findings"},
    {"corpus", "lockstep-fuzz",
     "Find a small set of cases with the same features and kills"},
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

// What `path --describe` prints. Errors: it cannot be started, or fails.
Result<std::string> Ask(const std::string& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Status::Error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string arguments[] = {path, "--describe"};
  char* argv[] = {arguments[0].data(), arguments[1].data(), nullptr};
  pid_t child = 0;
  const int error =
      posix_spawn(&child, path.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char block[4096];
  for (ssize_t n = 0; (n = read(ends[0], block, sizeof(block))) > 0;) {
    text.append(block, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  const bool done = error == 0 && waitpid(child, &status, 0) == child;
  if (done && WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  return Status::Error(path + " cannot be asked for its options" +
                       (error == 0 ? "" : ": " + std::string(strerror(error))));
}

Result<ProgramText> Describe(const std::string& program) {
  ASSIGN_OR_RETURN(const std::string path, PathBeside(program.c_str()));
  ASSIGN_OR_RETURN(const std::string text, Ask(path));
  return ParseDescription(text);
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
    return Fail("'" + std::string(sibling.verb) + "' is the program " +
                path.value() +
                ", which cannot be started: " + std::strerror(errno));
  }
  return -1;
}

ProgramText DescribeWithSiblings(const Parser& program, std::string* missing) {
  ProgramText all = program.Describe();
  std::set<std::string> programs;
  for (const Sibling& sibling : kSiblings) programs.insert(sibling.program);
  for (const std::string& name : programs) {
    Result<ProgramText> theirs = Describe(name);
    if (!theirs.ok()) {
      *missing += (missing->empty() ? "" : "; ") + theirs.message();
      continue;
    }
    for (VerbText& verb : theirs->verbs) {
      for (VerbText& known : all.verbs) {
        if (known.name != verb.name) continue;
        known = std::move(verb);
        break;
      }
    }
  }
  return all;
}

}  // namespace lockstep::verify::cli
