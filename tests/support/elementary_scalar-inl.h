// Kernels over the scalar functions. Included by elementary_scalar.cc, and by
// elementary_fused.cc and elementary_planted.cc with the name `reference`
// replaced.
#include <bit>
#include <cstdint>

#include "reference/elementary.h"
#include "tests/support/elementary_sides.h"

namespace lockstep::reference {

template <float (*kFunction)(float)>
void RunChunk(uint32_t first, uint32_t* bits) {
  for (uint32_t i = 0; i < elementary::kChunk; ++i) {
    bits[i] =
        std::bit_cast<uint32_t>(kFunction(std::bit_cast<float>(first + i)));
  }
}

inline float SplitZ(float x) { return SplitForLog2(x).z; }
inline float SplitK(float x) { return SplitForLog2(x).k; }
inline float SinTurns(float x) { return SinCosTurnsCore(x).sin; }
inline float CosTurns(float x) { return SinCosTurnsCore(x).cos; }

// In the order of elementary::Function.
constexpr elementary::Kernel kKernels[elementary::kFunctions] = {
    RunChunk<Exp2Core>,
    RunChunk<Exp2>,
    RunChunk<Exp>,
    RunChunk<SplitZ>,
    RunChunk<SplitK>,
    RunChunk<Log2Core>,
    RunChunk<Log2>,
    RunChunk<TanhCore>,
    RunChunk<Tanh>,
    RunChunk<Sigmoid>,
    RunChunk<RoundToBf16Lane>,
    RunChunk<Silu>,
    RunChunk<Softplus>,
    RunChunk<SinTurns>,
    RunChunk<CosTurns>};

}  // namespace lockstep::reference
