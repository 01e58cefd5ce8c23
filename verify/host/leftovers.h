// What a kernel has left running when it was closed.
#ifndef LOCKSTEP_VERIFY_HOST_LEFTOVERS_H_
#define LOCKSTEP_VERIFY_HOST_LEFTOVERS_H_

#include <cstdint>

namespace lockstep::verify::host {

struct Leftovers {
  int64_t threads = 0;
  int64_t children = 0;
};

// Threads of this process.
int64_t CountThreads();

// Threads beyond `usual`, and children. OpenMP's own threads are ended first;
// threads that are about to end have 200 ms.
Leftovers CountLeftovers(int64_t usual);

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_LEFTOVERS_H_
