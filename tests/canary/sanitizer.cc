// Shows that the sanitizer builds see what they are for: `canary_sanitizer
// MODE`.
//
//   clean       ordered accesses of two threads, exit 0 without a report
//   race        two threads add to one variable without order
//   overflow    a read behind a heap block
//   undefined   a signed overflow

#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

namespace {

volatile int one = 1;

// Each thread fills its half, then reads the other's: the barrier orders them.
int OrderedByBarrier() {
  std::vector<int> values(2, 0);
  int sum = 0;
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 2; ++i) values[static_cast<size_t>(i)] = one;
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 2; ++i) {
#pragma omp critical
    sum += values[static_cast<size_t>(1 - i)];
  }
  return sum;
}

int Race() {
  int sum = 0;
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 1000; ++i) sum = sum + one;
  return sum;
}

int Overflow() {
  const auto block = std::make_unique<int[]>(16);
  return block[static_cast<size_t>(16 * one)];
}

int Undefined() { return INT_MAX - 1 + 2 * one; }

}  // namespace

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  int result = 0;
  if (std::strcmp(mode, "clean") == 0) {
    result = OrderedByBarrier();
  } else if (std::strcmp(mode, "race") == 0) {
    result = Race();
  } else if (std::strcmp(mode, "overflow") == 0) {
    result = Overflow();
  } else if (std::strcmp(mode, "undefined") == 0) {
    result = Undefined();
  } else {
    std::printf("usage: canary_sanitizer clean|race|overflow|undefined\n");
    return 2;
  }
  std::printf("%s: %d, no report\n", mode, result);
  return 0;
}
