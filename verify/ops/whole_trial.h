// A trial that is all of its parts itself: that of a whole op.
#ifndef LOCKSTEP_VERIFY_OPS_WHOLE_TRIAL_H_
#define LOCKSTEP_VERIFY_OPS_WHOLE_TRIAL_H_

#include "verify/ops/envelopes.h"
#include "verify/ops/facts.h"
#include "verify/ops/faults.h"
#include "verify/ops/kernels.h"
#include "verify/ops/laws.h"
#include "verify/ops/op.h"
#include "verify/ops/pictures.h"
#include "verify/ops/wants.h"

namespace lockstep::verify {

class WholeTrial : public Trial,
                   public TrialKernels,
                   public TrialEnvelopes,
                   public TrialLaws,
                   public TrialFaults,
                   public TrialFacts,
                   public TrialPictures,
                   public TrialWants {
 protected:
  using Trial::Trial;

 private:
  TrialParts parts() const final {
    return {.kernels = this,
            .envelopes = this,
            .laws = this,
            .faults = this,
            .facts = this,
            .pictures = this,
            .wants = this};
  }
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_WHOLE_TRIAL_H_
