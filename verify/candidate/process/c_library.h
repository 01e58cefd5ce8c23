// What old C libraries lack: a wheel runs where glibc is 2.28, with kernels
// that are as old.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_PROCESS_C_LIBRARY_H_
#define LOCKSTEP_VERIFY_CANDIDATE_PROCESS_C_LIBRARY_H_

#include <sys/types.h>

namespace lockstep::verify {

// A fork that runs no handlers: safe between fork and exec, where the caller is
// a process's only thread. Returns what fork() returns.
pid_t ForkAlone();

// Closes every open descriptor from `first` on. Safe between fork and exec.
void CloseFrom(int first);

// The same as Linux before 5.9 needs it.
void CloseOneByOne(int first);

// "SEGV" for SIGSEGV; null for what is no named signal.
const char* SignalAbbreviation(int signal);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_PROCESS_C_LIBRARY_H_
