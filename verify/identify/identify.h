// Asks a kernel for its arithmetic by designed inputs. Only arithmetic is
// learned, never semantics: conventions are reported, and a value that no
// careful author would choose is reported, too (docs/identify.md).
#ifndef LOCKSTEP_VERIFY_IDENTIFY_IDENTIFY_H_
#define LOCKSTEP_VERIFY_IDENTIFY_IDENTIFY_H_

#include <atomic>
#include <cstdint>
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
  // Keys by which the questions of the second round are longer; no multiple of
  // a tile.
  int64_t light_keys = 67;
  const std::atomic<bool>* stop = nullptr;  // null: nobody interrupts
};

// Ops whose kernels can be asked.
const std::vector<std::string>& IdentifiableOps();

// The lanes that the kernel may have, in the order of asking: f32 first.
std::vector<Lane> LanesToAsk(const Candidate& candidate);

// Errors: an op that cannot be asked, a candidate that does not compute.
Status MayAsk(const IdentifyRequest& request, const Candidate& candidate);

// Errors: those of MayAsk, and a candidate that breaks at, or does not support,
// the first question.
//   Requires: the candidate is started.
Result<Identified> Identify(const IdentifyRequest& request,
                            Candidate& candidate);

// The same in the lanes that the kernel may have, f32 first: the first in which
// there is an answer counts. `op`: empty, the one that the kernel is made for.
Result<Identified> IdentifyInItsLane(const std::string& op,
                                     const std::atomic<bool>* stop,
                                     Candidate& candidate);

// What --profile says for a profile that is identified first.
inline constexpr const char* kProfileAuto = "auto";
// Errors: this is a job of a CI service, which sets CI: a gate must not learn
// from what it judges. `otherwise`: what a person may do, beside a file.
Status MayLearnHere(const std::string& otherwise);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_IDENTIFY_H_
