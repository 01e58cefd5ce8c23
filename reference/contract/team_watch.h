// A look at the threads of all teams, for programs whose every verdict rests on
// the arithmetic of each thread.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_TEAM_WATCH_H_
#define LOCKSTEP_REFERENCE_CONTRACT_TEAM_WATCH_H_

namespace lockstep {

// Calls look(thread) on each thread of RunTeam and RunOwnThreads, as soon as
// its work is done, from now on. `look` throws nothing.
void LookAtThreads(void (*look)(int thread));

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_TEAM_WATCH_H_
