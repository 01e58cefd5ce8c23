// The running sums of an emulated kernel of attention's gradients.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_SUMS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::verify {

// Sums of one head, or of one group, [part][position][channel].
struct GradSums {
  int64_t positions = 0;
  int64_t channels = 0;
  std::vector<float> parts;

  GradSums(int64_t count, int64_t n, int64_t c)
      : positions(n),
        channels(c),
        parts(static_cast<size_t>(count * n * c), 0.0f) {}
  float* At(int64_t part, int64_t position) {
    return &parts[static_cast<size_t>((part * positions + position) *
                                      channels)];
  }
  // All parts, in order.
  float Total(int64_t position, int64_t c, int64_t count) {
    float sum = At(0, position)[c];
    for (int64_t n = 1; n < count; ++n) sum += At(n, position)[c];
    return sum;
  }
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_SUMS_H_
