#include "verify/selftest/pool.h"

#include <algorithm>
#include <atomic>

#include "reference/contract/team.h"

namespace lockstep::verify {

void ForEach(int64_t count, int threads,
             const std::function<void(int64_t)>& job) {
  if (threads < 1) threads = DefaultThreads();
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    for (int64_t n = next++; n < count; n = next++) job(n);
  };
  RunOwnThreads(std::min<int64_t>(threads, count), [&](int) { work(); });
}

}  // namespace lockstep::verify
