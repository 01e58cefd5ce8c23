#include "verify/host/enter.h"

#include <alloca.h>
#include <sys/resource.h>

#include <cfenv>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <exception>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lockstep::verify::host {
namespace {

using Clock = std::chrono::steady_clock;

// Calls stand at eight depths of the stack in turn, and nothing else is called
// there, so that the frames of the last ones are still whole: a longjmp into
// one of them returns to where that call was made, and the number of the turn
// tells that it is not its turn.
constexpr uint64_t kDepths = 8;
constexpr size_t kDeeper = size_t{256} << 10;

volatile uint64_t entered = 0;

// How often threads of this process have waited for something.
long Waits() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

double ProcessorNow() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

// Keeps the compiler from leaving out memory that is not used.
void Keep(void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

__attribute__((noinline)) int CallOnce(const std::function<int()>& kernel,
                                       uint64_t turn, void (*lost)()) {
  const int code = kernel();
  if (entered != turn) lost();
  return code;
}

__attribute__((noinline)) int CallDeep(const std::function<int()>& kernel,
                                       uint64_t turn, void (*lost)()) {
  Keep(alloca(turn % kDepths * kDeeper + 1));
  return CallOnce(kernel, turn, lost);
}

}  // namespace

Left Enter(const std::function<int()>& kernel, void (*lost)()) {
  Left left;
  const uint64_t turn = entered + 1;
  entered = turn;
  const long waits = Waits();
  const double processor = ProcessorNow();
  const Clock::time_point start = Clock::now();
  try {
    left.code = CallDeep(kernel, turn, lost);
  } catch (const std::exception& error) {
    left.exception = true;
    left.message = error.what();
  } catch (...) {
    left.exception = true;
    left.message = "of a type that is no std::exception";
  }
  left.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double used = ProcessorNow() - processor;
  if (Waits() == waits) left.processor_seconds = used;
  return left;
}

FloatState ReadFloatState() {
  FloatState state;
  switch (std::fegetround()) {
    case FE_TONEAREST:
      break;
    case FE_UPWARD:
      state.rounding = "upward";
      break;
    case FE_DOWNWARD:
      state.rounding = "downward";
      break;
    default:
      state.rounding = "toward_zero";
  }
#if defined(__x86_64__)
  // fegetround() asks the x87 unit; vectors have a mode of their own.
  constexpr unsigned kFtz = 0x8000, kDaz = 0x0040, kRounding = 0x6000;
  const unsigned bits = _mm_getcsr();
  state.ftz = (bits & kFtz) != 0;
  state.daz = (bits & kDaz) != 0;
  static constexpr const char* kModes[] = {"nearest", "downward", "upward",
                                           "toward_zero"};
  if ((bits & kRounding) != 0)
    state.rounding = kModes[(bits & kRounding) >> 13];
#elif defined(__aarch64__)
  // One bit flushes operands and results.
  constexpr uint64_t kFlush = uint64_t{1} << 24;
  uint64_t bits = 0;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  state.ftz = state.daz = (bits & kFlush) != 0;
#endif
  return state;
}

void RestoreFloatState() {
  std::fesetenv(FE_DFL_ENV);
#if defined(__x86_64__)
  constexpr unsigned kStart = 0x1f80;  // nearest, nothing flushed or trapped
  _mm_setcsr(kStart);
#endif
}

}  // namespace lockstep::verify::host
