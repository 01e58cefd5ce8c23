// The queries and their scales that an emulated kernel with a bug reads, where
// q is in fp8.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FP8_TAKEN_QUERIES_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FP8_TAKEN_QUERIES_H_

#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/emulator/attention_forward/faults.h"

namespace lockstep::verify {

// Whether a bug of the dial is one of q in fp8.
bool BreaksFp8Queries(const FaultDial& dial);

// The problem that the kernel computes. q is dense and in f32, and its scales
// have memory of their own.
struct TakenQueries {
  std::vector<float> q, q_scale;
  AttentionForwardProblem problem;
  AttentionForwardInputs inputs;
};

//   Requires: problem.q_lane, Validate of problem and inputs.
TakenQueries TakeQueries(const AttentionForwardProblem& problem,
                         const AttentionForwardInputs& inputs,
                         const FaultDial& dial);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FP8_TAKEN_QUERIES_H_
