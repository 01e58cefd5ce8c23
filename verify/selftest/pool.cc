#include "verify/selftest/pool.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace lockstep::verify {

void ForEach(int64_t count, int threads,
             const std::function<void(int64_t)>& job) {
  if (threads < 1) {
    threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    for (int64_t n = next++; n < count; n = next++) job(n);
  };
  std::vector<std::thread> helpers;
  for (int64_t t = 1; t < std::min<int64_t>(threads, count); ++t) {
    helpers.emplace_back(work);
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace lockstep::verify
