// Preloaded by verdicts_test.py: a process whose arithmetic changes after it
// was found sound. The first look at the clock by the thread that judges comes
// with the first case; whoever asks for the rounding mode after that finds sums
// rounded upward. The mode changes at the question, so that nothing between
// the two (a thread pool that restores its threads' modes) can hide it.
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cfenv>

namespace {

const pthread_t judge = pthread_self();
std::atomic<bool> judging = false;

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int clock_gettime(clockid_t id, timespec* now) noexcept {
  static const auto real = Next<int (*)(clockid_t, timespec*)>("clock_gettime");
  if (pthread_equal(pthread_self(), judge)) judging = true;
  return real(id, now);
}

extern "C" int fegetround() noexcept {
  static const auto real = Next<int (*)()>("fegetround");
  if (judging) std::fesetround(FE_UPWARD);
  return real();
}
