// The o and lse that a kernel of gradients returns from its own forward pass.
// Here is what the profile allows them to be, and the lse of a kernel that
// hands none back.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_HANDED_BACK_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_HANDED_BACK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "verify/allowed/attention_backward/own_probe.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/result.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/oracle/attention_backward/truth.h"
#include "verify/oracle/attention_forward/truth.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

class HandedBack {
 public:
  // `rows`: of the trial, as they are judged. `probe`: its inputs are those of
  // a probe for such kernels.  Requires: data().own.o.
  HandedBack(const AttentionBackwardTrial& trial, const NumericProfile& profile,
             const std::vector<int64_t>& rows, int threads, bool probe);

  // Channel c of the o, and the lse, of rows[n].  Requires: it is a query's.
  Bounds O(size_t n, size_t c) const;
  Bounds Lse(size_t n) const;
  // Of every query; null where the kernel hands its lse back.
  const oracle::LseRange* lse() const {
    return range_.lse.empty() ? nullptr : &range_;
  }

 private:
  // How far an lse may be off that is not handed back.
  double UnseenLse(size_t place) const;

  NumericProfile profile_;
  Lane lane_;
  AttentionEnvelope envelope_;
  std::optional<OwnForwardProbe> probe_;
  oracle::AttentionTruth truth_;
  std::vector<RowSlack> slack_;  // of the truth's rows
  std::vector<size_t> place_;    // of rows[n] in the truth
  oracle::LseRange range_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_HANDED_BACK_H_
