// The process that a program of ours runs in: what it was given by its starter,
// and what it leaves to stdout.
#ifndef LOCKSTEP_VERIFY_CLI_PROCESS_H_
#define LOCKSTEP_VERIFY_CLI_PROCESS_H_

#include "reference/contract/status.h"

namespace lockstep::verify::cli {

// Holds the standard descriptors, so that no file of ours becomes one of them;
// a reader that has gone away is an error of write, not the end. Errors: an
// OpenMP variable that the runtime library would die of.
Status PrepareProcess();

// Whether so many threads can run at once with the stacks that OpenMP gives
// them. libomp ends the process (134) where one cannot be started, so it is
// tried first; memory that the cases take later is not foreseen. 0: as many as
// OMP_NUM_THREADS says, or the machine has.
Status CheckThreads(int threads);

// Flushes stdout. Errors: it could not take everything, other than for a reader
// that has gone away, as `head` does.
Status FinishStdout();

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_PROCESS_H_
