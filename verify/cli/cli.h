// The program `lockstep`: verbs, options, and the only code of verify/ that
// prints. What verbs do is below; here are words, files and exit codes.
#ifndef LOCKSTEP_VERIFY_CLI_CLI_H_
#define LOCKSTEP_VERIFY_CLI_CLI_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/run.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace lockstep::verify::cli {

// Parses the command line, runs the verb, returns the exit code. Nothing
// escapes it: foreign exceptions end here.
int Main(int argc, char** argv);

// The command line as typed, without the program's name; for receipts.
const std::vector<std::string>& CommandArguments();

// A verb: its parser, and what it does. `run` returns the exit code.
struct Verb {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

Verb AddVerify(CLI::App* program);
Verb AddReplay(CLI::App* program);
Verb AddList(CLI::App* program);
Verb AddEnv(CLI::App* program);
Verb AddExport(CLI::App* program);
Verb AddSelftest(CLI::App* program);
Verb AddPlan(CLI::App* program);

// Verbs of sibling programs: named in the help, started by StartSibling.
void AddSiblings(CLI::App* program);
// Becomes the sibling that has the verb, and does not come back. -1 where the
// verb is none of theirs; an exit code where the program cannot be started.
int StartSibling(int argc, char** argv);

// "lockstep: message" on stderr; returns `code`.
int Fail(const std::string& message, int code = kExitUsage);

// `text` to a file (beside, then renamed), or for "-" to stdout.
Status Deliver(const std::string& path, const std::string& text);

// Whether Deliver could work, so that a long run does not end in vain.
Status CheckDeliverable(const std::string& path);

// Set by the first Ctrl-C; the second ends the program.
std::atomic<bool>* WatchInterrupt();

// Which cases: shared by verify and export.
struct CaseArguments {
  std::vector<std::string> lines;
  std::vector<std::string> files;
};
void AddCaseArguments(CLI::App* app, CaseArguments* arguments);
// Errors: usage, the first bad line.
Result<std::vector<Job>> ReadJobs(const CaseArguments& arguments);

// 0 ... 2^64 - 1. Errors: one line.
Result<uint64_t> ParseSeed(const std::string& text);

// "512M", "4G", or bytes. Errors: one line.
Result<int64_t> ParseMemory(const std::string& text);

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_CLI_H_
