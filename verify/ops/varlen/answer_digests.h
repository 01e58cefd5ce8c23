// Digests of what a kernel answered, for receipts and pinned answers.
#ifndef LOCKSTEP_VERIFY_OPS_VARLEN_ANSWER_DIGESTS_H_
#define LOCKSTEP_VERIFY_OPS_VARLEN_ANSWER_DIGESTS_H_

#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/ops/op.h"
#include "verify/ops/outputs.h"

namespace lockstep::verify {

// DigestTensor of each output, in the order of trial.outputs(). The rows that a
// ragged batch does not have count as zeros: kernels may leave anything there.
//   Errors: not enough memory for a copy.
Result<std::vector<std::string>> AnswerDigests(const Trial& trial,
                                               const OutputSet& outputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_VARLEN_ANSWER_DIGESTS_H_
