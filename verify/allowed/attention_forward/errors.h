// The errors of attention's rows for statistics: which rows, by how much each
// roundings carry, and what wrong arithmetic would add to them.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ERRORS_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ERRORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/tensor_view.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/errors.h"

namespace lockstep::verify {

struct AttentionErrorsRequest {
  const NumericProfile& profile;
  const AttentionForwardProblem& problem;
  const AttentionForwardInputs& inputs;
  const AttentionEnvelope& envelope;
  const oracle::AttentionTruth& truth;
  const std::vector<int64_t>& rows;  // of the truth, flat
  const LaneView& produced;
  int threads = 0;  // 0: one per core
};

// Why the roundings of such a kernel are no independent signs; empty if they
// are.
std::string WhyNoStatistics(const NumericProfile& profile,
                            const AttentionForwardProblem& problem,
                            const EnvelopeModel& model);

// Same bits for any number of threads. Requires: inputs that are random draws.
ErrorSample AttentionErrors(const AttentionErrorsRequest& request);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ERRORS_H_
