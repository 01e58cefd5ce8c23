// Descendants of one of our processes, as Linux reports them in /proc.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_PROCESS_PROCESS_TREE_H_
#define LOCKSTEP_VERIFY_CANDIDATE_PROCESS_PROCESS_TREE_H_

#include <sys/types.h>

#include <vector>

namespace lockstep::verify {

// Makes this process the one that orphans among its descendants come to, so
// that none escapes, and keeps processes of the same user from reading its
// memory. Later calls do nothing.
void GuardThisProcess();

// All processes below `root`, without it. A process that ends meanwhile may be
// missing or listed.
std::vector<pid_t> Descendants(pid_t root);

// The threads of a process; none: it is gone.
std::vector<pid_t> ThreadsOf(pid_t process);

// A program and the child of this process that keeps it (keeper.h).
struct KeptProgram {
  pid_t keeper = 0;
  pid_t program = 0;
  int children = -1;  // OpenChildren(keeper)

  bool operator==(const KeptProgram&) const = default;
};

// /proc's list of the children of a process's first thread, which Linux gives
// orphans to; a descriptor. It is read after each case and stays open for that.
int OpenChildren(pid_t process);

// What programs have left behind: children of this process that it did not have
// when GuardThisProcess() was called. The keepers in `known` do not count, but
// their children do, except for their programs. Those that have ended are not
// listed.
std::vector<pid_t> Strays(const std::vector<KeptProgram>& known);

// Ends everything below this process that it did not have when
// GuardThisProcess() was called; for a process that ends itself now, whatever
// its other threads are doing. Nothing, where no program was started.
void KillAllBelow();

// Kills and reaps them; orphans included that come to this process meanwhile.
void KillAll(const std::vector<pid_t>& processes);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_PROCESS_PROCESS_TREE_H_
