// What a kernel has left running when it was closed.
#ifndef LOCKSTEP_VERIFY_HOST_LEFTOVERS_H_
#define LOCKSTEP_VERIFY_HOST_LEFTOVERS_H_

#include <cstdint>

namespace lockstep::verify::host {

struct Leftovers {
  int64_t threads = 0;
  int64_t children = 0;
};

// Counts threads of this process beyond those that it had when this was made.
class ThreadCounter {
 public:
  ThreadCounter();
  // Below 0 if some of those have ended.
  int64_t More() const;

 private:
  int64_t usual_;
  int64_t links_;  // of the folder of threads; 0: they do not count threads
};

// Threads beyond the usual ones, and children. OpenMP's own threads are ended
// first; threads that are about to end have 200 ms.
Leftovers CountLeftovers(const ThreadCounter& threads);

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_LEFTOVERS_H_
