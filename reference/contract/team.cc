// The one file that knows where threads come from: OpenMP, or where a process
// has another such runtime already, as the Python package's does beside torch,
// threads that end with the call. All others are compiled alike for both.
#include "reference/contract/team.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "reference/contract/cores.h"

#if defined(_OPENMP)
#include <omp.h>

// LLVM's runtime has these beside OpenMP's own functions, g++'s does not.
extern "C" {
[[gnu::weak]] void kmp_set_blocktime(int milliseconds);
[[gnu::weak]] int kmp_get_blocktime();
[[gnu::weak]] size_t kmp_get_stacksize_s();
}
#endif

namespace lockstep {
namespace {

std::atomic<bool> sleeping{false};
std::atomic<void (*)(int)> look_at{nullptr};

// The first exception of a team's threads, which none of them may let escape.
class Thrown {
 public:
  void Run(const std::function<void(int)>& work, int thread) {
    try {
      work(thread);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (first_ == nullptr) first_ = std::current_exception();
    }
    if (auto* const look = look_at.load(); look != nullptr) look(thread);
  }
  void Again() {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace

void LookAtThreads(void (*look)(int thread)) { look_at = look; }

int RunOwnThreads(int64_t threads, const std::function<void(int)>& work) {
  Thrown thrown;
  int ran = 1;
  {
    std::vector<std::jthread> team;
    try {
      for (; ran < threads; ++ran) {
        team.emplace_back([&, thread = ran] { thrown.Run(work, thread); });
      }
    } catch (const std::exception&) {
      // The machine has no more threads: those there are do the work.
    }
    thrown.Run(work, 0);
  }
  thrown.Again();
  return ran;
}

void SleepBetweenCalls() { sleeping = true; }

#if defined(_OPENMP)

int DefaultThreads() {
  // Another number than that of the processors is the user's.
  const int most = omp_get_max_threads();
  return most == omp_get_num_procs() ? std::min(most, UsableCores()) : most;
}

int TeamLimit() { return omp_get_thread_limit(); }

int64_t TeamStackBytes() {
  if (kmp_get_stacksize_s == nullptr) return 0;
  return static_cast<int64_t>(kmp_get_stacksize_s());
}

namespace {

// What the calling thread's teams do from now on. LLVM's runtime keeps it for
// each thread that begins one, and hands it to the others.
void TellRuntime() {
  static thread_local bool told = false;
  if (told) return;
  told = true;
  kmp_set_blocktime(0);
}

}  // namespace

std::string HowTeamsWait() {
  if (kmp_set_blocktime == nullptr) return sleeping ? "asleep" : "awake";
  if (sleeping) TellRuntime();
  const int milliseconds = kmp_get_blocktime();
  if (milliseconds == 0) return "asleep";
  return "awake for " + std::to_string(milliseconds) + " ms";
}

int RunTeam(int threads, int64_t /*useful*/,
            const std::function<void(int)>& work) {
  if (sleeping) {
    // g++'s runtime reads its variables before this program begins, and cannot
    // be told later.
    if (kmp_set_blocktime == nullptr) {
      return RunOwnThreads(std::min(threads, TeamLimit()), work);
    }
    TellRuntime();
  }
  Thrown thrown;
  int ran = 1;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single nowait
    ran = omp_get_num_threads();
    thrown.Run(work, omp_get_thread_num());
  }
  thrown.Again();
  return ran;
}

#else

int DefaultThreads() { return UsableCores(); }

int TeamLimit() { return std::numeric_limits<int>::max(); }

int64_t TeamStackBytes() { return 0; }

std::string HowTeamsWait() { return "asleep"; }

int RunTeam(int threads, int64_t useful, const std::function<void(int)>& work) {
  return RunOwnThreads(std::min<int64_t>(threads, std::max<int64_t>(useful, 1)),
                       work);
}

#endif

}  // namespace lockstep
