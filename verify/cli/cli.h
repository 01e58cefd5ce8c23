// The program `lockstep`: verbs, options, and the only code of verify/ that
// prints. What verbs do is below; here are words, files and exit codes.
#ifndef LOCKSTEP_VERIFY_CLI_CLI_H_
#define LOCKSTEP_VERIFY_CLI_CLI_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/cli/parser.h"
#include "verify/run.h"

namespace lockstep::verify::cli {

// Parses the command line, runs the verb, returns the exit code. Nothing
// escapes it: foreign exceptions end here.
int Main(int argc, char** argv);

// The command line as typed, without the program's name; for receipts.
const std::vector<std::string>& CommandArguments();

void AddVerify(Parser* program);
void AddReplay(Parser* program);
void AddList(Parser* program);
void AddEnv(Parser* program);
void AddExport(Parser* program);
void AddSelftest(Parser* program);
void AddPlan(Parser* program);

// Verbs of sibling programs: named in the help, started by StartSibling.
void AddSiblings(Parser* program);
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
void AddCaseArguments(Verb* verb, CaseArguments* arguments);
// Errors: usage, the first bad line.
Result<std::vector<Job>> ReadJobs(const CaseArguments& arguments);

// 0 ... 2^64 - 1. Errors: one line.
Result<uint64_t> ParseSeed(const std::string& text);

// "512M", "4G", or bytes. Errors: one line.
Result<int64_t> ParseMemory(const std::string& text);

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_CLI_H_
