// The keys, values and scales that an emulated kernel with a bug reads, where
// keys and values are in fp8; and the weights that it rounds to fp8.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FP8_TAKEN_NUMBERS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FP8_TAKEN_NUMBERS_H_

#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/emulator/attention_forward/faults.h"

namespace lockstep::verify {

// What the bits of an element are as a number without NaN and infinity. Without
// `subnormal` each has a hidden bit.
double FiniteFp8(Lane lane, uint32_t bits, bool subnormal);

// Whether a bug of the dial is one of keys and values in fp8.
bool BreaksFp8(const FaultDial& dial);

// The problem that the kernel computes. k and v are dense and in f32, and the
// scales have memory of their own.
struct TakenNumbers {
  std::vector<float> k, v, k_scale, v_scale;
  AttentionForwardProblem problem;
  AttentionForwardInputs inputs;
};

//   Requires: problem.kv_lane, Validate of problem and inputs.
TakenNumbers TakeNumbers(const AttentionForwardProblem& problem,
                         const AttentionForwardInputs& inputs,
                         const FaultDial& dial);

// The weight that a kernel multiplies values with, which may be rounded to
// e4m3. `unit` is the power of two that weights have been multiplied by.
float WeightInFp8(float p, float unit, const FaultDial& dial);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FP8_TAKEN_NUMBERS_H_
