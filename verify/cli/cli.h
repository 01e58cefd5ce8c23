// The program `lockstep`: verbs, options, and the only code of verify/ that
// prints. What verbs do is below; here are words, files and exit codes.
#ifndef LOCKSTEP_VERIFY_CLI_CLI_H_
#define LOCKSTEP_VERIFY_CLI_CLI_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/io/files.h"
#include "verify/cli/parser.h"
#include "verify/run/run.h"

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
void AddPlan(Parser* program);
void AddInvariance(Parser* program);
void AddIdentify(Parser* program);
void AddIds(Parser* program);

// Of --allow-auto.
inline constexpr const char* kAllowAutoHelp =
    "Allow --profile auto in a CI job, where the gate then learns from what it "
    "judges";

// Verbs of sibling programs: named in the help, started by StartSibling.
void AddSiblings(Parser* program);
// Becomes the sibling that has the verb, and does not come back. -1 where the
// verb is none of theirs; an exit code where the program cannot be started.
int StartSibling(int argc, char** argv);

// "lockstep: message" on stderr, each line of it so, and printable; returns
// `code`.
int Fail(const std::string& message, int code = kExitUsage);

// Where an exception says that the machine, or a limit of this process, gives
// no more memory or threads: one line for the user. Otherwise empty.
std::string LimitReached(const std::exception& error);

// "lockstep: note: message" on stderr, printable.
void Note(const std::string& message);

// To a file (whole or not at all), or for "-" to stdout.
Status Deliver(const std::string& path, const Producer& produce);
Status Deliver(const std::string& path, const std::string& text);

// Whether Deliver could work, so that a long run does not end in vain.
Status CheckDeliverable(const std::string& path);

// An option that names a file to be written, and what was given; maybe nothing.
struct Output {
  const char* option;
  std::string path;
};
// The same of all files of a run. Errors: also two that are one file, one that
// would replace one of `inputs`, and stdout asked for twice.
Status CheckDeliverables(const std::vector<Output>& outputs,
                         const std::vector<std::string>& inputs);

// Set by the first Ctrl-C, SIGTERM or SIGHUP; the second ends the program.
std::atomic<bool>* WatchInterrupt();

// Which cases: shared by verify and export.
struct CaseArguments {
  std::vector<std::string> lines;
  std::vector<std::string> files;
};
void AddCaseArguments(Verb* verb, CaseArguments* arguments);
// Errors: usage, all bad lines.
Result<std::vector<Job>> ReadJobs(const CaseArguments& arguments);

// All of stdin. Errors: more than `max_bytes`, or it cannot be read.
Result<std::string> ReadStdin(size_t max_bytes);

// Options of every verb that judges programs.
struct HostArguments {
  std::string call_timeout;      // seconds
  std::string candidate_memory;  // as ParseMemory takes it
  std::string candidate_user;
  std::string device;
};
void AddHostArguments(Verb* verb, HostArguments* arguments);
// For all programs that are started from now on. `specs`: the candidates.
// Errors: one line.
Status LimitHosts(const HostArguments& arguments,
                  const std::vector<std::string>& specs);
// Ends those that are there. What was wrong with that goes to stderr; returns
// whether nothing was.
bool EndHosts();
// The same; the exit code then says so where it would say nothing as grave.
int AfterHosts(int exit_code);

// Splits "a,b,c" at its commas.
std::vector<std::string> WordsOfList(const std::string& text);

// 0 ... 2^64 - 1. Errors: one line.
Result<uint64_t> ParseSeed(const std::string& text);

// "512M", "4G", or bytes. Errors: one line, which names the option.
Result<int64_t> ParseMemory(const std::string& text,
                            const std::string& option = "--max-memory");

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_CLI_H_
