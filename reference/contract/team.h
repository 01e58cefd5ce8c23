// Independent pieces of work on several threads. Which thread does which piece
// never changes a bit (N16); how threads come about is the build's choice:
// OpenMP, or where a process has another such runtime already, as the Python
// package's does beside torch, threads that end with the call.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_TEAM_H_
#define LOCKSTEP_REFERENCE_CONTRACT_TEAM_H_

#include <algorithm>
#include <cstdint>

#if defined(_OPENMP)
#include <omp.h>
#else
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>
#endif

namespace lockstep {

// As many threads as a call takes if nobody says how many.
inline int DefaultThreads() {
#if defined(_OPENMP)
  return omp_get_max_threads();
#else
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#endif
}

// body(item, state) for every item of [0, count), first ones first. Each thread
// has a state of its own, make(thread), thread in [0, threads). Returns how
// many threads there were, at most `threads`.
//   Requires: threads >= 1; the bodies are independent of each other.
template <typename Make, typename Body>
int ForEach(int64_t count, int threads, const Make& make, const Body& body) {
#if defined(_OPENMP)
  int ran = 1;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single nowait
    ran = omp_get_num_threads();
    auto state = make(omp_get_thread_num());
#pragma omp for schedule(dynamic)
    for (int64_t item = 0; item < count; ++item) body(item, state);
  }
  return ran;
#else
  std::atomic<int64_t> next = 0;
  const auto work = [&](int thread) {
    auto state = make(thread);
    for (int64_t item = next++; item < count; item = next++) body(item, state);
  };
  const auto most = std::min<int64_t>(threads, std::max<int64_t>(count, 1));
  std::vector<std::jthread> team;
  try {
    while (static_cast<int64_t>(team.size()) + 1 < most) {
      team.emplace_back(work, static_cast<int>(team.size()) + 1);
    }
  } catch (const std::system_error&) {
    // The machine has no more threads: those there are do the work.
  }
  work(0);
  return static_cast<int>(team.size()) + 1;
#endif
}

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_TEAM_H_
