// The truth of rows, several at a time.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ROWS_IN_PARALLEL_H_
#define LOCKSTEP_VERIFY_ALLOWED_ROWS_IN_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "reference/contract/team.h"

namespace lockstep::verify {

// Calls work(n) for 0 .. rows - 1. `threads`: at most; 0: as many as there are
// cores. `cost`: multiply-adds of all of it, which decide what is worth a
// thread.
template <typename Work>
void RowsInParallel(size_t rows, int64_t cost, int threads, const Work& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t n = next++; n < rows; n = next++) work(n);
  };
  const int wanted = threads > 0 ? threads : DefaultThreads();
  RunOwnThreads(std::clamp<int64_t>(wanted, 1, (cost >> 20) + 1),
                [&](int) { run(); });
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ROWS_IN_PARALLEL_H_
