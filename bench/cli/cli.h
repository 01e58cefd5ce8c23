// The program lockstep-bench: what `lockstep bench` and `lockstep gate` start.
#ifndef LOCKSTEP_BENCH_CLI_CLI_H_
#define LOCKSTEP_BENCH_CLI_CLI_H_

#include "verify/cli/cli.h"

namespace lockstep::bench::cli {

using verify::cli::Parser;
using verify::cli::Verb;

// Parses the command line, runs the verb, returns the exit code. Nothing
// escapes it: foreign exceptions end here.
int Main(int argc, char** argv);

void AddBench(Parser* program);
void AddGate(Parser* program);

}  // namespace lockstep::bench::cli

#endif  // LOCKSTEP_BENCH_CLI_CLI_H_
