// The one file that knows where threads come from: OpenMP, or where a process
// has another such runtime already, as the Python package's does beside torch,
// threads that end with the call. All others are compiled alike for both.
#include "reference/contract/team.h"

#include <cstdint>
#include <functional>

#if defined(_OPENMP)
#include <omp.h>
#else
#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>
#endif

namespace lockstep {

#if defined(_OPENMP)

int DefaultThreads() { return omp_get_max_threads(); }

int RunTeam(int threads, int64_t /*useful*/,
            const std::function<void(int)>& work) {
  int ran = 1;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single nowait
    ran = omp_get_num_threads();
    work(omp_get_thread_num());
  }
  return ran;
}

#else

int DefaultThreads() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int RunTeam(int threads, int64_t useful, const std::function<void(int)>& work) {
  const auto most = std::min<int64_t>(threads, std::max<int64_t>(useful, 1));
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
}

#endif

}  // namespace lockstep
