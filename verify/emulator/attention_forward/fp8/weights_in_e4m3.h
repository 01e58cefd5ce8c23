// Weights that a kernel rounds to e4m3, times its p_scale, and the bugs of
// that.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FP8_WEIGHTS_IN_E4M3_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FP8_WEIGHTS_IN_E4M3_H_

#include "verify/emulator/attention_forward/faults.h"

namespace lockstep::verify {

// p * p_scale in e4m3, as values are multiplied with it.
float WeightInE4m3(float p, double p_scale, const FaultDial& dial);

// What the sum over V is multiplied by in return.
float WeightUnscale(double p_scale, const FaultDial& dial);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FP8_WEIGHTS_IN_E4M3_H_
