// Asks a kernel for its arithmetic by designed inputs. Only arithmetic is
// learned, never semantics: conventions are reported, and a value that no
// careful author would choose is reported, too (docs/identify.md).
#ifndef LOCKSTEP_VERIFY_IDENTIFY_IDENTIFY_H_
#define LOCKSTEP_VERIFY_IDENTIFY_IDENTIFY_H_

#include <atomic>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "verify/candidate/candidate.h"
#include "verify/identify/evidence.h"

namespace lockstep::verify {

struct IdentifyRequest {
  std::string op;  // one of IdentifiableOps()
  Lane lane = Lane::kF32;
  const std::atomic<bool>* stop = nullptr;  // null: nobody interrupts
};

// Ops whose kernels can be asked.
const std::vector<std::string>& IdentifiableOps();

// Errors: an op that cannot be asked, a candidate that does not compute.
Status MayAsk(const IdentifyRequest& request, const Candidate& candidate);

// Errors: those of MayAsk, and a candidate that breaks at, or does not support,
// the first question.
//   Requires: the candidate is started.
Result<Identified> Identify(const IdentifyRequest& request,
                            Candidate& candidate);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_IDENTIFY_H_
