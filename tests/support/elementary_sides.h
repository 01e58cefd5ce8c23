// The implementations of the elementary functions (N14) under one interface,
// for tests that walk over all 2^32 arguments.
#ifndef LOCKSTEP_TESTS_SUPPORT_ELEMENTARY_SIDES_H_
#define LOCKSTEP_TESTS_SUPPORT_ELEMENTARY_SIDES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::elementary {

enum class Function {
  kExp2Core,
  kExp2,
  kExp,
  kLog2SplitZ,
  kLog2SplitK,
  kLog2Core,
  kLog2,
  kTanhCore,
  kTanh,
  kSigmoid,
  kRoundToBf16Lane,
  kSilu,
  kSoftplus,
  kSinTurnsCore,
  kCosTurnsCore,
};
inline constexpr int kFunctions = 15;
inline constexpr const char* kFunctionNames[kFunctions] = {
    "Exp2Core",        "Exp2", "Exp",      "Log2SplitZ",   "Log2SplitK",
    "Log2Core",        "Log2", "TanhCore", "Tanh",         "Sigmoid",
    "RoundToBf16Lane", "Silu", "Softplus", "SinTurnsCore", "CosTurnsCore"};

// A chunk is this many arguments of consecutive bit patterns; it stays in L1.
inline constexpr size_t kChunk = 2048;

// Results for the arguments with bits first .. first + kChunk - 1.
using Kernel = void (*)(uint32_t first, uint32_t* bits);

struct Side {
  std::string name;
  const Kernel* kernels;  // [kFunctions], in the order of Function
};

// "scalar": reference/elementary.cc as the library has it.
Side ScalarSide();

// "scalar_fma": the same source compiled for a CPU with FMA and vectorised by
// the compiler, a hundred times faster. Empty where such a CPU is missing.
std::vector<Side> FusedScalarSide();

// "planted": the same source with the last bit of one coefficient of every
// polynomial flipped, which the tests must tell from the truth.
Side PlantedSide();

// The vector twins, one side for each Highway target compiled and supported
// here, best first.
std::vector<Side> TwinSides();

}  // namespace lockstep::elementary

#endif  // LOCKSTEP_TESTS_SUPPORT_ELEMENTARY_SIDES_H_
