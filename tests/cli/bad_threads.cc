// Preloaded by verdicts_test.py: every thread but the first flushes subnormal
// results from its first piece of work on. OpenMP's runtime sets the modes of
// its threads when a region begins, so they are changed where a thread asks for
// its number, inside the region.
#include <dlfcn.h>
#include <xmmintrin.h>

extern "C" int omp_get_thread_num() {
  static const auto real =
      reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "omp_get_thread_num"));
  const int number = real();
  if (number > 0) _mm_setcsr(_mm_getcsr() | 0x8000);
  return number;
}
