// Independent pieces of work on several threads. Which thread does which piece
// never changes a bit (N16); how threads come about is the build's choice
// (team.cc).
#ifndef LOCKSTEP_REFERENCE_CONTRACT_TEAM_H_
#define LOCKSTEP_REFERENCE_CONTRACT_TEAM_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace lockstep {

// The threads of a call that names no number: OMP_NUM_THREADS, or the cores
// that this process may use.
int DefaultThreads();

// No call has more threads than this (OMP_THREAD_LIMIT).
int TeamLimit();

// The bytes of the stack of each such thread; 0: not known.
int64_t TeamStackBytes();

// OpenMP's threads spin between two calls, which helps a benchmark and takes
// the cores from everything else that a busy machine runs. From now on they
// sleep.
void SleepBetweenCalls();
// How they wait, as the runtime library tells it: "asleep", or "awake for 200
// ms".
std::string HowTeamsWait();

// work(thread) on each of at most `threads` threads of the standard library,
// the caller's among them; fewer where the machine has no more. Returns how
// many there were. What `work` throws is thrown again when all have ended.
int RunOwnThreads(int64_t threads, const std::function<void(int)>& work);

// work(thread) on each of at most `threads` threads, numbered from 0, the
// caller's among them; no more than `useful` where threads are made for the
// call. Returns how many there were. What `work` throws is thrown again.
int RunTeam(int threads, int64_t useful, const std::function<void(int)>& work);

// Calls look(thread) on each thread of RunTeam and RunOwnThreads, as soon as
// its work is done, from now on: for programs whose every verdict rests on the
// arithmetic of each thread. `look` throws nothing.
void LookAtThreads(void (*look)(int thread));

// body(item, state) for every item of [0, count), first ones first. Each thread
// has a state of its own, make(thread), thread in [0, threads). Returns how
// many threads there were, at most `threads`.
//   Requires: threads >= 1; the bodies are independent of each other.
template <typename Make, typename Body>
int ForEach(int64_t count, int threads, const Make& make, const Body& body) {
  std::atomic<int64_t> next = 0;
  return RunTeam(threads, count, [&](int thread) {
    auto state = make(thread);
    for (int64_t item = next++; item < count; item = next++) body(item, state);
  });
}

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_TEAM_H_
