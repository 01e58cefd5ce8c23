// The program lockstep-fuzz: what `lockstep check`, `fuzz`, `shrink`,
// `explain`, `campaign` and `selftest` start.
#ifndef LOCKSTEP_FUZZ_CLI_CLI_H_
#define LOCKSTEP_FUZZ_CLI_CLI_H_

#include "verify/cli/cli.h"

namespace lockstep::fuzz::cli {

using verify::cli::Parser;
using verify::cli::Verb;

// Parses the command line, runs the verb, returns the exit code. Nothing
// escapes it: foreign exceptions end here.
int Main(int argc, char** argv);

void AddCheck(Parser* program);
void AddFuzz(Parser* program);
void AddShrink(Parser* program);
void AddExplain(Parser* program);
void AddCampaign(Parser* program);
void AddSelftest(Parser* program);

}  // namespace lockstep::fuzz::cli

#endif  // LOCKSTEP_FUZZ_CLI_CLI_H_
