// Debian builds the library of benchmarks with assertions, and it says so above
// every table: "Library was built as DEBUG. Timings may be affected." That
// speaks of the library's loop, not of what is timed: a release build of ours
// spends milliseconds a row in kernels and nanoseconds in that loop.
#ifndef LOCKSTEP_BENCH_QUIET_H_
#define LOCKSTEP_BENCH_QUIET_H_

#include <memory>
#include <streambuf>

namespace lockstep::bench {

// While it lives, std::cerr drops lines with that warning, if our own code is a
// release build (NDEBUG); a debug build keeps it, because it is true there.
class WithoutLibraryWarning {
 public:
  WithoutLibraryWarning();
  ~WithoutLibraryWarning();
  WithoutLibraryWarning(const WithoutLibraryWarning&) = delete;
  WithoutLibraryWarning& operator=(const WithoutLibraryWarning&) = delete;

 private:
  std::unique_ptr<std::streambuf> filter_;
  std::streambuf* before_ = nullptr;
};

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_QUIET_H_
