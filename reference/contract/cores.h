// How many cores a process may use. These are often fewer than the machine has:
// a test job may have some of them, and a container a share of their time.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_CORES_H_
#define LOCKSTEP_REFERENCE_CONTRACT_CORES_H_

#include <string>

namespace lockstep {

// At least 1: the cores of the affinity mask that this process had at its first
// call, and no more than its control groups pay for (rounded up).
int UsableCores();

// The share of processor time, in cores, that the groups of /proc/self/cgroup's
// text `groups` allow, those above them included; 0: no limit. `root`: where
// version 2 is mounted, and below which version 1 has the folder `cpu`.
double QuotaOfGroups(const std::string& groups, const std::string& root);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_CORES_H_
