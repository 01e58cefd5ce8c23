// Preloaded by verdicts_test.py: every thread but the first flushes subnormal
// results from its first piece of work on. OpenMP's runtime sets the modes of
// its threads when a region begins, so they are changed where a thread asks for
// its number, inside the region. With BAD_THREADS=own threads of the standard
// library flush in their place.
#include <dlfcn.h>
#include <pthread.h>
#include <xmmintrin.h>

#include <cstdlib>

namespace {

void Flush() { _mm_setcsr(_mm_getcsr() | 0x8000); }

// What a thread begins with; it is never freed.
struct Start {
  void* (*work)(void*);
  void* with;
};

void* Begin(void* start) {
  Flush();
  const Start* const begin = static_cast<Start*>(start);
  return begin->work(begin->with);
}

}  // namespace

extern "C" int omp_get_thread_num() {
  static const auto real =
      reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "omp_get_thread_num"));
  const int number = real();
  if (number > 0 && std::getenv("BAD_THREADS") == nullptr) Flush();
  return number;
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* how,
                              void* (*work)(void*), void* with) {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(
      dlsym(RTLD_NEXT, "pthread_create"));
  if (std::getenv("BAD_THREADS") == nullptr) {
    return real(thread, how, work, with);
  }
  return real(thread, how, &Begin, new Start{work, with});
}
