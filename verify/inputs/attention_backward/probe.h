// The inputs of the probes of attention's gradients. In the exact probes every
// score is 0 and every lse, too, so that each weight is 1 in any kernel. All
// other values are small integers, so that sums are exact in any order, any
// number of parts and any tiles. Those for kernels that use an o and lse of
// their own have the scores alone.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_BACKWARD_PROBE_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_BACKWARD_PROBE_H_

#include <cstdint>

#include "reference/contract/status.h"
#include "verify/case/probe_kind.h"
#include "verify/inputs/attention_backward/data.h"

namespace lockstep::verify {

// Overwrites q, k, v, o, lse, do, dlse and the sinks. A query's do is +-1 in
// one channel, and its o is 2 or -2 there. So D is +-2, and no gradient of a
// score vanishes. The o of a query that sees no key is 0. dlse is +-4, and a
// sink is 0. grad-keys has q one-hot and k = 0: dk and dv count queries;
// grad-queries has k one-hot and q = 0: dq counts keys. In those of powers dS
// is do's sign, or twice it: the scale times dS, rounded to whatever type, is
// one number times a power of two. v is 0 or 1 there, o -1, or 3 beside a dlse
// of 4 times do's sign.
//
// In grad-own-keys and grad-own-queries o and lse are the forward op's. v is
// +-1 in every channel. do is not 0 in one channel, where it is about as large
// as the number of keys that the query sees; dlse is three times that. So all
// terms of a sum are of one size, and few are not 0. Errors: those of
// RunForward.
Status FillGradProbe(ProbeKind kind, uint64_t seed,
                     AttentionBackwardData* data);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_BACKWARD_PROBE_H_
