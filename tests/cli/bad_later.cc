// Preloaded by verdicts_test.py: a process whose arithmetic changes after it
// was found sound. The first look at the clock comes with the first case.
// Rounding is a thread's own, so only looks of the thread that judges are
// counted.
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <cfenv>

extern "C" int clock_gettime(clockid_t id, timespec* now) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clock_gettime"));
  static int calls = 0;
  if (gettid() == getpid() && ++calls == 10) std::fesetround(FE_UPWARD);
  return real(id, now);
}
