// Preloaded by verdicts_test.py: a process whose arithmetic changes after it
// was found sound. The program's first look at its rounding mode is before the
// first case; every later one finds sums rounded upward. Looks are counted
// instead of calls of the clock, so that nothing between a change and the look
// at it (a thread pool that restores its threads' modes) can hide it.
#include <dlfcn.h>

#include <atomic>
#include <cfenv>

extern "C" int fegetround() noexcept {
  using Function = int (*)();
  static const auto real =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "fegetround"));
  static std::atomic<int> looks = 0;
  if (++looks > 1) std::fesetround(FE_UPWARD);
  return real();
}
