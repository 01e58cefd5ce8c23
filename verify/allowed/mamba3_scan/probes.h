// Exact probes of scans: inputs on which every legal kernel, recurrent or
// chunked, in any order, with operands in bf16 or not, gives one result. They
// hold something else in every token, head, row, channel, coordinate, group,
// rank and run, so that a value taken from a wrong place shows.
//
// What is the same for all of them:
//   tau is 0 or 64, so that lambda is 1/2 or 1 (both exact in every type), or
//   +infinity everywhere where the case says so; D is +-1, 2, 4 or 8 by head;
//   z is 64, 32 or -64, zeta +-1, so that the gate is 64, 32 or nothing;
//   psi and phi are +-1, norm weights 1/2, 1 or 2; biases are 0 or +-1.
//   Premises, true of every implementation met: exp(0) = 1, sin 0 = 0,
//   cos 0 = 1, sigmoid(0) = 1/2, sigmoid(x) = 1 for x >= 32, tanh(+-20) = +-1.
//
// integrate, forget, triples hold integers. Let s_t = lambda_t dt_t +
// (1 - lambda_t+1) dt_t+1 be the whole weight of token t in the state, 1 .. 6
// for step sizes 2 and 4, and c_r = k_r + bk_r (0, 1, 2). In one coordinate n
// and channel the state is
//     h = sum_r psi_r c_r,n * W (+ the carry's part), W = sum over t of s_t v_t
// as long as k stays the same. v is drawn one token after the other, +-1, and
// its sign is turned where |W| would exceed 6: as s_t <= 6 one of the two signs
// never does. So |W| <= 6 for any length, |h| <= 24, with a carry <= 33;
// scores q.c s are at most 60, sums over the ranks at most 237 (four ranks, one
// of which reads beside its bias). All of these are integers of at most 8 bits:
// bf16 holds each of them, f32 every partial sum, so that no order, chunking,
// form or rounding site changes anything.
//   integrate  a = 0: the state never forgets; carries, step sizes and weights
//              of the first token are still there at the last
//   forget     a = 0, but -16 at drawn tokens: what was before is worth 1e-7
//              of 33, less than 1e-5 in y. At most 33 resets a row, whatever
//              its length: a kernel that forms differences of prefix sums of a
//              log2(e) (below 2^10: half an ulp is 2^-15) is then off by 26 of
//              these in a tree over 8192 tokens, 8e-4 of at most 120
//   triples    every third token brings W back to 0 (it has the weight 1), so
//              that k may be another one for every three tokens
// y, h and k are then these integers up to an eighth. Behind an output norm y
// is what the norm makes of numbers that are off by an eighth.
//
// halves, turns, spin hold impulses, one in eight tokens, each in its own
// coordinate. Their sets are the envelope of the profile itself
// (docs/envelopes.md), with the premises in place of the declared errors at 0
// and 20: it is narrow, because one term outweighs all others, and a fault is a
// factor 2 or a sign.
//   halves  decays 1, 1/2, 1/4 by token and head
//   turns   besides, angles: 3/32, a quarter or a half of a turn per token,
//           either way, by token, head and angle; initial angles in 32nds.
//           Exported k show sines and cosines to the profile's accuracy
//   spin    a third of the angles turns by 7/8 at a run's first token, a third
//           by 32 turns and a quarter at the next three, a third one way for
//           ever; gates of -7 .. 9. A rate of zero adds no error to an angle,
//           so that what one turn or a hundred are off by stays to be seen
#ifndef LOCKSTEP_VERIFY_ALLOWED_MAMBA3_SCAN_PROBES_H_
#define LOCKSTEP_VERIFY_ALLOWED_MAMBA3_SCAN_PROBES_H_

#include <string>

#include "reference/contract/mamba3_scan.h"
#include "verify/allowed/mamba3_scan/envelope.h"
#include "verify/allowed/result.h"
#include "verify/case/mamba3_scan/probe.h"
#include "verify/case/probe_kind.h"
#include "verify/oracle/mamba3_scan/truth.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Why the probe proves nothing for this problem under the profile: functions so
// coarse that the premises are no matter of course.
std::string WhyNotScanProbe(ProbeKind kind, const Mamba3ScanProblem& problem,
                            const NumericProfile& profile);

// The errors that the oracle is to carry along, and what element i of an
// output may then be. Requires: profile.scan.
oracle::ScanErrors ScanProbeErrors(ProbeKind kind,
                                   const NumericProfile& profile,
                                   const Mamba3ScanProblem& problem);
struct ScanElement {
  ScanOutput output = ScanOutput::kY;
  size_t i = 0;
  double produced = 0;
};
Bounds ScanProbeBounds(ProbeKind kind, const NumericProfile& profile,
                       const Mamba3ScanProblem& problem,
                       const oracle::ScanTruth& truth,
                       const ScanElement& element);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_MAMBA3_SCAN_PROBES_H_
