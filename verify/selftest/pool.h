// A few threads over independent jobs.
#ifndef LOCKSTEP_VERIFY_SELFTEST_POOL_H_
#define LOCKSTEP_VERIFY_SELFTEST_POOL_H_

#include <cstdint>
#include <functional>

namespace lockstep::verify {

// Calls job(0) ... job(count - 1), each once, on at most `threads` threads
// (0: as many as the machine has); returns when all are done. Jobs that write
// to places of their own give the same result whatever the number of threads.
void ForEach(int64_t count, int threads,
             const std::function<void(int64_t)>& job);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_POOL_H_
