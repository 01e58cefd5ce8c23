// Processes below one of ours, as Linux tells of them in /proc.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_PROCESS_PROCESS_TREE_H_
#define LOCKSTEP_VERIFY_CANDIDATE_PROCESS_PROCESS_TREE_H_

#include <sys/types.h>

#include <cstdint>
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

// Children of this process that it did not have when GuardThisProcess() was
// called and that are not in `known`: what hosts have left behind. Those that
// have ended are reaped and not listed.
std::vector<pid_t> Strays(const std::vector<pid_t>& known);

// Resident bytes, shared ones included, of these processes together.
int64_t ResidentBytes(const std::vector<pid_t>& processes);

// Kills and reaps them; orphans included that come to this process meanwhile.
void KillAll(const std::vector<pid_t>& processes);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_PROCESS_PROCESS_TREE_H_
